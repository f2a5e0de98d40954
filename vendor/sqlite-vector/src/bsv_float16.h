/* Half-precision and bfloat16 numbers, one at a time; the vector kernels have their own ways. */
#ifndef BSV_FLOAT16_H
#define BSV_FLOAT16_H

#include <stdint.h>
#include <string.h>

static inline uint32_t bsv_float_bits(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}

static inline float bsv_float_from_bits(uint32_t bits) {
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

static inline float bsv_f16_to_f32(uint16_t h) {
  uint32_t sign = (uint32_t)(h & 0x8000u) << 16;
  uint32_t magnitude = h & 0x7fffu;
  if (magnitude >= 0x7c00u) { /* infinity or NaN: all exponent bits set, payload kept */
    return bsv_float_from_bits(sign | 0x7f800000u | (magnitude & 0x3ffu) << 13);
  }
  if (magnitude < 0x0400u) { /* zero or subnormal: an exact multiple of 2^-24 */
    float x = (float)magnitude * (1.0f / 16777216.0f);
    return sign ? -x : x;
  }
  return bsv_float_from_bits(sign | ((magnitude << 13) + (112u << 23)));
}

/* Rounds to nearest, ties to even; what is too large becomes infinity. */
static inline uint16_t bsv_f32_to_f16(float x) {
  uint32_t bits = bsv_float_bits(x);
  uint16_t sign = (uint16_t)(bits >> 16 & 0x8000u);
  uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return (uint16_t)(sign | 0x7e00u | (magnitude >> 13 & 0x3ffu));
  if (magnitude >= 0x47800000u) return (uint16_t)(sign | 0x7c00u); /* 65536 and above */
  if (magnitude < 0x38800000u) {
    /* Below 2^-14 the result counts units of 2^-24. Adding 0.5 makes the addition itself round to
    ** those units: a float in [0.5, 1) has exactly that spacing. */
    float shifted = bsv_float_from_bits(magnitude) + 0.5f;
    return (uint16_t)(sign | (uint16_t)(bsv_float_bits(shifted) - 0x3f000000u));
  }
  uint32_t odd = magnitude >> 13 & 1u;
  return (uint16_t)(sign | ((magnitude - (112u << 23) + 0x0fffu + odd) >> 13));
}

static inline float bsv_bf16_to_f32(uint16_t h) { return bsv_float_from_bits((uint32_t)h << 16); }

/* Rounds to nearest, ties to even; a NaN stays a NaN. */
static inline uint16_t bsv_f32_to_bf16(float x) {
  uint32_t bits = bsv_float_bits(x);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return (uint16_t)(bits >> 16 | 0x0040u);
  return (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

#endif
