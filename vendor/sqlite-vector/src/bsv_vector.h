/*
** Vectors as bytes: element types, metrics, conversions, and the distance of a query to a row.
**
** Nothing here knows tables or connections; sqlite3_malloc is all that is used of SQLite.
*/
#ifndef BSV_VECTOR_H
#define BSV_VECTOR_H

#include <stddef.h>
#include <stdint.h>

#include "bsv_kernels.h"

typedef enum bsv_type { BSV_F32, BSV_F16, BSV_BF16, BSV_I8, BSV_U8, BSV_BIT } bsv_type;

typedef enum bsv_metric { BSV_L2, BSV_L2SQ, BSV_L1, BSV_COSINE, BSV_DOT, BSV_HAMMING } bsv_metric;

const char *bsv_type_name(bsv_type type);
/* Case-insensitive, with the synonyms of docs/vector.md. Returns 0 and leaves `type` when unknown. */
int bsv_type_parse(const char *text, size_t n, bsv_type *type);
const char *bsv_metric_name(bsv_metric metric);
int bsv_metric_parse(const char *text, size_t n, bsv_metric *metric);

/* Beyond any BLOB, and small enough that sizes computed from it cannot wrap. */
#define BSV_MAX_DIMENSION (INT64_C(1) << 40)

/* Bytes of a vector of `dim` elements, at most BSV_MAX_DIMENSION. */
uint64_t bsv_vector_bytes(bsv_type type, uint64_t dim);

/* Elements to float: exact for every type; a bit becomes 0 or 1. */
void bsv_to_f32(bsv_type type, const void *vector, size_t dim, float *out);

/*
** A query prepared for one type and metric. `row` of bsv_query_distance() is a stored vector of the
** same type and dimension, at any alignment.
*/
typedef struct bsv_query {
  const bsv_kernels *kernels;
  bsv_type type;
  bsv_metric metric;
  int normalized; /* cosine of float32 rows that the caller promised to be of unit length */
  size_t dim;
  size_t bytes;
  uint8_t *raw; /* owned: the query as stored vectors are */
  float *f32;   /* owned, inside the allocation of `raw`: the query as floats */
  float norm;   /* its Euclidean length */
} bsv_query;

/* Copies `vector` (bsv_vector_bytes() bytes). SQLITE_OK or SQLITE_NOMEM; clear it in both cases. */
int bsv_query_init(bsv_query *query, const bsv_kernels *kernels, bsv_type type, bsv_metric metric, int normalized,
                   const void *vector, size_t dim);
void bsv_query_clear(bsv_query *query);

/*
** The distance in float32, lower is nearer. L2 is the root, L2SQ is not; COSINE is 1 - cos clamped
** to [0, 2], and 1 when either vector is zero; DOT is the negated product; a BIT type counts
** differing bits whatever the metric. NaN and infinity in the row give NaN or infinity.
*/
float bsv_query_distance(const bsv_query *query, const void *row);

#endif
