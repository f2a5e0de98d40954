/* The clock; a file of its own because POSIX hides it from strict C. */
#if !defined(_WIN32) && !defined(_POSIX_C_SOURCE)
#define _POSIX_C_SOURCE 200809L
#endif

#include "bsv_clock.h"

#if defined(_WIN32)

#include <windows.h>

int64_t bsv_clock_ns(void) {
  LARGE_INTEGER count, frequency;
  QueryPerformanceCounter(&count);
  QueryPerformanceFrequency(&frequency);
  return (int64_t)((double)count.QuadPart * 1e9 / (double)frequency.QuadPart);
}

#else

#include <time.h>

int64_t bsv_clock_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

#endif
