/*
** RaBitQ coding of rows and queries.
**
** A row x is coded as r = x - mean, rotated to z = P r. Its code is y: for 1 bit the signs of z, for
** 4 bits z rounded to y = c - 7.5 in steps that suit the row. With f = |r|^2 / <y, z> the product
** f * <y, P q'> is an unbiased estimate of <r, q'> for any query q' = q - mean (the error is at right
** angles to z, and the rotation makes its direction random). What is left of the distance is either
** the query's alone (base) or the row's alone (h):
**
**   DOT     -<x, q>      base = -<mean, q>       h = -<r, mean>   f as above
**   COSINE  1 - <x, q>   base = 1 - <mean, q>    h = -<r, mean>   f as above, x and q of unit length
**   L2      |x - q|^2    base = |q - mean|^2     h = |r|^2        twice the f above
*/
#include "bsv_rabitq.h"

#include <math.h>
#include <string.h>

#include "bsv_float16.h"
#include "bsv_sqlite.h"

/*
** The rotation: in each round every element's sign is flipped or not, at random but fixed, and a
** Walsh-Hadamard transform is applied to the longest power of two at the front (even rounds) or the
** back (odd rounds). The two windows overlap by more than half, so that after four rounds every
** element has reached every other. It costs n log n additions, and no padding of the code.
*/
#define ROUNDS 4
#define ROTATION_SEED UINT64_C(0x6265617273656172) /* any number; codes are only comparable for one of them */

bsv_coding bsv_coding_for(bsv_type type, bsv_metric metric, int normalized) {
  if (type == BSV_BIT) return 0;
  switch (metric) {
    case BSV_L2:
    case BSV_L2SQ:
      return BSV_CODING_L2;
    case BSV_DOT:
      return BSV_CODING_DOT;
    case BSV_COSINE: /* rows that are promised to be of unit length are taken as they are */
      return normalized && type == BSV_F32 ? BSV_CODING_DOT : BSV_CODING_COSINE;
    default:
      return 0;
  }
}

static unsigned window_log2(size_t n) {
  unsigned log2n = 3;
  while (((size_t)2 << log2n) <= n) log2n++;
  return log2n;
}

static uint64_t splitmix64(uint64_t *state) {
  uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));
  z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
  return z ^ z >> 31;
}

int bsv_rabitq_init(bsv_rabitq *rabitq, const bsv_kernels *kernels, unsigned bits, bsv_coding coding, size_t dim,
                    const float *mean) {
  memset(rabitq, 0, sizeof *rabitq);
  rabitq->kernels = kernels;
  rabitq->bits = bits;
  rabitq->coding = coding;
  rabitq->dim = dim;
  rabitq->padded = (dim + 7) / 8 * 8;
  rabitq->code_bytes = rabitq->padded / 8 * bits;
  rabitq->mean = sqlite3_malloc64((dim + ROUNDS * rabitq->padded) * sizeof(float));
  if (rabitq->mean == NULL) return SQLITE_NOMEM;
  memcpy(rabitq->mean, mean, dim * sizeof(float));
  rabitq->signs = rabitq->mean + dim;

  size_t n = rabitq->padded, window = (size_t)1 << window_log2(n);
  float norm = 1.0f / sqrtf((float)window); /* the transform is orthogonal but for this factor */
  uint64_t state = ROTATION_SEED, random = 0;
  for (int round = 0; round < ROUNDS; round++) {
    size_t from = round % 2 ? n - window : 0;
    for (size_t i = 0; i < n; i++) {
      if (i % 64 == 0) random = splitmix64(&state);
      float size = i >= from && i < from + window ? norm : 1.0f;
      rabitq->signs[(size_t)round * n + i] = random >> i % 64 & 1 ? -size : size;
    }
  }
  return SQLITE_OK;
}

void bsv_rabitq_clear(bsv_rabitq *rabitq) {
  sqlite3_free(rabitq->mean);
  memset(rabitq, 0, sizeof *rabitq);
}

/* Rotates `padded` floats in place. */
static void rotate(const bsv_rabitq *rabitq, float *x) {
  size_t n = rabitq->padded;
  unsigned log2n = window_log2(n);
  for (int round = 0; round < ROUNDS; round++) {
    const float *signs = rabitq->signs + (size_t)round * n;
    for (size_t i = 0; i < n; i++) x[i] *= signs[i];
    rabitq->kernels->hadamard(x + (round % 2 ? n - ((size_t)1 << log2n) : 0), log2n);
  }
}

static float dot(const bsv_rabitq *rabitq, const float *a, const float *b, size_t n) {
  return rabitq->kernels->f32.dot(a, b, n);
}

/* ---- rows ----------------------------------------------------------------------------------- */

static void put_u16(uint8_t *out, uint16_t x) {
  out[0] = (uint8_t)x; /* little-endian, as stored */
  out[1] = (uint8_t)(x >> 8);
}

/* The level of an element in steps of 1 / inverse, 0 to 15. */
static inline int level_of(float z, float inverse) {
  float level = z * inverse + 8.0f;
  level = level < 0 ? 0 : level;
  level = level > 15 ? 15 : level;
  return (int)level;
}

/*
** 4 bits: tries step sizes around the one that is best for normally distributed elements (0.3352
** standard deviations for 16 levels: Max, 1960) and keeps that whose code is nearest in angle.
** Returns <y, z> and writes <y, y>.
*/
static double code_levels(const bsv_kernels *kernels, const float *z, size_t n, double length, uint8_t *code, double *yy) {
  static const float steps[] = {0.24f, 0.28f, 0.31f, 0.3352f, 0.37f, 0.42f};
  double best = -1, best_yz = 0;
  float best_inverse = 0, deviation = (float)(length / sqrt((double)n));
  for (size_t s = 0; s < sizeof steps / sizeof steps[0]; s++) {
    float inverse = 1.0f / (steps[s] * deviation), sum_yy;
    double sum_yz = (double)kernels->levels(z, n, inverse, &sum_yy);
    if (sum_yz * sum_yz > best * (double)sum_yy) {
      best = sum_yz * sum_yz / (double)sum_yy;
      best_yz = sum_yz;
      best_inverse = inverse;
      *yy = (double)sum_yy;
    }
  }
  for (size_t i = 0; i < n; i += 8) {
    for (size_t b = 0; b < 4; b++) {
      code[i / 2 + b] = (uint8_t)(level_of(z[i + b], best_inverse) | level_of(z[i + 4 + b], best_inverse) << 4);
    }
  }
  return best_yz;
}

void bsv_rabitq_encode(const bsv_rabitq *rabitq, const float *vector, float *scratch, uint8_t *payload, float *noise) {
  size_t dim = rabitq->dim, n = rabitq->padded;
  float *z = scratch;
  double f = 0, h = 0, scale = 1;
  *noise = 0;
  if (rabitq->coding == BSV_CODING_COSINE) {
    double length = sqrt((double)dot(rabitq, vector, vector, dim));
    if (length > 0) scale = 1 / length;
  }
  for (size_t i = 0; i < dim; i++) z[i] = vector[i] * (float)scale - rabitq->mean[i];
  for (size_t i = dim; i < n; i++) z[i] = 0;
  double rr = (double)dot(rabitq, z, z, dim), rm = (double)dot(rabitq, z, rabitq->mean, dim);
  memset(payload, 0, rabitq->code_bytes);
  if (!isfinite(rr)) {
    /* Only a negated inner product can be low for such a row; then the exact stage has to see it. */
    h = rabitq->coding == BSV_CODING_DOT ? -INFINITY : INFINITY;
  } else {
    h = rabitq->coding == BSV_CODING_L2 ? rr : -rm;
    if (rr > 0) {
      double yy = (double)n, yz;
      rotate(rabitq, z);
      if (rabitq->bits == 1) {
        yz = (double)rabitq->kernels->signs(z, n, payload);
      } else {
        yz = code_levels(rabitq->kernels, z, n, sqrt(rr), payload, &yy);
      }
      f = yz > 0 ? rr / yz : 0;
      double cosine_sq = yz * yz / (yy * rr);
      if (cosine_sq < 1) *noise = (float)sqrt(yy * (1 - cosine_sq) / (double)n);
      if (rabitq->coding == BSV_CODING_L2) f *= 2;
    }
  }
  put_u16(payload + rabitq->code_bytes, bsv_f32_to_bf16((float)f));
  put_u16(payload + rabitq->code_bytes + 2, bsv_f32_to_bf16((float)h));
}

/* ---- queries -------------------------------------------------------------------------------- */

/*
** Tables for the sign codes: each half byte of code selects one of 16 sums of four elements with
** signs. All are moved to start at 0 and scaled to at most BSV_LUT_MAX with one common factor.
*/
static void make_tables(bsv_coarse_query *coarse, const float *q, size_t n, uint8_t *lut) {
  float widest = 0, bias = 0;
  for (size_t i = 0; i < n; i += 4) {
    float size = fabsf(q[i]) + fabsf(q[i + 1]) + fabsf(q[i + 2]) + fabsf(q[i + 3]);
    bias -= size;
    if (2 * size > widest) widest = 2 * size;
  }
  float inverse = widest > 0 ? BSV_LUT_MAX / widest : 0;
  coarse->scale = widest / BSV_LUT_MAX;
  coarse->bias = bias;
  coarse->lut = lut;
  for (size_t group = 0; group < n / 4; group++) {
    const float *e = q + 4 * group;
    uint8_t *table = lut + BSV_LUT_STRIDE * (group / 2 + (group % 2 ? n / 8 : 0));
    float lowest = -(fabsf(e[0]) + fabsf(e[1]) + fabsf(e[2]) + fabsf(e[3]));
    float pairs[2][4] = {{-e[0] - e[1], e[0] - e[1], -e[0] + e[1], e[0] + e[1]},
                         {-e[2] - e[3], e[2] - e[3], -e[2] + e[3], e[2] + e[3]}};
    for (int code = 0; code < 16; code++) {
      table[code] = (uint8_t)((pairs[0][code & 3] + pairs[1][code >> 2] - lowest) * inverse + 0.5f);
    }
    memcpy(table + 16, table, 16);
  }
}

/* Weights for the 4-bit codes: the query in 8 bits. S = sum of (c - 7.5) * q, with q = step * weight. */
static void make_weights(bsv_coarse_query *coarse, const float *q, size_t n, int8_t *weights) {
  float largest = 0, step;
  int64_t sum = 0;
  for (size_t i = 0; i < n; i++) largest = fmaxf(largest, fabsf(q[i]));
  step = largest / 127.0f;
  for (size_t i = 0; i < n; i++) {
    weights[i] = step > 0 ? (int8_t)lrintf(q[i] / step) : 0;
    sum += weights[i];
  }
  coarse->scale = step;
  coarse->bias = -7.5f * step * (float)sum;
  coarse->weights = weights;
}

int bsv_rabitq_query_init(bsv_rabitq_query *query, const bsv_rabitq *rabitq, const float *vector, float margin, float noise) {
  size_t dim = rabitq->dim, n = rabitq->padded;
  size_t table_bytes = rabitq->bits == 1 ? n / 8 * 2 * BSV_LUT_STRIDE : n;
  memset(query, 0, sizeof *query);
  query->memory = sqlite3_malloc64(n * sizeof(float) + table_bytes);
  if (query->memory == NULL) return SQLITE_NOMEM;
  float *q = query->memory;
  double scale = 1;
  if (rabitq->coding == BSV_CODING_COSINE) {
    double length = sqrt((double)dot(rabitq, vector, vector, dim));
    if (length > 0) scale = 1 / length;
  }
  for (size_t i = 0; i < dim; i++) q[i] = vector[i] * (float)scale;
  for (size_t i = dim; i < n; i++) q[i] = 0;
  float qm = dot(rabitq, q, rabitq->mean, dim);
  for (size_t i = 0; i < dim; i++) q[i] -= rabitq->mean[i];
  float qq = dot(rabitq, q, q, dim);
  query->length = sqrtf(qq);
  query->coarse.code_bytes = rabitq->code_bytes;
  query->coarse.base = rabitq->coding == BSV_CODING_L2 ? qq : rabitq->coding == BSV_CODING_DOT ? -qm : 1 - qm;
  rotate(rabitq, q);
  if (rabitq->bits == 1) {
    make_tables(&query->coarse, q, n, (uint8_t *)(q + n));
  } else {
    make_weights(&query->coarse, q, n, (int8_t *)(q + n));
  }
  query->coarse.bias += margin * noise * query->length; /* a larger S is a lower estimate, whatever f is */
  return SQLITE_OK;
}

void bsv_rabitq_query_clear(bsv_rabitq_query *query) {
  sqlite3_free(query->memory);
  memset(query, 0, sizeof *query);
}

/* ---- blocks --------------------------------------------------------------------------------- */

/* Factors of a row that is not there: its estimate is infinite. */
static const uint8_t absent_factors[4] = {0x00, 0x00, 0x80, 0x7f};

static void arrange_row(unsigned bits, size_t code_bytes, const uint8_t *payload, unsigned row, uint8_t *block) {
  if (bits == 1) {
    uint8_t *out = block + bsv_block_position(row);
    for (size_t j = 0; j < code_bytes; j++) out[BSV_BLOCK_ROWS * j] = payload ? payload[j] : 0;
  } else {
    static const uint8_t zero[4] = {0};
    uint8_t *out = block + 4 * row;
    for (size_t j = 0; j < code_bytes; j += 4) memcpy(out + BSV_BLOCK_ROWS * j, payload ? payload + j : zero, 4);
  }
}

void bsv_rabitq_arrange(const bsv_kernels *kernels, unsigned bits, size_t code_bytes, const uint8_t *payloads, size_t stride,
                        size_t n, uint8_t *blocks) {
  for (size_t first = 0; first < n; first += BSV_BLOCK_ROWS, blocks += bsv_block_bytes(code_bytes)) {
    uint8_t *factors = blocks + BSV_BLOCK_ROWS * code_bytes;
    int whole = bits == 1 && n - first >= BSV_BLOCK_ROWS;
    if (whole) kernels->arrange1(payloads + first * stride, stride, code_bytes, blocks);
    for (unsigned i = 0; i < BSV_BLOCK_ROWS; i++) {
      const uint8_t *payload = first + i < n ? payloads + (first + i) * stride : NULL;
      const uint8_t *from = payload ? payload + code_bytes : absent_factors;
      if (!whole) arrange_row(bits, code_bytes, payload, i, blocks);
      memcpy(factors + 2 * i, from, 2);
      memcpy(factors + 64 + 2 * i, from + 2, 2);
    }
  }
}
