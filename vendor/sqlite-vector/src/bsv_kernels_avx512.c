/*
** Kernels for x86-64 with AVX-512 (F, BW, DQ, VL, VNNI, VBMI, VPOPCNTDQ). This file alone is
** compiled with those flags. Tails are masked loads, which read no byte past the end.
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

static inline __mmask16 tail16(size_t n) { return (__mmask16)(n >= 16 ? 0xffff : (1u << n) - 1); }
static inline __mmask32 tail32(size_t n) { return (__mmask32)(n >= 32 ? 0xffffffffu : (1u << n) - 1); }
static inline __mmask64 tail64(size_t n) { return n >= 64 ? ~UINT64_C(0) : (UINT64_C(1) << n) - 1; }

static inline __m512 load_f32(__mmask16 mask, const unsigned char *row) { return _mm512_maskz_loadu_ps(mask, row); }

static inline __m512 load_f16(__mmask16 mask, const unsigned char *row) {
  return _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(mask, row));
}

static inline __m512 load_bf16(__mmask16 mask, const unsigned char *row) {
  return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(mask, row)), 16));
}

static inline __m512 add_dot(__m512 sum, __m512 q, __m512 x) { return _mm512_fmadd_ps(q, x, sum); }

static inline __m512 add_l2sq(__m512 sum, __m512 q, __m512 x) {
  __m512 d = _mm512_sub_ps(q, x);
  return _mm512_fmadd_ps(d, d, sum);
}

static inline __m512 add_l1(__m512 sum, __m512 q, __m512 x) { return _mm512_add_ps(sum, _mm512_abs_ps(_mm512_sub_ps(q, x))); }

#define FLOAT_KERNEL(METRIC, TYPE, SIZE)                                                                  \
  static float METRIC##_##TYPE(const float *query, const void *row, size_t n) {                           \
    const unsigned char *x = row;                                                                         \
    __m512 s0 = _mm512_setzero_ps(), s1 = s0;                                                             \
    size_t i = 0;                                                                                         \
    for (; i + 32 <= n; i += 32) {                                                                        \
      s0 = add_##METRIC(s0, _mm512_loadu_ps(query + i), load_##TYPE(0xffff, x + SIZE * i));               \
      s1 = add_##METRIC(s1, _mm512_loadu_ps(query + i + 16), load_##TYPE(0xffff, x + SIZE * (i + 16)));   \
    }                                                                                                     \
    for (; i < n; i += 16) {                                                                              \
      __mmask16 mask = tail16(n - i);                                                                     \
      s0 = add_##METRIC(s0, _mm512_maskz_loadu_ps(mask, query + i), load_##TYPE(mask, x + SIZE * i));     \
    }                                                                                                     \
    return _mm512_reduce_add_ps(_mm512_add_ps(s0, s1));                                                   \
  }

#define DOT_SQ_KERNEL(TYPE, SIZE)                                                                         \
  static float dot_sq_##TYPE(const float *query, const void *row, size_t n, float *sq) {                  \
    const unsigned char *x = row;                                                                         \
    __m512 dots = _mm512_setzero_ps(), squares = dots;                                                    \
    for (size_t i = 0; i < n; i += 16) {                                                                  \
      __mmask16 mask = tail16(n - i);                                                                     \
      __m512 value = load_##TYPE(mask, x + SIZE * i);                                                     \
      dots = _mm512_fmadd_ps(_mm512_maskz_loadu_ps(mask, query + i), value, dots);                        \
      squares = _mm512_fmadd_ps(value, value, squares);                                                   \
    }                                                                                                     \
    *sq = _mm512_reduce_add_ps(squares);                                                                  \
    return _mm512_reduce_add_ps(dots);                                                                    \
  }

#define FLOAT_KERNELS(TYPE, SIZE)  \
  FLOAT_KERNEL(dot, TYPE, SIZE)    \
  FLOAT_KERNEL(l2sq, TYPE, SIZE)   \
  FLOAT_KERNEL(l1, TYPE, SIZE)     \
  DOT_SQ_KERNEL(TYPE, SIZE)

FLOAT_KERNELS(f32, 4)
FLOAT_KERNELS(f16, 2)
FLOAT_KERNELS(bf16, 2)

static inline __m512i widen_i8(__mmask32 mask, const unsigned char *p) {
  return _mm512_cvtepi8_epi16(_mm256_maskz_loadu_epi8(mask, p));
}

static inline __m512i widen_u8(__mmask32 mask, const unsigned char *p) {
  return _mm512_cvtepu8_epi16(_mm256_maskz_loadu_epi8(mask, p));
}

/* Pairs of 16-bit products added to 32 bits: no step can overflow below BSV_INT_BLOCK. */
static inline __m512i products_dot(__m512i sum, __m512i a, __m512i b) { return _mm512_dpwssd_epi32(sum, a, b); }

static inline __m512i products_l2sq(__m512i sum, __m512i a, __m512i b) {
  __m512i d = _mm512_sub_epi16(a, b);
  return _mm512_dpwssd_epi32(sum, d, d);
}

#define INT_KERNEL(METRIC, TYPE)                                                                                     \
  static int32_t METRIC##_##TYPE(const void *a, const void *b, size_t n) {                                           \
    const unsigned char *x = a, *y = b;                                                                              \
    __m512i s0 = _mm512_setzero_si512(), s1 = s0;                                                                    \
    size_t i = 0;                                                                                                    \
    for (; i + 64 <= n; i += 64) {                                                                                   \
      s0 = products_##METRIC(s0, widen_##TYPE(~0u, x + i), widen_##TYPE(~0u, y + i));                                \
      s1 = products_##METRIC(s1, widen_##TYPE(~0u, x + i + 32), widen_##TYPE(~0u, y + i + 32));                      \
    }                                                                                                                \
    for (; i < n; i += 32) {                                                                                         \
      __mmask32 mask = tail32(n - i);                                                                                \
      s0 = products_##METRIC(s0, widen_##TYPE(mask, x + i), widen_##TYPE(mask, y + i));                              \
    }                                                                                                                \
    return _mm512_reduce_add_epi32(_mm512_add_epi32(s0, s1));                                                        \
  }

#define INT_DOT_SQ_KERNEL(TYPE)                                                                                      \
  static int32_t dot_sq_##TYPE(const void *a, const void *b, size_t n, int32_t *sq) {                                \
    const unsigned char *x = a, *y = b;                                                                              \
    __m512i dots = _mm512_setzero_si512(), squares = dots;                                                           \
    size_t i = 0;                                                                                                    \
    for (; i + 32 <= n; i += 32) {                                                                                   \
      __m512i value = widen_##TYPE(~0u, y + i);                                                                      \
      dots = products_dot(dots, widen_##TYPE(~0u, x + i), value);                                                    \
      squares = products_dot(squares, value, value);                                                                 \
    }                                                                                                                \
    if (i < n) {                                                                                                     \
      __mmask32 mask = tail32(n - i);                                                                                \
      __m512i value = widen_##TYPE(mask, y + i);                                                                     \
      dots = products_dot(dots, widen_##TYPE(mask, x + i), value);                                                   \
      squares = products_dot(squares, value, value);                                                                 \
    }                                                                                                                \
    *sq = _mm512_reduce_add_epi32(squares);                                                                          \
    return _mm512_reduce_add_epi32(dots);                                                                            \
  }

INT_DOT_SQ_KERNEL(u8)

/*
** Signed bytes without widening them: the instruction multiplies unsigned with signed ones, so b + 128
** takes the place of b, and 128 times the sum of the other factor is taken off. For all pieces up to
** BSV_INT_BLOCK the sums stay below 255 * 128 * 32768 = 2^30.
*/
typedef struct biased_sums {
  __m512i dots, squares, sum_x, sum_y;
} biased_sums;

static inline void add_biased(biased_sums *s, __m512i x, __m512i y, int with_squares) {
  const __m512i flip = _mm512_set1_epi8(-128), ones = _mm512_set1_epi8(1);
  __m512i biased = _mm512_xor_si512(y, flip);
  s->dots = _mm512_dpbusd_epi32(s->dots, biased, x);
  s->sum_x = _mm512_dpbusd_epi32(s->sum_x, ones, x);
  if (!with_squares) return;
  s->squares = _mm512_dpbusd_epi32(s->squares, biased, y);
  s->sum_y = _mm512_dpbusd_epi32(s->sum_y, ones, y);
}

static inline int32_t dot_bytes(const unsigned char *x, const unsigned char *y, size_t n, int32_t *sq) {
  biased_sums s = {_mm512_setzero_si512(), _mm512_setzero_si512(), _mm512_setzero_si512(), _mm512_setzero_si512()};
  size_t i = 0;
  for (; i + 64 <= n; i += 64) add_biased(&s, _mm512_loadu_si512(x + i), _mm512_loadu_si512(y + i), sq != NULL);
  if (i < n) {
    __mmask64 mask = tail64(n - i);
    add_biased(&s, _mm512_maskz_loadu_epi8(mask, x + i), _mm512_maskz_loadu_epi8(mask, y + i), sq != NULL);
  }
  if (sq != NULL) *sq = _mm512_reduce_add_epi32(_mm512_sub_epi32(s.squares, _mm512_slli_epi32(s.sum_y, 7)));
  return _mm512_reduce_add_epi32(_mm512_sub_epi32(s.dots, _mm512_slli_epi32(s.sum_x, 7)));
}

static int32_t dot_sq_i8(const void *a, const void *b, size_t n, int32_t *sq) { return dot_bytes(a, b, n, sq); }
static int32_t dot_i8(const void *a, const void *b, size_t n) { return dot_bytes(a, b, n, NULL); }

INT_KERNEL(dot, u8)
INT_KERNEL(l2sq, i8)
INT_KERNEL(l2sq, u8)

/* |a-b| of unsigned bytes; signed bytes are moved to the unsigned range, where their differences are
** the same. Bytes past the end are equal in both. */
static inline int32_t l1_bytes(const unsigned char *x, const unsigned char *y, size_t n, __m512i flip) {
  __m512i sum = _mm512_setzero_si512();
  for (size_t i = 0; i < n; i += 64) {
    __mmask64 mask = tail64(n - i);
    __m512i u = _mm512_xor_si512(_mm512_maskz_loadu_epi8(mask, x + i), flip);
    __m512i v = _mm512_xor_si512(_mm512_maskz_loadu_epi8(mask, y + i), flip);
    sum = _mm512_add_epi64(sum, _mm512_sad_epu8(u, v));
  }
  return (int32_t)_mm512_reduce_add_epi64(sum);
}

static int32_t l1_i8(const void *a, const void *b, size_t n) { return l1_bytes(a, b, n, _mm512_set1_epi8(-128)); }
static int32_t l1_u8(const void *a, const void *b, size_t n) { return l1_bytes(a, b, n, _mm512_setzero_si512()); }

static uint64_t hamming(const void *a, const void *b, size_t n) {
  const unsigned char *x = a, *y = b;
  __m512i sum = _mm512_setzero_si512();
  for (size_t i = 0; i < n; i += 64) {
    __mmask64 mask = tail64(n - i);
    __m512i differ = _mm512_xor_si512(_mm512_maskz_loadu_epi8(mask, x + i), _mm512_maskz_loadu_epi8(mask, y + i));
    sum = _mm512_add_epi64(sum, _mm512_popcnt_epi64(differ));
  }
  return (uint64_t)_mm512_reduce_add_epi64(sum);
}

/* ---- coarse codes --------------------------------------------------------------------------- */

/* Writes those of 16 rows that pass. The comparison is ordered, so that a NaN fails it. */
static inline size_t pass16(const bsv_coarse_query *query, __m512i sums, const uint8_t *f, const uint8_t *h, uint32_t allowed,
                            float limit, uint32_t slot, bsv_candidate *out) {
  __m512 s = _mm512_fmadd_ps(_mm512_cvtepi32_ps(sums), _mm512_set1_ps(query->scale), _mm512_set1_ps(query->bias));
  __m512 start = _mm512_add_ps(_mm512_set1_ps(query->base), load_bf16(0xffff, h));
  __m512 estimate = _mm512_fnmadd_ps(load_bf16(0xffff, f), s, start);
  uint32_t mask = _mm512_cmp_ps_mask(estimate, _mm512_set1_ps(limit), _CMP_LE_OQ) & allowed;
  if (mask == 0) return 0; /* nearly always, once the limit is tight */
  float estimates[16];
  size_t n = 0;
  _mm512_storeu_ps(estimates, estimate);
  for (; mask; mask &= mask - 1) {
    unsigned i = bsv_lowest_bit(mask);
    out[n].estimate = estimates[i];
    out[n].slot = slot + i;
    n++;
  }
  return n;
}

static inline size_t pass32(const bsv_coarse_query *query, __m512i first, __m512i second, const uint8_t *factors,
                            uint32_t allowed, float limit, uint32_t slot, bsv_candidate *out) {
  size_t n = pass16(query, first, factors, factors + 64, allowed & 0xffff, limit, slot, out);
  return n + pass16(query, second, factors + 32, factors + 96, allowed >> 16, limit, slot + 16, out + n);
}

/* Table entries of two bytes of code (64 positions), low and high halves added. */
static inline __m512i lookups(__m512i code, __m512i low, __m512i high) {
  const __m512i nibble = _mm512_set1_epi8(0x0f);
  __m512i l = _mm512_shuffle_epi8(low, _mm512_and_si512(code, nibble));
  __m512i h = _mm512_shuffle_epi8(high, _mm512_and_si512(_mm512_srli_epi16(code, 4), nibble));
  return _mm512_add_epi8(l, h);
}

static inline __m512i lookups_at(const uint8_t *code, const uint8_t *low, const uint8_t *high) {
  return lookups(_mm512_loadu_si512(code), _mm512_loadu_si512(low), _mm512_loadu_si512(high));
}

static inline void prefetch(const uint8_t *p) { _mm_prefetch((const char *)p + BSV_PREFETCH_BYTES, _MM_HINT_T0); }

/* Adds the two halves, which belong to the same 32 positions. */
static inline __m256i fold(__m512i x) { return _mm256_add_epi16(_mm512_castsi512_si256(x), _mm512_extracti64x4_epi64(x, 1)); }

/*
** Sums table entries of bytes [from, to) in 16 bits. A pair of neighbouring bytes is added as one
** word: the sum of words carries the even positions modulo 2^16 plus 256 times the odd ones, and the
** odd ones are summed on their own, to be taken out at the end.
*/
static inline void sum_lookups(const uint8_t *block, const uint8_t *low, const uint8_t *high, size_t from, size_t to,
                               __m512i *even, __m512i *odd) {
  __m512i words = _mm512_setzero_si512(), odds = words;
  size_t j = from;
  for (; j + 8 <= to; j += 8) {
    const uint8_t *b = block + 32 * j, *l = low + 32 * j, *h = high + 32 * j;
    for (int line = 0; line < 4; line++) prefetch(b + 64 * line);
    __m512i s = _mm512_add_epi8(_mm512_add_epi8(lookups_at(b, l, h), lookups_at(b + 64, l + 64, h + 64)),
                                _mm512_add_epi8(lookups_at(b + 128, l + 128, h + 128), lookups_at(b + 192, l + 192, h + 192)));
    words = _mm512_add_epi16(words, s);
    odds = _mm512_add_epi16(odds, _mm512_srli_epi16(s, 8));
  }
  for (; j < to; j += 2) { /* an odd last byte: the tables of the other half are zero */
    __mmask64 mask = to - j >= 2 ? ~UINT64_C(0) : UINT64_C(0xffffffff);
    __m512i s = lookups(_mm512_maskz_loadu_epi8(mask, block + 32 * j), _mm512_maskz_loadu_epi8(mask, low + 32 * j),
                        _mm512_maskz_loadu_epi8(mask, high + 32 * j));
    words = _mm512_add_epi16(words, s);
    odds = _mm512_add_epi16(odds, _mm512_srli_epi16(s, 8));
  }
  __m256i odd16 = fold(odds);
  __m256i even16 = _mm256_sub_epi16(fold(words), _mm256_slli_epi16(odd16, 8));
  *even = _mm512_cvtepu16_epi32(even16);
  *odd = _mm512_cvtepu16_epi32(odd16);
}

static size_t coarse1(const bsv_coarse_query *query, const uint8_t *blocks, size_t n_blocks, const uint32_t *allowed,
                      float limit, uint32_t first_slot, bsv_candidate *out) {
  size_t n = 0, code_bytes = query->code_bytes;
  const uint8_t *low = query->lut, *high = query->lut + BSV_LUT_STRIDE * code_bytes;
  for (size_t block = 0; block < n_blocks; block++, blocks += bsv_block_bytes(code_bytes)) {
    if (allowed && allowed[block] == 0) continue;
    __m512i first = _mm512_setzero_si512(), second = first;
    for (size_t from = 0; from < code_bytes; from += BSV_LUT_SEGMENT) {
      size_t to = code_bytes - from < BSV_LUT_SEGMENT ? code_bytes : from + BSV_LUT_SEGMENT;
      __m512i even, odd;
      sum_lookups(blocks, low, high, from, to, &even, &odd);
      first = _mm512_add_epi32(first, even);
      second = _mm512_add_epi32(second, odd);
    }
    const uint8_t *factors = blocks + BSV_BLOCK_ROWS * code_bytes;
    prefetch(factors);
    prefetch(factors + 64);
    n += pass32(query, first, second, factors, allowed ? allowed[block] : ~0u, limit,
                first_slot + (uint32_t)(BSV_BLOCK_ROWS * block), out + n);
  }
  return n;
}

static inline __m512i dot4(__m512i sum, const uint8_t *words, __m512i low_weights, __m512i high_weights) {
  const __m512i nibble = _mm512_set1_epi8(0x0f);
  __m512i code = _mm512_loadu_si512(words);
  sum = _mm512_dpbusd_epi32(sum, _mm512_and_si512(code, nibble), low_weights);
  return _mm512_dpbusd_epi32(sum, _mm512_and_si512(_mm512_srli_epi16(code, 4), nibble), high_weights);
}

static size_t coarse4(const bsv_coarse_query *query, const uint8_t *blocks, size_t n_blocks, const uint32_t *allowed,
                      float limit, uint32_t first_slot, bsv_candidate *out) {
  size_t n = 0, code_bytes = query->code_bytes;
  for (size_t block = 0; block < n_blocks; block++, blocks += bsv_block_bytes(code_bytes)) {
    if (allowed && allowed[block] == 0) continue;
    __m512i first = _mm512_setzero_si512(), second = first;
    for (size_t w = 0; w < code_bytes / 4; w++) {
      int32_t low, high;
      memcpy(&low, query->weights + 8 * w, 4);
      memcpy(&high, query->weights + 8 * w + 4, 4);
      __m512i low_weights = _mm512_set1_epi32(low), high_weights = _mm512_set1_epi32(high);
      prefetch(blocks + 128 * w);
      prefetch(blocks + 128 * w + 64);
      first = dot4(first, blocks + 128 * w, low_weights, high_weights);
      second = dot4(second, blocks + 128 * w + 64, low_weights, high_weights);
    }
    n += pass32(query, first, second, blocks + BSV_BLOCK_ROWS * code_bytes, allowed ? allowed[block] : ~0u, limit,
                first_slot + (uint32_t)(BSV_BLOCK_ROWS * block), out + n);
  }
  return n;
}

static uint64_t read_bytes(const void *p, size_t n) {
  const uint8_t *bytes = p;
  __m512i s0 = _mm512_setzero_si512(), s1 = s0;
  size_t i = 0;
  for (; i + 128 <= n; i += 128) {
    prefetch(bytes + i);
    prefetch(bytes + i + 64);
    s0 = _mm512_xor_si512(s0, _mm512_loadu_si512(bytes + i));
    s1 = _mm512_xor_si512(s1, _mm512_loadu_si512(bytes + i + 64));
  }
  uint64_t words[8], sum = 0;
  _mm512_storeu_si512(words, _mm512_xor_si512(s0, s1));
  for (int j = 0; j < 8; j++) sum ^= words[j];
  for (; i < n; i++) sum ^= bytes[i];
  return sum;
}

const bsv_kernels bsv_kernels_avx512 = {
    .name = "avx512",
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
typedef int bsv_kernels_avx512_is_empty_here; /* ISO C wants a declaration in every file */
#endif
