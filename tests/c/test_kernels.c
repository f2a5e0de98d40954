/*
** Every kernel table equals the scalar one: lengths 0 to 400, odd addresses, extreme values; and the
** scalar one equals sums in double precision. Buffers end where their bytes end, so that the
** address sanitizer sees a read past them.
*/
#include <math.h>

#include "bsv_float16.h"
#include "bsv_kernels.h"
#include "bsv_vector.h"
#include "check.h"

#define MAX_N 400

static const char *const names[] = {"avx2", "avx512", "neon"};

/* The tables that this machine runs, the scalar one first. */
static int tables(const bsv_kernels **out) {
  int n = 0;
  out[n++] = &bsv_kernels_scalar;
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    const bsv_kernels *table = bsv_kernels_named(names[i], bsv_cpu_flags());
    if (table) out[n++] = table;
  }
  return n;
}

/* `bytes` bytes at an odd address, the last of them the last of its allocation. */
static unsigned char *odd_buffer(size_t bytes, unsigned char **to_free) {
  *to_free = malloc(bytes + 1);
  CHECK(*to_free != NULL, "out of memory");
  return *to_free + 1;
}

static void check_float(const bsv_kernels *table, const char *what, float got, double want, double magnitude, size_t n) {
  double bound = ((double)n / 8 + 8) * magnitude * ldexp(1, -24) + 1e-30;
  CHECK(fabs((double)got - want) <= bound, "%s %s of %zu: got %.9g, want %.9g", table->name, what, n, (double)got, want);
}

static const bsv_float_kernels *float_kernels(const bsv_kernels *table, bsv_type type) {
  return type == BSV_F32 ? &table->f32 : type == BSV_F16 ? &table->f16 : &table->bf16;
}

static void float_case(bsv_type type, size_t n, float scale, uint64_t *state) {
  const bsv_kernels *all[4];
  unsigned char *row_memory, *row = odd_buffer((size_t)bsv_vector_bytes(type, n), &row_memory);
  float *query = malloc(n * sizeof(float) + 1), *values = malloc(n * sizeof(float) + 1);
  double dot = 0, l2 = 0, l1 = 0, sq = 0, dot_size = 0;
  for (size_t i = 0; i < n; i++) {
    float x = next_float(state) * scale;
    uint16_t half = type == BSV_F16 ? bsv_f32_to_f16(x) : bsv_f32_to_bf16(x);
    if (type == BSV_F32) {
      memcpy(row + 4 * i, &x, 4);
    } else {
      memcpy(row + 2 * i, &half, 2);
    }
    query[i] = next_float(state) * scale;
  }
  bsv_to_f32(type, row, n, values);
  for (size_t i = 0; i < n; i++) {
    double q = (double)query[i], x = (double)values[i];
    dot += q * x;
    dot_size += fabs(q * x);
    l2 += (q - x) * (q - x);
    l1 += fabs(q - x);
    sq += x * x;
  }
  int n_tables = tables(all);
  for (int t = 0; t < n_tables; t++) {
    const bsv_float_kernels *kernels = float_kernels(all[t], type);
    float squares = -1;
    check_float(all[t], "dot", kernels->dot(query, row, n), dot, dot_size, n);
    check_float(all[t], "l2sq", kernels->l2sq(query, row, n), l2, l2, n);
    check_float(all[t], "l1", kernels->l1(query, row, n), l1, l1, n);
    check_float(all[t], "dot_sq", kernels->dot_sq(query, row, n, &squares), dot, dot_size, n);
    check_float(all[t], "squares", squares, sq, sq, n);
  }
  free(row_memory);
  free(query);
  free(values);
}

static void float_kernels_stay_in_their_stated_bound(void) {
  uint64_t state = 1;
  for (size_t n = 0; n <= MAX_N; n++) {
    for (int type = BSV_F32; type <= BSV_BF16; type++) {
      float_case((bsv_type)type, n, 1, &state);
      float_case((bsv_type)type, n, type == BSV_F16 ? 60000 : 1e18f, &state);
      float_case((bsv_type)type, n, 1e-5f, &state);
    }
  }
  float_case(BSV_F32, 4096, 1, &state);
  float_case(BSV_F16, 100003, 1, &state);
}

static void int_case(size_t n, int pattern, uint64_t *state) {
  const bsv_kernels *all[4];
  unsigned char *memory_a, *memory_b, *a = odd_buffer(n, &memory_a), *b = odd_buffer(n, &memory_b);
  for (size_t i = 0; i < n; i++) {
    uint64_t r = next_random(state);
    a[i] = pattern == 0 ? (unsigned char)r : pattern == 1 || pattern == 4 ? 0x80 : 0xff;
    b[i] = pattern == 0 ? (unsigned char)(r >> 8) : pattern == 1 ? 0x7f : pattern == 2 ? 0x00 : pattern == 3 ? 0xff : 0x80;
  }
  int64_t want[6] = {0}, want_sq[2] = {0};
  uint64_t bits = 0;
  for (size_t i = 0; i < n; i++) {
    int u = (int8_t)a[i], v = (int8_t)b[i], p = a[i], q = b[i];
    want_sq[0] += v * v;
    want_sq[1] += q * q;
    want[0] += u * v;
    want[1] += (u - v) * (u - v);
    want[2] += abs(u - v);
    want[3] += p * q;
    want[4] += (p - q) * (p - q);
    want[5] += abs(p - q);
    for (int x = p ^ q; x; x &= x - 1) bits++;
  }
  int n_tables = tables(all);
  for (int t = 0; t < n_tables; t++) {
    const bsv_kernels *k = all[t];
    int32_t got[6] = {k->i8.dot(a, b, n), k->i8.l2sq(a, b, n), k->i8.l1(a, b, n),
                      k->u8.dot(a, b, n), k->u8.l2sq(a, b, n), k->u8.l1(a, b, n)};
    for (int i = 0; i < 6; i++) {
      CHECK(got[i] == want[i], "%s integer kernel %d of %zu: got %d, want %lld", k->name, i, n, got[i], (long long)want[i]);
    }
    int32_t sq[2], dots[2] = {k->i8.dot_sq(a, b, n, &sq[0]), k->u8.dot_sq(a, b, n, &sq[1])};
    CHECK(dots[0] == want[0] && dots[1] == want[3], "%s dot_sq of %zu: %d, %d", k->name, n, dots[0], dots[1]);
    CHECK(sq[0] == want_sq[0] && sq[1] == want_sq[1], "%s squares of %zu: %d, %d", k->name, n, sq[0], sq[1]);
    CHECK(k->hamming(a, b, n) == bits, "%s hamming of %zu", k->name, n);
  }
  free(memory_a);
  free(memory_b);
}

static void integer_kernels_are_exact(void) {
  uint64_t state = 2;
  for (size_t n = 0; n <= MAX_N; n++) {
    for (int pattern = 0; pattern < 5; pattern++) int_case(n, pattern, &state);
  }
  for (int pattern = 0; pattern < 5; pattern++) int_case(BSV_INT_BLOCK, pattern, &state); /* the largest allowed */
}

static void a_table_is_chosen_by_flags_and_by_name(void) {
  CHECK(bsv_kernels_for(0) == &bsv_kernels_scalar, "no flags must give the scalar table");
  CHECK(bsv_kernels_named("scalar", 0) == &bsv_kernels_scalar, "the scalar table runs anywhere");
  CHECK(bsv_kernels_named("avx2", 0) == NULL, "a table the processor cannot run was given");
  CHECK(bsv_kernels_named("nonsense", ~0u) == NULL, "an unknown name gave a table");
  const bsv_kernels *best = bsv_kernels_for(bsv_cpu_flags());
  CHECK(bsv_kernels_named(best->name, bsv_cpu_flags()) == best, "%s is not found by its name", best->name);
}

static void distances_of_long_vectors_do_not_wrap(void) {
  size_t n = 3 * BSV_INT_BLOCK + 5;
  unsigned char *a = malloc(n), *b = malloc(n);
  memset(a, 0xff, n);
  memset(b, 0, n);
  bsv_query query;
  CHECK(bsv_query_init(&query, bsv_kernels_for(bsv_cpu_flags()), BSV_U8, BSV_L2SQ, 0, a, n) == 0, "out of memory");
  CHECK(bsv_query_distance(&query, b) == (float)(65025.0 * (double)n), "squared distance of %zu bytes", n);
  bsv_query_clear(&query);
  free(a);
  free(b);
}

/* ---- coarse codes --------------------------------------------------------------------------- */

typedef struct coarse_case {
  bsv_coarse_query query;
  unsigned char *lut, *blocks, *to_free;
  int8_t *weights;
  uint32_t *allowed;
  size_t n_blocks;
} coarse_case;

static void coarse_make(coarse_case *c, size_t code_bytes, size_t n_blocks, int extreme, uint64_t *state) {
  size_t bytes = n_blocks * bsv_block_bytes(code_bytes);
  memset(c, 0, sizeof *c);
  c->n_blocks = n_blocks;
  c->blocks = odd_buffer(bytes, &c->to_free);
  c->lut = malloc(2 * BSV_LUT_STRIDE * code_bytes + 1);
  c->weights = malloc(2 * code_bytes + 1);
  c->allowed = malloc((n_blocks + 1) * sizeof *c->allowed);
  for (size_t i = 0; i < bytes; i++) c->blocks[i] = extreme ? 0xff : (unsigned char)next_random(state);
  for (size_t t = 0; t < 2 * code_bytes; t++) {
    for (int e = 0; e < 16; e++) {
      unsigned char entry = extreme ? BSV_LUT_MAX : (unsigned char)(next_random(state) % (BSV_LUT_MAX + 1));
      c->lut[BSV_LUT_STRIDE * t + (size_t)e] = c->lut[BSV_LUT_STRIDE * t + 16 + (size_t)e] = entry;
    }
    c->weights[t] = extreme ? 127 : (int8_t)(next_random(state) % 255 - 127);
  }
  for (size_t b = 0; b < n_blocks; b++) {
    c->allowed[b] = b % 3 == 0 ? 0 : (uint32_t)next_random(state);
    unsigned char *factors = c->blocks + b * bsv_block_bytes(code_bytes) + BSV_BLOCK_ROWS * code_bytes;
    for (size_t i = 0; i < 2 * BSV_BLOCK_ROWS; i++) {
      uint16_t factor = bsv_f32_to_bf16(next_float(state));
      if (i == 40) factor = 0x7f80; /* an absent row: h is infinite */
      if (i == 50) factor = 0xff80; /* a row that always passes */
      if (i == 60) factor = 0x7fc0; /* NaN never does */
      memcpy(factors + 2 * i, &factor, 2);
    }
  }
  c->query.code_bytes = code_bytes;
  c->query.scale = 0.01f;
  c->query.bias = -3;
  c->query.base = 0.5f;
  c->query.lut = c->lut;
  c->query.weights = c->weights;
}

static void coarse_free(coarse_case *c) {
  free(c->to_free);
  free(c->lut);
  free(c->weights);
  free(c->allowed);
}

/* The sum by definition, from the layout as bsv_coarse.h describes it. */
static int64_t coarse_sum(const coarse_case *c, int bits, size_t slot) {
  size_t code_bytes = c->query.code_bytes, row = slot % BSV_BLOCK_ROWS;
  const unsigned char *block = c->blocks + slot / BSV_BLOCK_ROWS * bsv_block_bytes(code_bytes);
  int64_t sum = 0;
  for (size_t j = 0; j < code_bytes; j++) {
    unsigned char code = bits == 1 ? block[32 * j + bsv_block_position((unsigned)row)] : block[128 * (j / 4) + 4 * row + j % 4];
    if (bits == 1) {
      sum += c->lut[32 * j + (code & 15)] + c->lut[32 * (code_bytes + j) + (code >> 4)];
    } else {
      sum += (code & 15) * c->weights[8 * (j / 4) + j % 4] + (code >> 4) * c->weights[8 * (j / 4) + 4 + j % 4];
    }
  }
  return sum;
}

static float stored_factor(const coarse_case *c, size_t slot, size_t which) {
  uint16_t factor;
  size_t code_bytes = c->query.code_bytes;
  memcpy(&factor, c->blocks + slot / 32 * bsv_block_bytes(code_bytes) + 32 * code_bytes + 64 * which + 2 * (slot % 32), 2);
  return bsv_bf16_to_f32(factor);
}

static void coarse_check(const coarse_case *c, const bsv_kernels *kernels, int bits, int filtered, float limit) {
  size_t rows = c->n_blocks * BSV_BLOCK_ROWS, at = 0;
  bsv_candidate *out = malloc(rows * sizeof *out + 1);
  size_t n = (bits == 1 ? kernels->coarse1 : kernels->coarse4)(&c->query, c->blocks, c->n_blocks, filtered ? c->allowed : NULL,
                                                               limit, 1000, out);
  for (size_t slot = 0; slot < rows; slot++) {
    double s = (double)c->query.scale * (double)coarse_sum(c, bits, slot) + (double)c->query.bias;
    double f = (double)stored_factor(c, slot, 0), h = (double)stored_factor(c, slot, 1);
    double want = (double)c->query.base + h - f * s;
    double bound = ldexp(1, -22) * (fabs((double)c->query.base) + (isinf(h) ? 0 : fabs(h)) + fabs(f) * (fabs(s) + 3)) + 1e-30;
    int is_allowed = !filtered || (c->allowed[slot / 32] >> slot % 32 & 1);
    int found = at < n && out[at].slot == 1000 + slot;
    if (found) {
      double got = (double)out[at].estimate;
      CHECK(is_allowed && got <= (double)limit, "%s: slot %zu must not pass", kernels->name, slot);
      CHECK(got == want || fabs(got - want) <= bound, "%s %d bits: slot %zu got %.9g, want %.9g", kernels->name, bits, slot, got, want);
      at++;
    } else if (is_allowed && want == want) {
      CHECK(want > (double)limit - bound, "%s %d bits: slot %zu with %.9g was missed at limit %.9g", kernels->name, bits, slot,
            want, (double)limit);
    }
  }
  CHECK(at == n, "%s: %zu candidates more than rows", kernels->name, n - at);
  free(out);
}

static void coarse_kernels_equal_their_definition(void) {
  static const size_t sizes[] = {1, 2, 3, 4, 5, 7, 8, 9, 13, 16, 31, 48, 96, 127, 128, 129, 192, 1023, 1024, 1025, 1100};
  const bsv_kernels *all[4];
  int n_tables = tables(all);
  uint64_t state = 6;
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
    for (int extreme = 0; extreme < 2; extreme++) {
      for (int bits = 1; bits <= 4; bits += 3) {
        size_t code_bytes = bits == 1 ? sizes[i] : sizes[i] * 4;
        coarse_case c;
        coarse_make(&c, code_bytes, 1 + i % 4, extreme, &state);
        for (int t = 0; t < n_tables; t++) {
          for (int filtered = 0; filtered < 2; filtered++) {
            coarse_check(&c, all[t], bits, filtered, 3.4e38f);
            coarse_check(&c, all[t], bits, filtered, 0.3f);
            coarse_check(&c, all[t], bits, filtered, -1e30f);
          }
        }
        coarse_free(&c);
      }
    }
  }
}

static void encoder_loops_equal_the_scalar_ones(void) {
  const bsv_kernels *all[4];
  int n_tables = tables(all);
  uint64_t state = 10;
  for (size_t n = 8; n <= MAX_N; n += 8) {
    float *z = malloc(n * sizeof *z);
    for (size_t i = 0; i < n; i++) z[i] = i % 11 ? next_float(&state) * 3 : i % 2 ? 0.0f : -0.0f;
    uint8_t want[MAX_N / 8], got[MAX_N / 8];
    float want_sum = all[0]->signs(z, n, want), want_yy, want_yz = all[0]->levels(z, n, 2.7f, &want_yy);
    for (int t = 0; t < n_tables; t++) {
      float sum = all[t]->signs(z, n, got), yy, yz = all[t]->levels(z, n, 2.7f, &yy);
      CHECK(memcmp(want, got, n / 8) == 0, "%s: signs of %zu", all[t]->name, n);
      check_float(all[t], "magnitudes", sum, (double)want_sum, (double)want_sum * 2, n);
      check_float(all[t], "levels y*z", yz, (double)want_yz, (double)want_sum * 16, n);
      check_float(all[t], "levels y*y", yy, (double)want_yy, (double)want_yy * 2, n);
    }
    free(z);
  }
}

static void rows_are_arranged_as_blocks_say(void) {
  const bsv_kernels *all[4];
  int n_tables = tables(all);
  uint64_t state = 8;
  for (size_t code_bytes = 1; code_bytes <= 130; code_bytes++) {
    size_t stride = code_bytes + code_bytes % 13;
    unsigned char *memory, *payloads = odd_buffer(31 * stride + code_bytes, &memory), *block = malloc(32 * code_bytes);
    for (size_t i = 0; i < 31 * stride + code_bytes; i++) payloads[i] = (unsigned char)next_random(&state);
    for (int t = 0; t < n_tables; t++) {
      memset(block, 0, 32 * code_bytes);
      all[t]->arrange1(payloads, stride, code_bytes, block);
      for (unsigned row = 0; row < 32; row++) {
        for (size_t j = 0; j < code_bytes; j++) {
          CHECK(block[32 * j + bsv_block_position(row)] == payloads[row * stride + j], "%s: byte %zu of row %u", all[t]->name, j, row);
        }
      }
    }
    free(memory);
    free(block);
  }
}

static void reading_tells_bytes_apart(void) {
  const bsv_kernels *all[4];
  int n_tables = tables(all);
  for (size_t n = 0; n < 700; n += 1 + n / 50) {
    unsigned char *memory, *p = odd_buffer(n, &memory);
    for (size_t i = 0; i < n; i++) p[i] = (unsigned char)(i * 7);
    for (int t = 0; t < n_tables; t++) {
      uint64_t before = all[t]->read(p, n);
      for (size_t i = 0; i < n; i += 1 + n / 9) {
        p[i] ^= 0x40;
        CHECK(all[t]->read(p, n) != before, "%s: byte %zu of %zu was not read", all[t]->name, i, n);
        p[i] ^= 0x40;
      }
    }
    free(memory);
  }
}

static void hadamard_equals_its_definition(void) {
  const bsv_kernels *all[4];
  int n_tables = tables(all);
  uint64_t state = 7;
  for (unsigned log2n = 0; log2n <= 10; log2n++) {
    size_t n = (size_t)1 << log2n;
    float *x = malloc(n * sizeof *x), *y = malloc(n * sizeof *y);
    for (size_t i = 0; i < n; i++) x[i] = next_float(&state);
    for (int t = 0; t < n_tables; t++) {
      memcpy(y, x, n * sizeof *x);
      all[t]->hadamard(y, log2n);
      for (size_t i = 0; i < n; i++) {
        double want = 0;
        for (size_t j = 0; j < n; j++) {
          int minus = 0;
          for (size_t bits = i & j; bits; bits &= bits - 1) minus ^= 1;
          want += minus ? -(double)x[j] : (double)x[j];
        }
        CHECK(fabs((double)y[i] - want) <= 1e-6 * (double)n, "%s: element %zu of %zu", all[t]->name, i, n);
      }
    }
    free(x);
    free(y);
  }
}

int main(void) {
  RUN(float_kernels_stay_in_their_stated_bound);
  RUN(integer_kernels_are_exact);
  RUN(a_table_is_chosen_by_flags_and_by_name);
  RUN(distances_of_long_vectors_do_not_wrap);
  RUN(coarse_kernels_equal_their_definition);
  RUN(encoder_loops_equal_the_scalar_ones);
  RUN(rows_are_arranged_as_blocks_say);
  RUN(reading_tells_bytes_apart);
  RUN(hadamard_equals_its_definition);
  return 0;
}
