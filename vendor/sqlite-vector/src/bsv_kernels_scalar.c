/*
** The reference kernels, in plain C for any machine.
**
** Float sums run in eight lanes: a compiler may then use whatever vector registers the baseline
** has, and the rounding error grows with n / 8 only.
*/
#include "bsv_kernels.h"

#include <math.h>
#include <string.h>

#include "bsv_float16.h"
#include "bsv_hadamard.h"

#define LANES 8

static inline float load_f32(const unsigned char *row, size_t i) {
  float x;
  memcpy(&x, row + 4 * i, sizeof x);
  return x;
}

static inline uint16_t load_u16(const unsigned char *row, size_t i) {
  uint16_t x;
  memcpy(&x, row + 2 * i, sizeof x);
  return x;
}

static inline float load_f16(const unsigned char *row, size_t i) { return bsv_f16_to_f32(load_u16(row, i)); }
static inline float load_bf16(const unsigned char *row, size_t i) { return bsv_bf16_to_f32(load_u16(row, i)); }

static float sum_lanes(const float *lanes) {
  return ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6])) + ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7]));
}

static inline float term_dot(float q, float x) { return q * x; }
static inline float term_l2sq(float q, float x) { return (q - x) * (q - x); }
static inline float term_l1(float q, float x) { return fabsf(q - x); }

#define FLOAT_KERNEL(METRIC, TYPE)                                              \
  static float METRIC##_##TYPE(const float *query, const void *row, size_t n) { \
    const unsigned char *x = row;                                               \
    float lanes[LANES] = {0};                                                   \
    size_t i = 0;                                                               \
    for (; i + LANES <= n; i += LANES) {                                        \
      for (int j = 0; j < LANES; j++) {                                         \
        lanes[j] += term_##METRIC(query[i + j], load_##TYPE(x, i + j));         \
      }                                                                         \
    }                                                                           \
    for (int j = 0; i < n; i++, j++) {                                          \
      lanes[j] += term_##METRIC(query[i], load_##TYPE(x, i));                   \
    }                                                                           \
    return sum_lanes(lanes);                                                    \
  }

#define DOT_SQ_KERNEL(TYPE)                                                                  \
  static float dot_sq_##TYPE(const float *query, const void *row, size_t n, float *sq) {     \
    const unsigned char *x = row;                                                            \
    float dots[LANES] = {0}, squares[LANES] = {0};                                           \
    size_t i = 0;                                                                            \
    for (; i + LANES <= n; i += LANES) {                                                     \
      for (int j = 0; j < LANES; j++) {                                                      \
        float value = load_##TYPE(x, i + j);                                                 \
        dots[j] += query[i + j] * value;                                                     \
        squares[j] += value * value;                                                         \
      }                                                                                      \
    }                                                                                        \
    for (int j = 0; i < n; i++, j++) {                                                       \
      float value = load_##TYPE(x, i);                                                       \
      dots[j] += query[i] * value;                                                           \
      squares[j] += value * value;                                                           \
    }                                                                                        \
    *sq = sum_lanes(squares);                                                                \
    return sum_lanes(dots);                                                                  \
  }

#define FLOAT_KERNELS(TYPE)  \
  FLOAT_KERNEL(dot, TYPE)    \
  FLOAT_KERNEL(l2sq, TYPE)   \
  FLOAT_KERNEL(l1, TYPE)     \
  DOT_SQ_KERNEL(TYPE)

FLOAT_KERNELS(f32)
FLOAT_KERNELS(f16)
FLOAT_KERNELS(bf16)

#define INT_KERNELS(TYPE, ELEMENT)                                       \
  static int32_t dot_##TYPE(const void *a, const void *b, size_t n) {    \
    const ELEMENT *x = a, *y = b;                                        \
    int32_t sum = 0;                                                     \
    for (size_t i = 0; i < n; i++) sum += (int32_t)x[i] * y[i];          \
    return sum;                                                          \
  }                                                                      \
  static int32_t l2sq_##TYPE(const void *a, const void *b, size_t n) {   \
    const ELEMENT *x = a, *y = b;                                        \
    int32_t sum = 0;                                                     \
    for (size_t i = 0; i < n; i++) {                                     \
      int32_t d = (int32_t)x[i] - y[i];                                  \
      sum += d * d;                                                      \
    }                                                                    \
    return sum;                                                          \
  }                                                                      \
  static int32_t l1_##TYPE(const void *a, const void *b, size_t n) {     \
    const ELEMENT *x = a, *y = b;                                        \
    int32_t sum = 0;                                                     \
    for (size_t i = 0; i < n; i++) {                                     \
      int32_t d = (int32_t)x[i] - y[i];                                  \
      sum += d < 0 ? -d : d;                                             \
    }                                                                    \
    return sum;                                                          \
  }                                                                      \
  static int32_t dot_sq_##TYPE(const void *a, const void *b, size_t n, int32_t *sq) { \
    *sq = dot_##TYPE(b, b, n);                                           \
    return dot_##TYPE(a, b, n);                                          \
  }

INT_KERNELS(i8, int8_t)
INT_KERNELS(u8, uint8_t)

/* Bits set in a word, by adding neighbouring fields of 1, 2, 4 bits and then all bytes. */
static uint64_t popcount64(uint64_t x) {
  x -= x >> 1 & 0x5555555555555555u;
  x = (x & 0x3333333333333333u) + (x >> 2 & 0x3333333333333333u);
  x = (x + (x >> 4)) & 0x0f0f0f0f0f0f0f0fu;
  return x * 0x0101010101010101u >> 56;
}

static uint64_t hamming(const void *a, const void *b, size_t n) {
  const unsigned char *x = a, *y = b;
  uint64_t sum = 0;
  size_t i = 0;
  for (; i + 8 <= n; i += 8) {
    uint64_t u, v;
    memcpy(&u, x + i, 8);
    memcpy(&v, y + i, 8);
    sum += popcount64(u ^ v);
  }
  for (; i < n; i++) sum += popcount64((uint64_t)(x[i] ^ y[i]));
  return sum;
}

/* ---- coarse codes --------------------------------------------------------------------------- */

static float factor(const uint8_t *factors, unsigned i) { return bsv_bf16_to_f32(load_u16(factors, i)); }

/* Writes the rows of one block that pass, given the integer sums. */
static size_t pass(const bsv_coarse_query *query, const uint32_t *sums, const uint8_t *factors, uint32_t allowed, float limit,
                   uint32_t slot, bsv_candidate *out) {
  size_t n = 0;
  for (unsigned i = 0; i < BSV_BLOCK_ROWS; i++) {
    float s = query->scale * (float)(int32_t)sums[i] + query->bias;
    float estimate = query->base + factor(factors, BSV_BLOCK_ROWS + i) - factor(factors, i) * s;
    if (estimate <= limit && allowed >> i & 1) {
      out[n].estimate = estimate;
      out[n].slot = slot + i;
      n++;
    }
  }
  return n;
}

static size_t coarse1(const bsv_coarse_query *query, const uint8_t *blocks, size_t n_blocks, const uint32_t *allowed,
                      float limit, uint32_t first_slot, bsv_candidate *out) {
  size_t n = 0, code_bytes = query->code_bytes;
  const uint8_t *low = query->lut, *high = query->lut + BSV_LUT_STRIDE * code_bytes;
  for (size_t block = 0; block < n_blocks; block++, blocks += bsv_block_bytes(code_bytes)) {
    uint32_t sums[BSV_BLOCK_ROWS] = {0};
    if (allowed && allowed[block] == 0) continue;
    for (size_t j = 0; j < code_bytes; j++) {
      for (unsigned i = 0; i < BSV_BLOCK_ROWS; i++) {
        uint8_t code = blocks[BSV_BLOCK_ROWS * j + bsv_block_position(i)];
        sums[i] += (uint32_t)low[BSV_LUT_STRIDE * j + (code & 15)] + high[BSV_LUT_STRIDE * j + (code >> 4)];
      }
    }
    n += pass(query, sums, blocks + BSV_BLOCK_ROWS * code_bytes, allowed ? allowed[block] : ~0u, limit,
              first_slot + (uint32_t)(BSV_BLOCK_ROWS * block), out + n);
  }
  return n;
}

static size_t coarse4(const bsv_coarse_query *query, const uint8_t *blocks, size_t n_blocks, const uint32_t *allowed,
                      float limit, uint32_t first_slot, bsv_candidate *out) {
  size_t n = 0, code_bytes = query->code_bytes;
  for (size_t block = 0; block < n_blocks; block++, blocks += bsv_block_bytes(code_bytes)) {
    int32_t sums[BSV_BLOCK_ROWS] = {0};
    if (allowed && allowed[block] == 0) continue;
    for (size_t w = 0; w < code_bytes / 4; w++) {
      const uint8_t *words = blocks + 4 * BSV_BLOCK_ROWS * w;
      const int8_t *weights = query->weights + 8 * w;
      for (unsigned i = 0; i < BSV_BLOCK_ROWS; i++) {
        for (unsigned b = 0; b < 4; b++) {
          uint8_t code = words[4 * i + b];
          sums[i] += (code & 15) * weights[b] + (code >> 4) * weights[4 + b];
        }
      }
    }
    n += pass(query, (const uint32_t *)sums, blocks + BSV_BLOCK_ROWS * code_bytes, allowed ? allowed[block] : ~0u, limit,
              first_slot + (uint32_t)(BSV_BLOCK_ROWS * block), out + n);
  }
  return n;
}

static float signs(const float *z, size_t n, uint8_t *code) {
  float lanes[LANES] = {0};
  for (size_t i = 0; i < n; i += 8) {
    unsigned byte = 0;
    for (unsigned b = 0; b < 8; b++) {
      byte |= (unsigned)(z[i + b] >= 0) << b;
      lanes[b] += fabsf(z[i + b]);
    }
    code[i / 8] = (uint8_t)byte;
  }
  return sum_lanes(lanes);
}

static float levels(const float *z, size_t n, float inverse, float *yy) {
  float dots[LANES] = {0}, squares[LANES] = {0};
  for (size_t i = 0; i < n; i += 8) {
    for (size_t b = 0; b < 8; b++) {
      float level = z[i + b] * inverse + 8.0f;
      level = level < 0 ? 0 : level;
      level = level > 15 ? 15 : level;
      float y = (float)(int)level - 7.5f;
      dots[b] += y * z[i + b];
      squares[b] += y * y;
    }
  }
  *yy = sum_lanes(squares);
  return sum_lanes(dots);
}

static void arrange1(const uint8_t *payloads, size_t stride, size_t code_bytes, uint8_t *block) {
  for (unsigned i = 0; i < BSV_BLOCK_ROWS; i++) {
    uint8_t *out = block + bsv_block_position(i);
    for (size_t j = 0; j < code_bytes; j++) out[BSV_BLOCK_ROWS * j] = payloads[i * stride + j];
  }
}

static uint64_t read_bytes(const void *p, size_t n) {
  const uint8_t *bytes = p;
  uint64_t sums[4] = {0};
  size_t i = 0;
  for (; i + 32 <= n; i += 32) {
    for (int j = 0; j < 4; j++) {
      uint64_t word;
      memcpy(&word, bytes + i + 8 * j, 8);
      sums[j] ^= word;
    }
  }
  for (; i < n; i++) sums[0] ^= bytes[i];
  return sums[0] ^ sums[1] ^ sums[2] ^ sums[3];
}

const bsv_kernels bsv_kernels_scalar = {
    .name = "scalar",
    .f32 = {dot_f32, l2sq_f32, l1_f32, dot_sq_f32},
    .f16 = {dot_f16, l2sq_f16, l1_f16, dot_sq_f16},
    .bf16 = {dot_bf16, l2sq_bf16, l1_bf16, dot_sq_bf16},
    .i8 = {dot_i8, l2sq_i8, l1_i8, dot_sq_i8},
    .u8 = {dot_u8, l2sq_u8, l1_u8, dot_sq_u8},
    .hamming = hamming,
    .coarse1 = coarse1,
    .coarse4 = coarse4,
    .signs = signs,
    .levels = levels,
    .arrange1 = arrange1,
    .read = read_bytes,
    .hadamard = bsv_hadamard,
};
