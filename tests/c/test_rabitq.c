/*
** Our own quantizer: estimates are unbiased and as exact as they claim, for every coding, and blocks
** hold what payloads say.
*/
#include <math.h>

#include "bsv_float16.h"
#include "bsv_rabitq.h"
#include "bsv_sqlite.h"
#include "check.h"

/* Nearly normal, by adding four uniform numbers. */
static float next_normal(uint64_t *state) {
  return (next_float(state) + next_float(state) + next_float(state) + next_float(state)) * 0.8660254f;
}

static double exact_distance(bsv_coding coding, const float *x, const float *q, size_t n) {
  double dot = 0, xx = 0, qq = 0, l2 = 0;
  for (size_t i = 0; i < n; i++) {
    dot += (double)x[i] * (double)q[i];
    xx += (double)x[i] * (double)x[i];
    qq += (double)q[i] * (double)q[i];
    l2 += ((double)x[i] - (double)q[i]) * ((double)x[i] - (double)q[i]);
  }
  if (coding == BSV_CODING_L2) return l2;
  return coding == BSV_CODING_DOT ? -dot : 1 - dot / sqrt(xx * qq);
}

/* Codes rows around a common centre and compares estimates with the truth, in standard deviations. */
static void estimates_case(unsigned bits, bsv_coding coding, size_t dim) {
  enum { ROWS = 320 };
  const bsv_kernels *kernels = bsv_kernels_for(bsv_cpu_flags());
  size_t payload = bsv_rabitq_payload(bits, dim), padded = (dim + 7) / 8 * 8;
  float *rows = malloc(ROWS * dim * sizeof(float)), *mean = malloc(dim * sizeof(float)), *q = malloc(dim * sizeof(float));
  float *scratch = malloc(2 * padded * sizeof(float));
  uint8_t *payloads = malloc(ROWS * payload), *blocks = malloc(ROWS / 32 * bsv_block_bytes(payload - 4));
  bsv_candidate out[ROWS];
  bsv_rabitq rabitq;
  bsv_rabitq_query query;
  uint64_t state = 8 + dim;
  double noise = 0, sum = 0, squares = 0;
  for (size_t i = 0; i < dim; i++) mean[i] = next_normal(&state) * 0.7f;
  for (size_t i = 0; i < ROWS * dim; i++) rows[i] = mean[i % dim] + next_normal(&state);
  for (size_t i = 0; i < dim; i++) q[i] = mean[i] + next_normal(&state);
  if (coding == BSV_CODING_COSINE) { /* the mean of rows of unit length */
    for (size_t i = 0; i < dim; i++) mean[i] *= 0.8f / sqrtf((float)dim);
  }
  CHECK(bsv_rabitq_init(&rabitq, kernels, bits, coding, dim, mean) == SQLITE_OK, "out of memory");
  for (size_t i = 0; i < ROWS; i++) {
    float row_noise;
    bsv_rabitq_encode(&rabitq, rows + i * dim, scratch, payloads + i * payload, &row_noise);
    noise += (double)row_noise / ROWS;
  }
  bsv_rabitq_arrange(kernels, bits, payload - 4, payloads, payload, ROWS, blocks);
  CHECK(bsv_rabitq_query_init(&query, &rabitq, q, 0, (float)noise) == SQLITE_OK, "out of memory");
  size_t n = (bits == 1 ? kernels->coarse1 : kernels->coarse4)(&query.coarse, blocks, ROWS / 32, NULL, 3e38f, 0, out);
  CHECK(n == ROWS, "%zu of %d rows came back", n, ROWS);
  for (size_t i = 0; i < ROWS; i++) {
    uint16_t half;
    memcpy(&half, payloads + i * payload + payload - 4, 2);
    double f = (double)bsv_bf16_to_f32(half);
    double error = (double)out[i].estimate - exact_distance(coding, rows + i * dim, q, dim);
    double deviations = error / (f * noise * (double)query.length);
    sum += deviations;
    squares += deviations * deviations;
  }
  double bias = sum / ROWS, spread = sqrt(squares / ROWS);
  CHECK(fabs(bias) < 0.25, "%u bits, coding %d, dim %zu: bias of %.2f deviations", bits, (int)coding, dim, bias);
  CHECK(spread > 0.5 && spread < 1.5, "%u bits, coding %d, dim %zu: errors spread %.2f of what is claimed", bits, (int)coding, dim,
        spread);
  bsv_rabitq_query_clear(&query);
  bsv_rabitq_clear(&rabitq);
  free(rows), free(mean), free(q), free(scratch), free(payloads), free(blocks);
}

static void estimates_are_unbiased_and_as_exact_as_claimed(void) {
  static const size_t dims[] = {64, 100, 128, 384, 768, 1000};
  for (size_t d = 0; d < sizeof dims / sizeof dims[0]; d++) {
    for (int coding = BSV_CODING_L2; coding <= BSV_CODING_COSINE; coding++) {
      estimates_case(1, (bsv_coding)coding, dims[d]);
      estimates_case(4, (bsv_coding)coding, dims[d]);
    }
  }
}

static void extreme_rows_and_dimensions_are_coded_without_nan(void) {
  static const float values[] = {0, 1, -1, 1e-30f, 1e30f, -3e38f, INFINITY, -INFINITY, NAN};
  const bsv_kernels *kernels = bsv_kernels_for(bsv_cpu_flags());
  for (size_t dim = 1; dim <= 40; dim++) {
    for (int coding = BSV_CODING_L2; coding <= BSV_CODING_COSINE; coding++) {
      for (unsigned bits = 1; bits <= 4; bits += 3) {
        float vector[40], mean[40] = {0}, scratch[2 * 40], noise;
        uint8_t payload[40 / 2 + 4];
        bsv_rabitq rabitq;
        CHECK(bsv_rabitq_init(&rabitq, kernels, bits, (bsv_coding)coding, dim, mean) == SQLITE_OK, "out of memory");
        for (size_t v = 0; v < sizeof values / sizeof values[0]; v++) {
          for (size_t i = 0; i < dim; i++) vector[i] = i % 3 ? 0.5f : values[v];
          bsv_rabitq_encode(&rabitq, vector, scratch, payload, &noise);
          for (int i = 0; i < 2; i++) {
            uint16_t half;
            memcpy(&half, payload + rabitq.code_bytes + 2 * i, 2);
            float factor = bsv_bf16_to_f32(half);
            CHECK(factor == factor, "factor %d of dim %zu with %g is NaN", i, dim, (double)values[v]);
          }
          CHECK(noise == noise && noise >= 0, "noise of dim %zu with %g", dim, (double)values[v]);
        }
        bsv_rabitq_clear(&rabitq);
      }
    }
  }
}

static void a_row_is_at_no_estimated_distance_from_itself(void) {
  enum { DIM = 96 };
  const bsv_kernels *kernels = bsv_kernels_for(bsv_cpu_flags());
  uint64_t state = 9;
  for (unsigned bits = 1; bits <= 4; bits += 3) {
    float row[DIM], mean[DIM], scratch[2 * DIM], noise;
    uint8_t payload[DIM / 2 + 4], block[32 * (DIM / 2 + 4)];
    bsv_candidate out[32];
    bsv_rabitq rabitq;
    bsv_rabitq_query query;
    for (size_t i = 0; i < DIM; i++) mean[i] = next_normal(&state), row[i] = mean[i] + next_normal(&state);
    CHECK(bsv_rabitq_init(&rabitq, kernels, bits, BSV_CODING_L2, DIM, mean) == SQLITE_OK, "out of memory");
    bsv_rabitq_encode(&rabitq, row, scratch, payload, &noise);
    bsv_rabitq_arrange(kernels, bits, rabitq.code_bytes, payload, sizeof payload, 1, block);
    CHECK(bsv_rabitq_query_init(&query, &rabitq, row, 0, 0) == SQLITE_OK, "out of memory");
    size_t n = (bits == 1 ? kernels->coarse1 : kernels->coarse4)(&query.coarse, block, 1, NULL, 3e38f, 0, out);
    CHECK(n == 1 && out[0].slot == 0, "%zu rows came back: absent ones must not", n);
    double scale = (double)(query.length * query.length);
    CHECK(fabs((double)out[0].estimate) < 0.03 * scale, "%u bits: %g of %g", bits, (double)out[0].estimate, scale);
    bsv_rabitq_query_clear(&query);
    bsv_rabitq_clear(&rabitq);
  }
}

int main(void) {
  RUN(estimates_are_unbiased_and_as_exact_as_claimed);
  RUN(extreme_rows_and_dimensions_are_coded_without_nan);
  RUN(a_row_is_at_no_estimated_distance_from_itself);
  return 0;
}
