/*
** Kernels for AArch64. Only what every such processor has is used: no dot-product extension, no
** half-precision arithmetic.
*/
#include "bsv_kernels.h"

#if defined(__aarch64__) || defined(_M_ARM64)

#include <arm_neon.h>
#include <string.h>

#include "bsv_hadamard.h"

#define BSV_V16 uint8x16_t
#define BSV_LOAD16(p) vld1q_u8(p)
#define BSV_STORE16(p, v) vst1q_u8(p, v)
#define BSV_ZIP_LOW(a, b) vzip1q_u8(a, b)
#define BSV_ZIP_HIGH(a, b) vzip2q_u8(a, b)
#include "bsv_arrange.h"

/* Four floats from the stored bytes. */
static inline float32x4_t load_f32(const unsigned char *row) { return vreinterpretq_f32_u8(vld1q_u8(row)); }
static inline float32x4_t load_f16(const unsigned char *row) { return vcvt_f32_f16(vreinterpret_f16_u8(vld1_u8(row))); }
static inline float32x4_t load_bf16(const unsigned char *row) {
  return vreinterpretq_f32_u32(vshll_n_u16(vreinterpret_u16_u8(vld1_u8(row)), 16));
}

static inline float32x4_t add_dot(float32x4_t sum, float32x4_t q, float32x4_t x) { return vfmaq_f32(sum, q, x); }
static inline float32x4_t add_l2sq(float32x4_t sum, float32x4_t q, float32x4_t x) {
  float32x4_t d = vsubq_f32(q, x);
  return vfmaq_f32(sum, d, d);
}
static inline float32x4_t add_l1(float32x4_t sum, float32x4_t q, float32x4_t x) { return vaddq_f32(sum, vabdq_f32(q, x)); }

#define FLOAT_KERNEL(METRIC, TYPE, SIZE)                                                       \
  static float METRIC##_##TYPE(const float *query, const void *row, size_t n) {                \
    const unsigned char *x = row;                                                              \
    float32x4_t s[4] = {vdupq_n_f32(0), vdupq_n_f32(0), vdupq_n_f32(0), vdupq_n_f32(0)};       \
    size_t i = 0;                                                                              \
    for (; i + 16 <= n; i += 16) {                                                             \
      for (int j = 0; j < 4; j++) {                                                            \
        size_t at = i + 4 * (size_t)j;                                                         \
        s[j] = add_##METRIC(s[j], vld1q_f32(query + at), load_##TYPE(x + SIZE * at));          \
      }                                                                                        \
    }                                                                                          \
    while (i < n) {                                                                            \
      float q[4] = {0};                                                                        \
      unsigned char tail[16] = {0};                                                            \
      size_t m = n - i < 4 ? n - i : 4;                                                        \
      memcpy(q, query + i, m * sizeof(float));                                                 \
      memcpy(tail, x + SIZE * i, m * SIZE);                                                    \
      s[0] = add_##METRIC(s[0], vld1q_f32(q), load_##TYPE(tail));                              \
      i += m;                                                                                  \
    }                                                                                          \
    return vaddvq_f32(vaddq_f32(vaddq_f32(s[0], s[1]), vaddq_f32(s[2], s[3])));                \
  }

#define DOT_SQ_KERNEL(TYPE, SIZE)                                                              \
  static float dot_sq_##TYPE(const float *query, const void *row, size_t n, float *sq) {       \
    const unsigned char *x = row;                                                              \
    float32x4_t dots[2] = {vdupq_n_f32(0), vdupq_n_f32(0)};                                    \
    float32x4_t squares[2] = {vdupq_n_f32(0), vdupq_n_f32(0)};                                 \
    size_t i = 0;                                                                              \
    for (; i + 8 <= n; i += 8) {                                                               \
      for (int j = 0; j < 2; j++) {                                                            \
        size_t at = i + 4 * (size_t)j;                                                         \
        float32x4_t value = load_##TYPE(x + SIZE * at);                                        \
        dots[j] = vfmaq_f32(dots[j], vld1q_f32(query + at), value);                            \
        squares[j] = vfmaq_f32(squares[j], value, value);                                      \
      }                                                                                        \
    }                                                                                          \
    while (i < n) {                                                                            \
      float q[4] = {0};                                                                        \
      unsigned char tail[16] = {0};                                                            \
      size_t m = n - i < 4 ? n - i : 4;                                                        \
      memcpy(q, query + i, m * sizeof(float));                                                 \
      memcpy(tail, x + SIZE * i, m * SIZE);                                                    \
      float32x4_t value = load_##TYPE(tail);                                                   \
      dots[0] = vfmaq_f32(dots[0], vld1q_f32(q), value);                                       \
      squares[0] = vfmaq_f32(squares[0], value, value);                                        \
      i += m;                                                                                  \
    }                                                                                          \
    *sq = vaddvq_f32(vaddq_f32(squares[0], squares[1]));                                       \
    return vaddvq_f32(vaddq_f32(dots[0], dots[1]));                                            \
  }

#define FLOAT_KERNELS(TYPE, SIZE)  \
  FLOAT_KERNEL(dot, TYPE, SIZE)    \
  FLOAT_KERNEL(l2sq, TYPE, SIZE)   \
  FLOAT_KERNEL(l1, TYPE, SIZE)     \
  DOT_SQ_KERNEL(TYPE, SIZE)

FLOAT_KERNELS(f32, 4)
FLOAT_KERNELS(f16, 2)
FLOAT_KERNELS(bf16, 2)

/* Sums of products of 16-bit values: each lane of 32 bits stays far below its limit for
** BSV_INT_BLOCK elements, and the sum of all lanes is the bound stated there. */
static inline int32x4_t products_dot(int32x4_t sum, int16x8_t a, int16x8_t b) {
  sum = vmlal_s16(sum, vget_low_s16(a), vget_low_s16(b));
  return vmlal_high_s16(sum, a, b);
}

static inline int32x4_t products_l2sq(int32x4_t sum, int16x8_t a, int16x8_t b) {
  int16x8_t d = vsubq_s16(a, b);
  return products_dot(sum, d, d);
}

static inline int32x4_t products_l1(int32x4_t sum, int16x8_t a, int16x8_t b) { return vpadalq_s16(sum, vabdq_s16(a, b)); }

static inline int16x8_t widen_i8(const unsigned char *p) { return vmovl_s8(vreinterpret_s8_u8(vld1_u8(p))); }
static inline int16x8_t widen_u8(const unsigned char *p) { return vreinterpretq_s16_u16(vmovl_u8(vld1_u8(p))); }

#define INT_KERNEL(METRIC, TYPE)                                                               \
  static int32_t METRIC##_##TYPE(const void *a, const void *b, size_t n) {                     \
    const unsigned char *x = a, *y = b;                                                        \
    int32x4_t s0 = vdupq_n_s32(0), s1 = s0;                                                    \
    size_t i = 0;                                                                              \
    for (; i + 16 <= n; i += 16) {                                                             \
      s0 = products_##METRIC(s0, widen_##TYPE(x + i), widen_##TYPE(y + i));                    \
      s1 = products_##METRIC(s1, widen_##TYPE(x + i + 8), widen_##TYPE(y + i + 8));            \
    }                                                                                          \
    while (i < n) {                                                                            \
      unsigned char u[8] = {0}, v[8] = {0};                                                    \
      size_t m = n - i < 8 ? n - i : 8;                                                        \
      memcpy(u, x + i, m);                                                                     \
      memcpy(v, y + i, m);                                                                     \
      s0 = products_##METRIC(s0, widen_##TYPE(u), widen_##TYPE(v));                            \
      i += m;                                                                                  \
    }                                                                                          \
    return vaddvq_s32(vaddq_s32(s0, s1));                                                      \
  }

#define INT_DOT_SQ_KERNEL(TYPE)                                                                \
  static int32_t dot_sq_##TYPE(const void *a, const void *b, size_t n, int32_t *sq) {          \
    const unsigned char *x = a, *y = b;                                                        \
    int32x4_t dots = vdupq_n_s32(0), squares = dots;                                           \
    size_t i = 0;                                                                              \
    for (; i + 8 <= n; i += 8) {                                                               \
      int16x8_t value = widen_##TYPE(y + i);                                                   \
      dots = products_dot(dots, widen_##TYPE(x + i), value);                                   \
      squares = products_dot(squares, value, value);                                           \
    }                                                                                          \
    if (i < n) {                                                                               \
      unsigned char u[8] = {0}, v[8] = {0};                                                    \
      memcpy(u, x + i, n - i);                                                                 \
      memcpy(v, y + i, n - i);                                                                 \
      int16x8_t value = widen_##TYPE(v);                                                       \
      dots = products_dot(dots, widen_##TYPE(u), value);                                       \
      squares = products_dot(squares, value, value);                                           \
    }                                                                                          \
    *sq = vaddvq_s32(squares);                                                                 \
    return vaddvq_s32(dots);                                                                   \
  }

INT_DOT_SQ_KERNEL(i8)
INT_DOT_SQ_KERNEL(u8)
INT_KERNEL(dot, i8)
INT_KERNEL(dot, u8)
INT_KERNEL(l2sq, i8)
INT_KERNEL(l2sq, u8)
INT_KERNEL(l1, i8)
INT_KERNEL(l1, u8)

static uint64_t hamming(const void *a, const void *b, size_t n) {
  const unsigned char *x = a, *y = b;
  uint64_t sum = 0;
  size_t i = 0;
  for (; i + 16 <= n; i += 16) sum += vaddlvq_u8(vcntq_u8(veorq_u8(vld1q_u8(x + i), vld1q_u8(y + i))));
  if (i < n) {
    unsigned char u[16] = {0}, v[16] = {0};
    memcpy(u, x + i, n - i);
    memcpy(v, y + i, n - i);
    sum += vaddlvq_u8(vcntq_u8(veorq_u8(vld1q_u8(u), vld1q_u8(v))));
  }
  return sum;
}

/* ---- coarse codes --------------------------------------------------------------------------- */

/* Writes the rows of a block that pass, given the sums of its rows, four in each register. */
static inline size_t pass(const bsv_coarse_query *query, const int32x4_t sums[8], const uint8_t *factors, uint32_t allowed,
                          float limit, uint32_t slot, bsv_candidate *out) {
  size_t n = 0;
  for (unsigned i = 0; i < 8; i++) {
    float estimates[4];
    float32x4_t s = vfmaq_n_f32(vdupq_n_f32(query->bias), vcvtq_f32_s32(sums[i]), query->scale);
    float32x4_t start = vaddq_f32(vdupq_n_f32(query->base), load_bf16(factors + 64 + 8 * i));
    float32x4_t estimate = vfmsq_f32(start, load_bf16(factors + 8 * i), s);
    if (vmaxvq_u32(vcleq_f32(estimate, vdupq_n_f32(limit))) == 0) continue; /* a NaN compares false */
    vst1q_f32(estimates, estimate);
    for (unsigned j = 0; j < 4; j++) {
      if (!(estimates[j] <= limit) || !(allowed >> (4 * i + j) & 1)) continue;
      out[n].estimate = estimates[j];
      out[n].slot = slot + 4 * i + j;
      n++;
    }
  }
  return n;
}

static inline uint8x16_t lookups(const uint8_t *code, uint8x16_t low, uint8x16_t high) {
  uint8x16_t c = vld1q_u8(code);
  return vaddq_u8(vqtbl1q_u8(low, vandq_u8(c, vdupq_n_u8(0x0f))), vqtbl1q_u8(high, vshrq_n_u8(c, 4)));
}

/*
** Sums table entries of bytes [from, to): positions 0 to 31 in four registers of eight. Four bytes of
** code are added up in 8 bits before they are widened.
*/
static inline void sum_lookups(const uint8_t *block, const uint8_t *low, const uint8_t *high, size_t from, size_t to,
                               uint16x8_t sums[4]) {
  for (int i = 0; i < 4; i++) sums[i] = vdupq_n_u16(0);
  for (size_t j = from; j < to; j += 4) {
    size_t end = to - j < 4 ? to : j + 4;
    uint8x16_t first = vdupq_n_u8(0), second = first;
    for (size_t i = j; i < end; i++) {
      uint8x16_t l = vld1q_u8(low + 32 * i), h = vld1q_u8(high + 32 * i);
      first = vaddq_u8(first, lookups(block + 32 * i, l, h));
      second = vaddq_u8(second, lookups(block + 32 * i + 16, l, h));
    }
    sums[0] = vaddw_u8(sums[0], vget_low_u8(first));
    sums[1] = vaddw_high_u8(sums[1], first);
    sums[2] = vaddw_u8(sums[2], vget_low_u8(second));
    sums[3] = vaddw_high_u8(sums[3], second);
  }
}

static inline void add_widened(int32x4_t *sums, uint16x8_t x) {
  sums[0] = vaddq_s32(sums[0], vreinterpretq_s32_u32(vmovl_u16(vget_low_u16(x))));
  sums[1] = vaddq_s32(sums[1], vreinterpretq_s32_u32(vmovl_high_u16(x)));
}

static size_t coarse1(const bsv_coarse_query *query, const uint8_t *blocks, size_t n_blocks, const uint32_t *allowed,
                      float limit, uint32_t first_slot, bsv_candidate *out) {
  size_t n = 0, code_bytes = query->code_bytes;
  const uint8_t *low = query->lut, *high = query->lut + BSV_LUT_STRIDE * code_bytes;
  for (size_t block = 0; block < n_blocks; block++, blocks += bsv_block_bytes(code_bytes)) {
    if (allowed && allowed[block] == 0) continue;
    int32x4_t sums[8];
    for (int i = 0; i < 8; i++) sums[i] = vdupq_n_s32(0);
    for (size_t from = 0; from < code_bytes; from += BSV_LUT_SEGMENT) {
      size_t to = code_bytes - from < BSV_LUT_SEGMENT ? code_bytes : from + BSV_LUT_SEGMENT;
      uint16x8_t p[4];
      sum_lookups(blocks, low, high, from, to, p);
      add_widened(sums, vuzp1q_u16(p[0], p[1])); /* even positions are rows 0 to 15, odd ones 16 to 31 */
      add_widened(sums + 2, vuzp1q_u16(p[2], p[3]));
      add_widened(sums + 4, vuzp2q_u16(p[0], p[1]));
      add_widened(sums + 6, vuzp2q_u16(p[2], p[3]));
    }
    n += pass(query, sums, blocks + BSV_BLOCK_ROWS * code_bytes, allowed ? allowed[block] : ~0u, limit,
              first_slot + (uint32_t)(BSV_BLOCK_ROWS * block), out + n);
  }
  return n;
}

/* Four rows (16 bytes): products in 16 bits, at most 15 * 127 * 4 after both additions in pairs. */
static inline int32x4_t dot4(int32x4_t sum, const uint8_t *words, int8x16_t low_weights, int8x16_t high_weights) {
  uint8x16_t code = vld1q_u8(words);
  int8x16_t low = vreinterpretq_s8_u8(vandq_u8(code, vdupq_n_u8(0x0f))), high = vreinterpretq_s8_u8(vshrq_n_u8(code, 4));
  int16x8_t first = vmull_s8(vget_low_s8(low), vget_low_s8(low_weights));
  int16x8_t second = vmull_high_s8(low, low_weights);
  first = vmlal_s8(first, vget_low_s8(high), vget_low_s8(high_weights));
  second = vmlal_high_s8(second, high, high_weights);
  return vpadalq_s16(sum, vpaddq_s16(first, second));
}

static size_t coarse4(const bsv_coarse_query *query, const uint8_t *blocks, size_t n_blocks, const uint32_t *allowed,
                      float limit, uint32_t first_slot, bsv_candidate *out) {
  size_t n = 0, code_bytes = query->code_bytes;
  for (size_t block = 0; block < n_blocks; block++, blocks += bsv_block_bytes(code_bytes)) {
    if (allowed && allowed[block] == 0) continue;
    int32x4_t sums[8];
    for (int i = 0; i < 8; i++) sums[i] = vdupq_n_s32(0);
    for (size_t w = 0; w < code_bytes / 4; w++) {
      int32_t low, high;
      memcpy(&low, query->weights + 8 * w, 4);
      memcpy(&high, query->weights + 8 * w + 4, 4);
      int8x16_t low_weights = vreinterpretq_s8_s32(vdupq_n_s32(low)), high_weights = vreinterpretq_s8_s32(vdupq_n_s32(high));
      for (int i = 0; i < 8; i++) sums[i] = dot4(sums[i], blocks + 128 * w + 16 * i, low_weights, high_weights);
    }
    n += pass(query, sums, blocks + BSV_BLOCK_ROWS * code_bytes, allowed ? allowed[block] : ~0u, limit,
              first_slot + (uint32_t)(BSV_BLOCK_ROWS * block), out + n);
  }
  return n;
}

static float signs(const float *z, size_t n, uint8_t *code) {
  static const uint32_t weights[4] = {1, 2, 4, 8};
  const uint32x4_t bits = vld1q_u32(weights);
  float32x4_t sum = vdupq_n_f32(0);
  for (size_t i = 0; i < n; i += 8) {
    float32x4_t low = vld1q_f32(z + i), high = vld1q_f32(z + i + 4);
    uint32_t l = vaddvq_u32(vandq_u32(vcgezq_f32(low), bits)), h = vaddvq_u32(vandq_u32(vcgezq_f32(high), bits));
    code[i / 8] = (uint8_t)(l | h << 4);
    sum = vaddq_f32(sum, vaddq_f32(vabsq_f32(low), vabsq_f32(high)));
  }
  return vaddvq_f32(sum);
}

static float levels(const float *z, size_t n, float inverse, float *yy) {
  float32x4_t dots = vdupq_n_f32(0), squares = dots;
  for (size_t i = 0; i < n; i += 4) {
    float32x4_t x = vld1q_f32(z + i);
    float32x4_t level = vaddq_f32(vmulq_n_f32(x, inverse), vdupq_n_f32(8));
    level = vminq_f32(vmaxq_f32(level, vdupq_n_f32(0)), vdupq_n_f32(15));
    float32x4_t y = vsubq_f32(vrndq_f32(level), vdupq_n_f32(7.5f));
    dots = vfmaq_f32(dots, y, x);
    squares = vfmaq_f32(squares, y, y);
  }
  *yy = vaddvq_f32(squares);
  return vaddvq_f32(dots);
}

static uint64_t read_bytes(const void *p, size_t n) {
  const uint8_t *bytes = p;
  uint8x16_t s0 = vdupq_n_u8(0), s1 = s0;
  size_t i = 0;
  for (; i + 32 <= n; i += 32) {
    s0 = veorq_u8(s0, vld1q_u8(bytes + i));
    s1 = veorq_u8(s1, vld1q_u8(bytes + i + 16));
  }
  uint64x2_t words = vreinterpretq_u64_u8(veorq_u8(s0, s1));
  uint64_t sum = vgetq_lane_u64(words, 0) ^ vgetq_lane_u64(words, 1);
  for (; i < n; i++) sum ^= bytes[i];
  return sum;
}

const bsv_kernels bsv_kernels_neon = {
    .name = "neon",
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
    .arrange1 = bsv_arrange32,
    .read = read_bytes,
    .hadamard = bsv_hadamard,
};

#else
typedef int bsv_kernels_neon_is_empty_here; /* ISO C wants a declaration in every file */
#endif
