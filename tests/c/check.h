/* Checks for the C tests: a failed one prints where and what, and the program ends with 1. */
#ifndef CHECK_H
#define CHECK_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition, ...)                                                    \
  do {                                                                           \
    if (!(condition)) {                                                          \
      fprintf(stderr, "%s:%d: %s is false: ", __FILE__, __LINE__, #condition);   \
      fprintf(stderr, __VA_ARGS__);                                              \
      fputc('\n', stderr);                                                       \
      exit(1);                                                                   \
    }                                                                            \
  } while (0)

#define RUN(test)                                 \
  do {                                            \
    test();                                       \
    printf("ok %s\n", #test);                     \
  } while (0)

/* A fixed sequence, the same on every machine (splitmix64). */
static inline uint64_t next_random(uint64_t *state) {
  uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));
  z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
  return z ^ z >> 31;
}

/* Uniform in [-1, 1). */
static inline float next_float(uint64_t *state) { return (float)(int32_t)(next_random(state) >> 32) / 2147483648.0f; }

#endif
