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
    a[i] = pattern == 0 ? (unsigned char)r : pattern == 1 ? 0x80 : 0xff;
    b[i] = pattern == 0 ? (unsigned char)(r >> 8) : pattern == 1 ? 0x7f : pattern == 2 ? 0x00 : 0xff;
  }
  int64_t want[6] = {0};
  uint64_t bits = 0;
  for (size_t i = 0; i < n; i++) {
    int u = (int8_t)a[i], v = (int8_t)b[i], p = a[i], q = b[i];
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
    CHECK(k->hamming(a, b, n) == bits, "%s hamming of %zu", k->name, n);
  }
  free(memory_a);
  free(memory_b);
}

static void integer_kernels_are_exact(void) {
  uint64_t state = 2;
  for (size_t n = 0; n <= MAX_N; n++) {
    for (int pattern = 0; pattern < 4; pattern++) int_case(n, pattern, &state);
  }
  for (int pattern = 0; pattern < 4; pattern++) int_case(BSV_INT_BLOCK, pattern, &state); /* the largest allowed */
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

int main(void) {
  RUN(float_kernels_stay_in_their_stated_bound);
  RUN(integer_kernels_are_exact);
  RUN(a_table_is_chosen_by_flags_and_by_name);
  RUN(distances_of_long_vectors_do_not_wrap);
  return 0;
}
