/*
** Our own quantizer: codes of 1 or 4 bits per dimension with an unbiased estimate of the distance.
**
** RaBitQ: Gao and Long, SIGMOD 2024 (1 bit), and its extension to more bits, Gao et al., SIGMOD 2025.
** What is here is bytes and numbers; where codes are stored and scanned is elsewhere.
*/
#ifndef BSV_RABITQ_H
#define BSV_RABITQ_H

#include "bsv_coarse.h"
#include "bsv_kernels.h"
#include "bsv_vector.h"

/* What distance a row's factors serve. Cosine rows are brought to unit length before coding. */
typedef enum bsv_coding { BSV_CODING_L2 = 1, BSV_CODING_DOT = 2, BSV_CODING_COSINE = 3 } bsv_coding;

/* The coding for a metric; 0 when there is none (L1, HAMMING, or a column of bits). */
bsv_coding bsv_coding_for(bsv_type type, bsv_metric metric, int normalized);

/* What rows and queries of one column are coded with. */
typedef struct bsv_rabitq {
  const bsv_kernels *kernels;
  unsigned bits; /* 1 or 4 */
  bsv_coding coding;
  size_t dim;
  size_t padded;     /* dim, rounded up to a multiple of 8: elements that are coded */
  size_t code_bytes; /* padded * bits / 8 */
  float *mean;       /* dim floats, owned */
  float *signs;      /* of the rotation: one pass per round, owned in the same allocation */
} bsv_rabitq;

/* SQLITE_OK or SQLITE_NOMEM. `mean` (dim floats) is copied. Clear it in both cases. */
int bsv_rabitq_init(bsv_rabitq *rabitq, const bsv_kernels *kernels, unsigned bits, bsv_coding coding, size_t dim,
                    const float *mean);
void bsv_rabitq_clear(bsv_rabitq *rabitq);

/* Bytes of a stored code: code_bytes, then f and h as bfloat16. */
static inline size_t bsv_rabitq_payload(unsigned bits, size_t dim) { return (dim + 7) / 8 * bits + 4; }

/*
** Codes one row. `vector` is dim floats and is not changed; `scratch` is room for 2 * padded floats.
** `*noise` gets the part of S, per unit length of the rotated query, that the code cannot see:
** the standard deviation of the estimated S. A row with an infinity or a NaN gets factors that
** keep it out of all candidates, or, where its exact distance may be the lowest, in all of them.
*/
void bsv_rabitq_encode(const bsv_rabitq *rabitq, const float *vector, float *scratch, uint8_t *payload, float *noise);

/* A query ready for the coarse kernels. */
typedef struct bsv_rabitq_query {
  bsv_coarse_query coarse;
  float length; /* of the rotated query */
  void *memory;
} bsv_rabitq_query;

/*
** `vector` is dim floats. `margin` is subtracted from every estimate, in standard deviations: with 0
** the estimates are unbiased, above it they are lower bounds with that confidence. `noise` is the
** mean of what bsv_rabitq_encode() reported. SQLITE_OK or SQLITE_NOMEM; clear it in both cases.
*/
int bsv_rabitq_query_init(bsv_rabitq_query *query, const bsv_rabitq *rabitq, const float *vector, float margin, float noise);
void bsv_rabitq_query_clear(bsv_rabitq_query *query);

/*
** Arranges payloads as blocks (bsv_coarse.h). Row i's payload is at `payloads + i * stride`. The rows
** that fill up the last block get factors that no limit lets through. `blocks` is room for
** ceil(n / 32) blocks.
*/
void bsv_rabitq_arrange(const bsv_kernels *kernels, unsigned bits, size_t code_bytes, const uint8_t *payloads, size_t stride, size_t n, uint8_t *blocks);

#endif
