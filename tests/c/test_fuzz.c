/*
** A short, always equal run of the fuzz target: good inputs, mutated, and bytes out of nowhere. The
** long runs are libFuzzer's (`make fuzz`). FUZZ_ROUNDS sets another number of rounds.
*/
#include "fuzz_vector.h"

#include "check.h"

static const char *const seeds[] = {
    "\x00[1, 2.5, -3e2, NaN, 0x1p3, .5]",
    "\x01[0,1,1,0]",
    "\x02qtype=RABITQ,rescore=3,track=1,max_memory=1KB",
    "\x02 dimension = 8 , type=INT8,distance=COSINE,normalized=1,qbits=4",
    "\x03[1,2,3,4,5,6,7,8]",
    "\x03\x01\x00\x00\x00\x00\x00\x00\x00\x05\x00\x00\x00\x00\x00\x00\x00",
    "\x04\x00\x08zzzz",
    "\x05\x01\x03\x07\x00",
    "\x06\x00\x01record",
    "\x06\x01\x00\xff\xff\xff\xff",
    "\x07\x18mean",
    "\x07\x01\x65",
};

static void mutated_inputs_do_no_harm(void) {
  uint64_t state = 99;
  uint8_t input[256];
  const char *rounds = getenv("FUZZ_ROUNDS");
  long n_rounds = rounds ? atol(rounds) : 600;
  for (long round = 0; round < n_rounds; round++) {
    size_t n = 0, seed = next_random(&state) % (sizeof seeds / sizeof seeds[0] + 1);
    if (seed < sizeof seeds / sizeof seeds[0]) {
      n = strlen(seeds[seed] + 1) + 1; /* the first byte may be 0 */
      if (n < 4) n = 4;
      memcpy(input, seeds[seed], n);
    } else {
      n = 1 + next_random(&state) % 64;
      for (size_t i = 0; i < n; i++) input[i] = (uint8_t)next_random(&state);
    }
    for (uint64_t edits = next_random(&state) % 5; edits > 0; edits--) {
      size_t at = 1 + next_random(&state) % n;
      switch (next_random(&state) % 3) {
        case 0: /* change */
          if (at < n) input[at] = (uint8_t)next_random(&state);
          break;
        case 1: /* cut off */
          if (at > 1) n = at;
          break;
        default: /* repeat a part */
          if (n + at < sizeof input) {
            memmove(input + n, input, at);
            n += at;
          }
          break;
      }
    }
    uint8_t *exact = malloc(n); /* the sanitizer guards its end */
    CHECK(exact != NULL, "out of memory");
    memcpy(exact, input, n);
    LLVMFuzzerTestOneInput(exact, n);
    free(exact);
  }
}

int main(void) {
  RUN(mutated_inputs_do_no_harm);
  return 0;
}
