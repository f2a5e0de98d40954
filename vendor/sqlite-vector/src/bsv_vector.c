/* Names of types and metrics, element conversion, and the distance of a query to a row. */
#include "bsv_vector.h"

#include <math.h>
#include <string.h>

#include "bsv_float16.h"
#include "bsv_sqlite.h"

typedef struct name_entry {
  const char *name;
  int value;
} name_entry;

/* The first name of each value is the one that messages use. */
static const name_entry type_names[] = {
    {"FLOAT32", BSV_F32}, {"F32", BSV_F32},   {"FLOAT16", BSV_F16}, {"F16", BSV_F16}, {"FLOATB16", BSV_BF16},
    {"BF16", BSV_BF16},   {"INT8", BSV_I8},   {"I8", BSV_I8},       {"UINT8", BSV_U8}, {"U8", BSV_U8},
    {"BIT", BSV_BIT},     {"1BIT", BSV_BIT},  {"BINARY", BSV_BIT},
};

static const name_entry metric_names[] = {
    {"L2", BSV_L2},           {"EUCLIDEAN", BSV_L2}, {"SQUARED_L2", BSV_L2SQ}, {"L1", BSV_L1},          {"MANHATTAN", BSV_L1},
    {"COSINE", BSV_COSINE},   {"DOT", BSV_DOT},      {"INNER", BSV_DOT},       {"HAMMING", BSV_HAMMING},
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static int find_name(const name_entry *entries, size_t count, const char *text, size_t n, int *value) {
  for (size_t i = 0; i < count; i++) {
    if (strlen(entries[i].name) == n && sqlite3_strnicmp(entries[i].name, text, (int)n) == 0) {
      *value = entries[i].value;
      return 1;
    }
  }
  return 0;
}

static const char *name_of(const name_entry *entries, size_t count, int value) {
  for (size_t i = 0; i < count; i++) {
    if (entries[i].value == value) return entries[i].name;
  }
  return "?";
}

const char *bsv_type_name(bsv_type type) { return name_of(type_names, COUNT(type_names), type); }

int bsv_type_parse(const char *text, size_t n, bsv_type *type) {
  int value;
  if (!find_name(type_names, COUNT(type_names), text, n, &value)) return 0;
  *type = (bsv_type)value;
  return 1;
}

const char *bsv_metric_name(bsv_metric metric) { return name_of(metric_names, COUNT(metric_names), metric); }

int bsv_metric_parse(const char *text, size_t n, bsv_metric *metric) {
  int value;
  if (!find_name(metric_names, COUNT(metric_names), text, n, &value)) return 0;
  *metric = (bsv_metric)value;
  return 1;
}

uint64_t bsv_vector_bytes(bsv_type type, uint64_t dim) {
  switch (type) {
    case BSV_F32:
      return dim * 4;
    case BSV_F16:
    case BSV_BF16:
      return dim * 2;
    case BSV_I8:
    case BSV_U8:
      return dim;
    case BSV_BIT:
      break;
  }
  return dim / 8 + (dim % 8 != 0);
}

void bsv_to_f32(bsv_type type, const void *vector, size_t dim, float *out) {
  const uint8_t *bytes = vector;
  uint16_t half;
  switch (type) {
    case BSV_F32:
      if (dim > 0) memcpy(out, bytes, dim * sizeof(float));
      break;
    case BSV_F16:
      for (size_t i = 0; i < dim; i++) {
        memcpy(&half, bytes + 2 * i, 2);
        out[i] = bsv_f16_to_f32(half);
      }
      break;
    case BSV_BF16:
      for (size_t i = 0; i < dim; i++) {
        memcpy(&half, bytes + 2 * i, 2);
        out[i] = bsv_bf16_to_f32(half);
      }
      break;
    case BSV_I8:
      for (size_t i = 0; i < dim; i++) out[i] = (float)(int8_t)bytes[i];
      break;
    case BSV_U8:
      for (size_t i = 0; i < dim; i++) out[i] = (float)bytes[i];
      break;
    case BSV_BIT:
      for (size_t i = 0; i < dim; i++) out[i] = (float)(bytes[i / 8] >> i % 8 & 1);
      break;
  }
}

int bsv_query_init(bsv_query *query, const bsv_kernels *kernels, bsv_type type, bsv_metric metric, int normalized,
                   const void *vector, size_t dim) {
  memset(query, 0, sizeof *query);
  query->kernels = kernels;
  query->type = type;
  query->metric = type == BSV_BIT ? BSV_HAMMING : metric;
  query->normalized = normalized && type == BSV_F32 && metric == BSV_COSINE;
  query->dim = dim;
  query->bytes = (size_t)bsv_vector_bytes(type, dim);
  /* Only the bit kernel reads the raw bytes alone; all others fit in the same allocation. */
  size_t float_bytes = type == BSV_BIT ? 0 : dim * sizeof(float);
  uint8_t *memory = sqlite3_malloc64(float_bytes + query->bytes + 1);
  if (memory == NULL) return SQLITE_NOMEM;
  query->f32 = (float *)(void *)memory; /* first, so that it is aligned */
  query->raw = memory + float_bytes;
  memcpy(query->raw, vector, query->bytes);
  if (type == BSV_BIT) return SQLITE_OK;
  bsv_to_f32(type, vector, dim, query->f32);
  double sum = 0;
  for (size_t i = 0; i < dim; i++) sum += (double)query->f32[i] * query->f32[i];
  query->norm = (float)sqrt(sum);
  if (query->normalized && query->norm > 0) {
    for (size_t i = 0; i < dim; i++) query->f32[i] /= query->norm;
  }
  return SQLITE_OK;
}

void bsv_query_clear(bsv_query *query) {
  sqlite3_free(query->f32);
  memset(query, 0, sizeof *query);
}

static const bsv_float_kernels *float_kernels(const bsv_query *query) {
  if (query->type == BSV_F32) return &query->kernels->f32;
  return query->type == BSV_F16 ? &query->kernels->f16 : &query->kernels->bf16;
}

/* NaN passes through: it is neither below 0 nor above 2. */
static float clamp_cosine_distance(float distance) {
  if (distance < 0) return 0;
  return distance > 2 ? 2 : distance;
}

static float cosine_distance(float dot, float query_norm, double row_sq) {
  if (query_norm == 0 || row_sq == 0) return 1;
  return clamp_cosine_distance(1 - dot / (query_norm * (float)sqrt(row_sq)));
}

static float float_distance(const bsv_query *query, const void *row) {
  const bsv_float_kernels *kernels = float_kernels(query);
  float sq;
  switch (query->metric) {
    case BSV_L2:
      return sqrtf(kernels->l2sq(query->f32, row, query->dim));
    case BSV_L2SQ:
      return kernels->l2sq(query->f32, row, query->dim);
    case BSV_L1:
      return kernels->l1(query->f32, row, query->dim);
    case BSV_COSINE:
      if (query->normalized) return clamp_cosine_distance(1 - kernels->dot(query->f32, row, query->dim));
      sq = 0;
      {
        float dot = kernels->dot_sq(query->f32, row, query->dim, &sq);
        return cosine_distance(dot, query->norm, sq);
      }
    default:
      return -kernels->dot(query->f32, row, query->dim);
  }
}

/* Sums an integer kernel over pieces that its accumulator is safe for. */
static int64_t sum_pieces(bsv_int_kernel kernel, const uint8_t *a, const uint8_t *b, size_t n) {
  int64_t sum = 0;
  for (size_t i = 0; i < n; i += BSV_INT_BLOCK) {
    sum += kernel(a + i, b + i, n - i < BSV_INT_BLOCK ? n - i : BSV_INT_BLOCK);
  }
  return sum;
}

static float int_distance(const bsv_query *query, const uint8_t *row) {
  const bsv_int_kernels *kernels = query->type == BSV_I8 ? &query->kernels->i8 : &query->kernels->u8;
  switch (query->metric) {
    case BSV_L2:
      return sqrtf((float)sum_pieces(kernels->l2sq, query->raw, row, query->dim));
    case BSV_L2SQ:
      return (float)sum_pieces(kernels->l2sq, query->raw, row, query->dim);
    case BSV_L1:
      return (float)sum_pieces(kernels->l1, query->raw, row, query->dim);
    case BSV_COSINE: {
      int64_t dot = 0, sq = 0;
      for (size_t i = 0; i < query->dim; i += BSV_INT_BLOCK) {
        int32_t piece_sq;
        size_t n = query->dim - i < BSV_INT_BLOCK ? query->dim - i : BSV_INT_BLOCK;
        dot += kernels->dot_sq(query->raw + i, row + i, n, &piece_sq);
        sq += piece_sq;
      }
      return cosine_distance((float)dot, query->norm, (double)sq);
    }
    default:
      return -(float)sum_pieces(kernels->dot, query->raw, row, query->dim);
  }
}

float bsv_query_distance(const bsv_query *query, const void *row) {
  if (query->type == BSV_BIT) return (float)query->kernels->hamming(query->raw, row, query->bytes);
  if (query->type == BSV_I8 || query->type == BSV_U8) return int_distance(query, row);
  return float_distance(query, row);
}
