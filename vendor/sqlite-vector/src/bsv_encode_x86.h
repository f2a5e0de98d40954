/* Loops of the encoder for x86-64 with AVX2, shared by the two kernel files that have it. */
#ifndef BSV_ENCODE_X86_H
#define BSV_ENCODE_X86_H

#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>

static inline float bsv_sum256(__m256 x) {
  __m128 s = _mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
  s = _mm_add_ps(s, _mm_movehl_ps(s, s));
  return _mm_cvtss_f32(_mm_add_ss(s, _mm_movehdup_ps(s)));
}

static float bsv_signs_x86(const float *z, size_t n, uint8_t *code) {
  const __m256 sign = _mm256_set1_ps(-0.0f);
  __m256 sum = _mm256_setzero_ps();
  for (size_t i = 0; i < n; i += 8) {
    __m256 x = _mm256_loadu_ps(z + i);
    code[i / 8] = (uint8_t)_mm256_movemask_ps(_mm256_cmp_ps(x, _mm256_setzero_ps(), _CMP_GE_OQ));
    sum = _mm256_add_ps(sum, _mm256_andnot_ps(sign, x));
  }
  return bsv_sum256(sum);
}

static float bsv_levels_x86(const float *z, size_t n, float inverse, float *yy) {
  const __m256 scale = _mm256_set1_ps(inverse), eight = _mm256_set1_ps(8), top = _mm256_set1_ps(15);
  const __m256 middle = _mm256_set1_ps(7.5f);
  __m256 dots = _mm256_setzero_ps(), squares = dots;
  for (size_t i = 0; i < n; i += 8) {
    __m256 x = _mm256_loadu_ps(z + i);
    __m256 level = _mm256_add_ps(_mm256_mul_ps(x, scale), eight);
    level = _mm256_min_ps(_mm256_max_ps(level, _mm256_setzero_ps()), top);
    __m256 y = _mm256_sub_ps(_mm256_round_ps(level, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC), middle);
    dots = _mm256_fmadd_ps(y, x, dots);
    squares = _mm256_fmadd_ps(y, y, squares);
  }
  *yy = bsv_sum256(squares);
  return bsv_sum256(dots);
}

#endif
