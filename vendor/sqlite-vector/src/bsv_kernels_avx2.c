/*
** Kernels for x86-64 with AVX2, FMA and F16C. This file alone is compiled with those flags.
**
** Float loops keep four sums of eight lanes, so that four multiply-adds are in flight; the last
** n mod 8 elements go through a zeroed buffer, whose zeros add nothing to any of the sums.
*/
#include "bsv_kernels.h"

#if defined(__x86_64__) || defined(_M_X64)

#include <immintrin.h>
#include <string.h>

#include "bsv_encode_x86.h"
#include "bsv_hadamard.h"

#define BSV_V16 __m128i
#define BSV_LOAD16(p) _mm_loadu_si128((const __m128i *)(const void *)(p))
#define BSV_STORE16(p, v) _mm_storeu_si128((__m128i *)(void *)(p), v)
#define BSV_ZIP_LOW(a, b) _mm_unpacklo_epi8(a, b)
#define BSV_ZIP_HIGH(a, b) _mm_unpackhi_epi8(a, b)
#include "bsv_arrange.h"

static inline __m256 load_f32(const unsigned char *row) { return _mm256_loadu_ps((const float *)(const void *)row); }

static inline __m256 load_f16(const unsigned char *row) {
  return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)row));
}

static inline __m256 load_bf16(const unsigned char *row) {
  __m256i wide = _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)(const void *)row));
  return _mm256_castsi256_ps(_mm256_slli_epi32(wide, 16));
}

static inline float sum_ps(__m256 x) {
  __m128 s = _mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
  s = _mm_add_ps(s, _mm_movehl_ps(s, s));
  s = _mm_add_ss(s, _mm_movehdup_ps(s));
  return _mm_cvtss_f32(s);
}

static inline __m256 add_dot(__m256 sum, __m256 q, __m256 x) { return _mm256_fmadd_ps(q, x, sum); }

static inline __m256 add_l2sq(__m256 sum, __m256 q, __m256 x) {
  __m256 d = _mm256_sub_ps(q, x);
  return _mm256_fmadd_ps(d, d, sum);
}

static inline __m256 add_l1(__m256 sum, __m256 q, __m256 x) {
  __m256 sign = _mm256_set1_ps(-0.0f);
  return _mm256_add_ps(sum, _mm256_andnot_ps(sign, _mm256_sub_ps(q, x)));
}

#define FLOAT_KERNEL(METRIC, TYPE, SIZE)                                                          \
  static float METRIC##_##TYPE(const float *query, const void *row, size_t n) {                   \
    const unsigned char *x = row;                                                                 \
    __m256 s0 = _mm256_setzero_ps(), s1 = s0, s2 = s0, s3 = s0;                                   \
    size_t i = 0;                                                                                 \
    for (; i + 32 <= n; i += 32) {                                                                \
      s0 = add_##METRIC(s0, _mm256_loadu_ps(query + i), load_##TYPE(x + SIZE * i));               \
      s1 = add_##METRIC(s1, _mm256_loadu_ps(query + i + 8), load_##TYPE(x + SIZE * (i + 8)));     \
      s2 = add_##METRIC(s2, _mm256_loadu_ps(query + i + 16), load_##TYPE(x + SIZE * (i + 16)));   \
      s3 = add_##METRIC(s3, _mm256_loadu_ps(query + i + 24), load_##TYPE(x + SIZE * (i + 24)));   \
    }                                                                                             \
    for (; i + 8 <= n; i += 8) {                                                                  \
      s0 = add_##METRIC(s0, _mm256_loadu_ps(query + i), load_##TYPE(x + SIZE * i));               \
    }                                                                                             \
    if (i < n) {                                                                                  \
      float q[8] = {0};                                                                           \
      unsigned char tail[8 * SIZE] = {0};                                                         \
      memcpy(q, query + i, (n - i) * sizeof(float));                                              \
      memcpy(tail, x + SIZE * i, (n - i) * SIZE);                                                 \
      s1 = add_##METRIC(s1, _mm256_loadu_ps(q), load_##TYPE(tail));                               \
    }                                                                                             \
    return sum_ps(_mm256_add_ps(_mm256_add_ps(s0, s1), _mm256_add_ps(s2, s3)));                   \
  }

#define DOT_SQ_KERNEL(TYPE, SIZE)                                                                 \
  static float dot_sq_##TYPE(const float *query, const void *row, size_t n, float *sq) {          \
    const unsigned char *x = row;                                                                 \
    __m256 d0 = _mm256_setzero_ps(), d1 = d0, s0 = d0, s1 = d0;                                   \
    size_t i = 0;                                                                                 \
    for (; i + 16 <= n; i += 16) {                                                                \
      __m256 x0 = load_##TYPE(x + SIZE * i), x1 = load_##TYPE(x + SIZE * (i + 8));                \
      d0 = _mm256_fmadd_ps(_mm256_loadu_ps(query + i), x0, d0);                                   \
      d1 = _mm256_fmadd_ps(_mm256_loadu_ps(query + i + 8), x1, d1);                               \
      s0 = _mm256_fmadd_ps(x0, x0, s0);                                                           \
      s1 = _mm256_fmadd_ps(x1, x1, s1);                                                           \
    }                                                                                             \
    while (i < n) {                                                                               \
      float q[8] = {0};                                                                           \
      unsigned char tail[8 * SIZE] = {0};                                                         \
      size_t m = n - i < 8 ? n - i : 8;                                                           \
      memcpy(q, query + i, m * sizeof(float));                                                    \
      memcpy(tail, x + SIZE * i, m * SIZE);                                                       \
      __m256 x0 = load_##TYPE(tail);                                                              \
      d0 = _mm256_fmadd_ps(_mm256_loadu_ps(q), x0, d0);                                           \
      s0 = _mm256_fmadd_ps(x0, x0, s0);                                                           \
      i += m;                                                                                     \
    }                                                                                             \
    *sq = sum_ps(_mm256_add_ps(s0, s1));                                                          \
    return sum_ps(_mm256_add_ps(d0, d1));                                                         \
  }

#define FLOAT_KERNELS(TYPE, SIZE)  \
  FLOAT_KERNEL(dot, TYPE, SIZE)    \
  FLOAT_KERNEL(l2sq, TYPE, SIZE)   \
  FLOAT_KERNEL(l1, TYPE, SIZE)     \
  DOT_SQ_KERNEL(TYPE, SIZE)

FLOAT_KERNELS(f32, 4)
FLOAT_KERNELS(f16, 2)
FLOAT_KERNELS(bf16, 2)

static inline int32_t sum_epi32(__m256i x) {
  __m128i s = _mm_add_epi32(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1));
  s = _mm_add_epi32(s, _mm_shuffle_epi32(s, 0x4e));
  s = _mm_add_epi32(s, _mm_shuffle_epi32(s, 0xb1));
  return _mm_cvtsi128_si32(s);
}

static inline __m256i widen_i8(const unsigned char *p) {
  return _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)(const void *)p));
}

static inline __m256i widen_u8(const unsigned char *p) {
  return _mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)(const void *)p));
}

/* Products of 16-bit values, added in pairs to 32 bits: no step can overflow below BSV_INT_BLOCK. */
static inline __m256i product_dot(__m256i a, __m256i b) { return _mm256_madd_epi16(a, b); }

static inline __m256i product_l2sq(__m256i a, __m256i b) {
  __m256i d = _mm256_sub_epi16(a, b);
  return _mm256_madd_epi16(d, d);
}

#define INT_KERNEL(METRIC, TYPE)                                                                  \
  static int32_t METRIC##_##TYPE(const void *a, const void *b, size_t n) {                        \
    const unsigned char *x = a, *y = b;                                                           \
    __m256i s0 = _mm256_setzero_si256(), s1 = s0;                                                 \
    size_t i = 0;                                                                                 \
    for (; i + 32 <= n; i += 32) {                                                                \
      s0 = _mm256_add_epi32(s0, product_##METRIC(widen_##TYPE(x + i), widen_##TYPE(y + i)));      \
      s1 = _mm256_add_epi32(s1, product_##METRIC(widen_##TYPE(x + i + 16), widen_##TYPE(y + i + 16))); \
    }                                                                                             \
    while (i < n) {                                                                               \
      unsigned char u[16] = {0}, v[16] = {0};                                                     \
      size_t m = n - i < 16 ? n - i : 16;                                                         \
      memcpy(u, x + i, m);                                                                        \
      memcpy(v, y + i, m);                                                                        \
      s0 = _mm256_add_epi32(s0, product_##METRIC(widen_##TYPE(u), widen_##TYPE(v)));              \
      i += m;                                                                                     \
    }                                                                                             \
    return sum_epi32(_mm256_add_epi32(s0, s1));                                                   \
  }

#define INT_DOT_SQ_KERNEL(TYPE)                                                                   \
  static int32_t dot_sq_##TYPE(const void *a, const void *b, size_t n, int32_t *sq) {             \
    const unsigned char *x = a, *y = b;                                                           \
    __m256i dots = _mm256_setzero_si256(), squares = dots;                                        \
    size_t i = 0;                                                                                 \
    for (; i + 16 <= n; i += 16) {                                                                \
      __m256i value = widen_##TYPE(y + i);                                                        \
      dots = _mm256_add_epi32(dots, product_dot(widen_##TYPE(x + i), value));                     \
      squares = _mm256_add_epi32(squares, product_dot(value, value));                             \
    }                                                                                             \
    if (i < n) {                                                                                  \
      unsigned char u[16] = {0}, v[16] = {0};                                                     \
      memcpy(u, x + i, n - i);                                                                    \
      memcpy(v, y + i, n - i);                                                                    \
      __m256i value = widen_##TYPE(v);                                                            \
      dots = _mm256_add_epi32(dots, product_dot(widen_##TYPE(u), value));                         \
      squares = _mm256_add_epi32(squares, product_dot(value, value));                             \
    }                                                                                             \
    *sq = sum_epi32(squares);                                                                     \
    return sum_epi32(dots);                                                                       \
  }

INT_DOT_SQ_KERNEL(i8)
INT_DOT_SQ_KERNEL(u8)
INT_KERNEL(dot, i8)
INT_KERNEL(dot, u8)
INT_KERNEL(l2sq, i8)
INT_KERNEL(l2sq, u8)

/* |a-b| of unsigned bytes, added by the sum-of-differences instruction. Signed bytes are moved to
** the unsigned range first (their difference does not change). */
static inline int32_t l1_bytes(const unsigned char *x, const unsigned char *y, size_t n, __m256i flip) {
  __m256i sum = _mm256_setzero_si256();
  size_t i = 0;
  for (; i + 32 <= n; i += 32) {
    __m256i u = _mm256_xor_si256(_mm256_loadu_si256((const __m256i *)(const void *)(x + i)), flip);
    __m256i v = _mm256_xor_si256(_mm256_loadu_si256((const __m256i *)(const void *)(y + i)), flip);
    sum = _mm256_add_epi64(sum, _mm256_sad_epu8(u, v));
  }
  if (i < n) {
    unsigned char u[32] = {0}, v[32] = {0};
    memcpy(u, x + i, n - i);
    memcpy(v, y + i, n - i);
    __m256i p = _mm256_xor_si256(_mm256_loadu_si256((const __m256i *)(const void *)u), flip);
    __m256i q = _mm256_xor_si256(_mm256_loadu_si256((const __m256i *)(const void *)v), flip);
    sum = _mm256_add_epi64(sum, _mm256_sad_epu8(p, q));
  }
  return sum_epi32(sum); /* each 64-bit lane is below 2^32, its upper half adds zero */
}

static int32_t l1_i8(const void *a, const void *b, size_t n) { return l1_bytes(a, b, n, _mm256_set1_epi8(-128)); }
static int32_t l1_u8(const void *a, const void *b, size_t n) { return l1_bytes(a, b, n, _mm256_setzero_si256()); }

/* Bits set per byte, looked up for both halves of it. */
static inline __m256i popcount_bytes(__m256i x) {
  const __m256i table = _mm256_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4, 0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2,
                                         3, 2, 3, 3, 4);
  const __m256i low = _mm256_set1_epi8(0x0f);
  __m256i lower = _mm256_shuffle_epi8(table, _mm256_and_si256(x, low));
  __m256i upper = _mm256_shuffle_epi8(table, _mm256_and_si256(_mm256_srli_epi16(x, 4), low));
  return _mm256_add_epi8(lower, upper);
}

static uint64_t hamming(const void *a, const void *b, size_t n) {
  const unsigned char *x = a, *y = b;
  __m256i sum = _mm256_setzero_si256();
  size_t i = 0;
  for (; i + 32 <= n; i += 32) {
    __m256i u = _mm256_loadu_si256((const __m256i *)(const void *)(x + i));
    __m256i v = _mm256_loadu_si256((const __m256i *)(const void *)(y + i));
    sum = _mm256_add_epi64(sum, _mm256_sad_epu8(popcount_bytes(_mm256_xor_si256(u, v)), _mm256_setzero_si256()));
  }
  uint64_t lanes[4];
  _mm256_storeu_si256((__m256i *)(void *)lanes, sum);
  uint64_t total = lanes[0] + lanes[1] + lanes[2] + lanes[3];
  for (; i + 8 <= n; i += 8) {
    uint64_t u, v;
    memcpy(&u, x + i, 8);
    memcpy(&v, y + i, 8);
    total += (uint64_t)_mm_popcnt_u64(u ^ v);
  }
  for (; i < n; i++) total += (uint64_t)_mm_popcnt_u32((unsigned)(x[i] ^ y[i]));
  return total;
}

/* ---- coarse codes --------------------------------------------------------------------------- */

static inline __m256 load_factors(const uint8_t *factors) { return load_bf16(factors); }

/*
** Estimates of eight rows, and a bit for each that is at most `limit`. The comparison is ordered, so
** that a NaN fails it.
*/
static inline unsigned estimate8(const bsv_coarse_query *query, __m256i sums, const uint8_t *f, const uint8_t *h, float limit,
                                 float *estimates) {
  __m256 s = _mm256_fmadd_ps(_mm256_cvtepi32_ps(sums), _mm256_set1_ps(query->scale), _mm256_set1_ps(query->bias));
  __m256 start = _mm256_add_ps(_mm256_set1_ps(query->base), load_factors(h));
  __m256 estimate = _mm256_fnmadd_ps(load_factors(f), s, start);
  _mm256_storeu_ps(estimates, estimate);
  return (unsigned)_mm256_movemask_ps(_mm256_cmp_ps(estimate, _mm256_set1_ps(limit), _CMP_LE_OQ));
}

/* Writes the rows of a block that pass, given the sums of its rows, eight in each register. */
static inline size_t pass(const bsv_coarse_query *query, const __m256i sums[4], const uint8_t *factors, uint32_t allowed,
                          float limit, uint32_t slot, bsv_candidate *out) {
  float estimates[BSV_BLOCK_ROWS];
  uint32_t mask = 0;
  for (int i = 0; i < 4; i++) {
    mask |= estimate8(query, sums[i], factors + 16 * i, factors + 64 + 16 * i, limit, estimates + 8 * i) << 8 * i;
  }
  size_t n = 0;
  for (mask &= allowed; mask; mask &= mask - 1) {
    unsigned i = bsv_lowest_bit(mask);
    out[n].estimate = estimates[i];
    out[n].slot = slot + i;
    n++;
  }
  return n;
}

static inline __m256i load256(const uint8_t *p) { return _mm256_loadu_si256((const __m256i *)(const void *)p); }

/* Table entries of one byte of code of all rows, low and high half added. */
static inline __m256i lookups(const uint8_t *code, const uint8_t *low, const uint8_t *high) {
  const __m256i nibble = _mm256_set1_epi8(0x0f);
  __m256i c = load256(code);
  __m256i l = _mm256_shuffle_epi8(load256(low), _mm256_and_si256(c, nibble));
  __m256i h = _mm256_shuffle_epi8(load256(high), _mm256_and_si256(_mm256_srli_epi16(c, 4), nibble));
  return _mm256_add_epi8(l, h);
}

static inline void prefetch(const uint8_t *p) { _mm_prefetch((const char *)p + BSV_PREFETCH_BYTES, _MM_HINT_T0); }

/*
** Adds up the table entries of bytes [from, to) of one block in 16 bits. A pair of neighbouring
** bytes is added as one word: the sum of words carries the even positions modulo 2^16 plus 256
** times the odd ones, and the odd ones are summed on their own, to be taken out at the end.
*/
static inline void sum_lookups(const uint8_t *block, const uint8_t *low, const uint8_t *high, size_t from, size_t to,
                               __m256i *even, __m256i *odd) {
  __m256i words = _mm256_setzero_si256(), odds = words;
  size_t j = from;
  for (; j + 4 <= to; j += 4) {
    const uint8_t *b = block + 32 * j, *l = low + 32 * j, *h = high + 32 * j;
    prefetch(b);
    prefetch(b + 64);
    __m256i s = _mm256_add_epi8(_mm256_add_epi8(lookups(b, l, h), lookups(b + 32, l + 32, h + 32)),
                                _mm256_add_epi8(lookups(b + 64, l + 64, h + 64), lookups(b + 96, l + 96, h + 96)));
    words = _mm256_add_epi16(words, s);
    odds = _mm256_add_epi16(odds, _mm256_srli_epi16(s, 8));
  }
  for (; j < to; j++) {
    __m256i s = lookups(block + 32 * j, low + 32 * j, high + 32 * j);
    words = _mm256_add_epi16(words, s);
    odds = _mm256_add_epi16(odds, _mm256_srli_epi16(s, 8));
  }
  *odd = odds;
  *even = _mm256_sub_epi16(words, _mm256_slli_epi16(odds, 8));
}

static size_t coarse1(const bsv_coarse_query *query, const uint8_t *blocks, size_t n_blocks, const uint32_t *allowed,
                      float limit, uint32_t first_slot, bsv_candidate *out) {
  size_t n = 0, code_bytes = query->code_bytes;
  const uint8_t *low = query->lut, *high = query->lut + BSV_LUT_STRIDE * code_bytes;
  for (size_t block = 0; block < n_blocks; block++, blocks += bsv_block_bytes(code_bytes)) {
    if (allowed && allowed[block] == 0) continue;
    __m256i sums[4] = {_mm256_setzero_si256(), _mm256_setzero_si256(), _mm256_setzero_si256(), _mm256_setzero_si256()};
    for (size_t from = 0; from < code_bytes; from += BSV_LUT_SEGMENT) {
      size_t to = code_bytes - from < BSV_LUT_SEGMENT ? code_bytes : from + BSV_LUT_SEGMENT;
      __m256i even, odd;
      sum_lookups(blocks, low, high, from, to, &even, &odd);
      sums[0] = _mm256_add_epi32(sums[0], _mm256_cvtepu16_epi32(_mm256_castsi256_si128(even)));
      sums[1] = _mm256_add_epi32(sums[1], _mm256_cvtepu16_epi32(_mm256_extracti128_si256(even, 1)));
      sums[2] = _mm256_add_epi32(sums[2], _mm256_cvtepu16_epi32(_mm256_castsi256_si128(odd)));
      sums[3] = _mm256_add_epi32(sums[3], _mm256_cvtepu16_epi32(_mm256_extracti128_si256(odd, 1)));
    }
    const uint8_t *factors = blocks + BSV_BLOCK_ROWS * code_bytes;
    prefetch(factors);
    prefetch(factors + 64);
    n += pass(query, sums, factors, allowed ? allowed[block] : ~0u, limit, first_slot + (uint32_t)(BSV_BLOCK_ROWS * block), out + n);
  }
  return n;
}

/* 15 * 127 * 4 = 7620 at most in 16 bits, then pairs are added to 32. */
static inline __m256i dot4(__m256i sum, const uint8_t *words, __m256i low_weights, __m256i high_weights) {
  const __m256i nibble = _mm256_set1_epi8(0x0f), ones = _mm256_set1_epi16(1);
  __m256i code = _mm256_loadu_si256((const __m256i *)(const void *)words);
  __m256i low = _mm256_maddubs_epi16(_mm256_and_si256(code, nibble), low_weights);
  __m256i high = _mm256_maddubs_epi16(_mm256_and_si256(_mm256_srli_epi16(code, 4), nibble), high_weights);
  return _mm256_add_epi32(sum, _mm256_madd_epi16(_mm256_add_epi16(low, high), ones));
}

static size_t coarse4(const bsv_coarse_query *query, const uint8_t *blocks, size_t n_blocks, const uint32_t *allowed,
                      float limit, uint32_t first_slot, bsv_candidate *out) {
  size_t n = 0, code_bytes = query->code_bytes;
  for (size_t block = 0; block < n_blocks; block++, blocks += bsv_block_bytes(code_bytes)) {
    if (allowed && allowed[block] == 0) continue;
    __m256i sums[4] = {_mm256_setzero_si256(), _mm256_setzero_si256(), _mm256_setzero_si256(), _mm256_setzero_si256()};
    for (size_t w = 0; w < code_bytes / 4; w++) {
      int32_t low, high;
      memcpy(&low, query->weights + 8 * w, 4);
      memcpy(&high, query->weights + 8 * w + 4, 4);
      __m256i low_weights = _mm256_set1_epi32(low), high_weights = _mm256_set1_epi32(high);
      prefetch(blocks + 128 * w);
      prefetch(blocks + 128 * w + 64);
      for (int i = 0; i < 4; i++) sums[i] = dot4(sums[i], blocks + 128 * w + 32 * i, low_weights, high_weights);
    }
    n += pass(query, sums, blocks + BSV_BLOCK_ROWS * code_bytes, allowed ? allowed[block] : ~0u, limit,
              first_slot + (uint32_t)(BSV_BLOCK_ROWS * block), out + n);
  }
  return n;
}

static uint64_t read_bytes(const void *p, size_t n) {
  const uint8_t *bytes = p;
  __m256i s0 = _mm256_setzero_si256(), s1 = s0, s2 = s0, s3 = s0;
  size_t i = 0;
  for (; i + 128 <= n; i += 128) {
    prefetch(bytes + i);
    prefetch(bytes + i + 64);
    s0 = _mm256_xor_si256(s0, load256(bytes + i));
    s1 = _mm256_xor_si256(s1, load256(bytes + i + 32));
    s2 = _mm256_xor_si256(s2, load256(bytes + i + 64));
    s3 = _mm256_xor_si256(s3, load256(bytes + i + 96));
  }
  uint64_t words[4], sum = 0;
  _mm256_storeu_si256((__m256i *)(void *)words, _mm256_xor_si256(_mm256_xor_si256(s0, s1), _mm256_xor_si256(s2, s3)));
  for (; i < n; i++) sum ^= bytes[i];
  return sum ^ words[0] ^ words[1] ^ words[2] ^ words[3];
}

const bsv_kernels bsv_kernels_avx2 = {
    .name = "avx2",
    .f32 = {dot_f32, l2sq_f32, l1_f32, dot_sq_f32},
    .f16 = {dot_f16, l2sq_f16, l1_f16, dot_sq_f16},
    .bf16 = {dot_bf16, l2sq_bf16, l1_bf16, dot_sq_bf16},
    .i8 = {dot_i8, l2sq_i8, l1_i8, dot_sq_i8},
    .u8 = {dot_u8, l2sq_u8, l1_u8, dot_sq_u8},
    .hamming = hamming,
    .coarse1 = coarse1,
    .coarse4 = coarse4,
    .signs = bsv_signs_x86,
    .levels = bsv_levels_x86,
    .arrange1 = bsv_arrange32,
    .read = read_bytes,
    .hadamard = bsv_hadamard,
};

#else
typedef int bsv_kernels_avx2_is_empty_here; /* ISO C wants a declaration in every file */
#endif
