/* The fuzz target, called by libFuzzer or by test_fuzz.c. */
#ifndef FUZZ_VECTOR_H
#define FUZZ_VECTOR_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

#endif
