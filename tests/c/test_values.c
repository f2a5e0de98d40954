/* Numbers and text: half precision, vectors written as text, option strings, the bounded heap. */
#include <math.h>

#include "bsv_float16.h"
#include "bsv_sqlite.h"
#include "bsv_text.h"
#include "bsv_topk.h"
#include "check.h"

static void half_precision_survives_a_round_trip(void) {
  for (unsigned h = 0; h < 65536; h++) {
    float single = bsv_f16_to_f32((uint16_t)h), brain = bsv_bf16_to_f32((uint16_t)h);
    if (single == single) CHECK(bsv_f32_to_f16(single) == h, "f16 %04x became %04x", h, bsv_f32_to_f16(single));
    if (single != single) CHECK((bsv_f32_to_f16(single) & 0x7c00) == 0x7c00, "NaN %04x was lost", h);
    if (brain == brain) CHECK(bsv_f32_to_bf16(brain) == h, "bf16 %04x became %04x", h, bsv_f32_to_bf16(brain));
  }
}

/* The nearest half, found by trying: the definition that the fast conversion must meet. */
static void half_precision_rounds_to_nearest_even(void) {
  uint64_t state = 3;
  for (int i = 0; i < 200000; i++) {
    float x = bsv_float_from_bits((uint32_t)next_random(&state));
    if (!(fabsf(x) < 65504)) continue;
    uint16_t h = bsv_f32_to_f16(x);
    double error = fabs((double)bsv_f16_to_f32(h) - (double)x);
    uint16_t up = (uint16_t)(h + 1), down = (h & 0x7fff) ? (uint16_t)(h - 1) : (uint16_t)(h ^ 0x8000);
    double above = fabs((double)bsv_f16_to_f32(up) - (double)x), below = fabs((double)bsv_f16_to_f32(down) - (double)x);
    CHECK(error <= above && error <= below, "%.9g became %04x, a neighbour is nearer", (double)x, h);
    if (error == above || (error == below && down != (h ^ 0x8000))) CHECK((h & 1) == 0, "%.9g: a tie went to odd %04x", (double)x, h);
  }
  CHECK(bsv_f32_to_f16(65519.99f) == 0x7bff && bsv_f32_to_f16(65520) == 0x7c00, "the edge of infinity is wrong");
}

static double parse_one(const char *number) {
  char text[128], *error = NULL;
  void *vector = NULL;
  size_t dim = 0;
  snprintf(text, sizeof text, "[%s]", number);
  int rc = bsv_parse_vector(text, strlen(text), BSV_F32, &vector, &dim, &error);
  CHECK(rc == SQLITE_OK && dim == 1, "'%s' was refused: %s", number, error ? error : "");
  float x;
  memcpy(&x, vector, 4);
  sqlite3_free(vector);
  return (double)x;
}

static void numbers_in_text_equal_strtof(void) {
  uint64_t state = 4;
  char text[64];
  static const char *const formats[] = {"%.9g", "%.17g", "%.3f", "%g", "%.1e", "%a"};
  for (int i = 0; i < 20000; i++) {
    float x = bsv_float_from_bits((uint32_t)next_random(&state));
    if (!isfinite(x)) continue;
    snprintf(text, sizeof text, formats[i % 6], (double)x);
    double want = (double)(float)strtod(text, NULL);
    CHECK(parse_one(text) == want, "%s: got %.9g, want %.9g", text, parse_one(text), want);
  }
}

static void text_without_a_terminator_is_read_to_its_length_only(void) {
  static const char *const texts[] = {"[1,2,3]", "[1e5", "[0x1", "[1.", "[-", "[inf", "[nan", " ", "", "[1,", "[1]x"};
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
    for (size_t n = 0; n <= strlen(texts[i]); n++) {
      char *copy = malloc(n + (n == 0)), *error = NULL; /* the sanitizer guards its end */
      void *vector = NULL;
      size_t dim;
      memcpy(copy, texts[i], n);
      for (int type = BSV_F32; type <= BSV_BIT; type++) {
        int rc = bsv_parse_vector(copy, n, (bsv_type)type, &vector, &dim, &error);
        CHECK((rc == SQLITE_OK) == (vector != NULL) && (rc == SQLITE_OK) == (error == NULL), "'%.*s'", (int)n, copy);
        sqlite3_free(vector);
        sqlite3_free(error);
      }
      free(copy);
    }
  }
}

static void options_come_trimmed_and_in_order(void) {
  const char *text = " a = 1 ,,=2, b=, c = x=y,\n D\t=\r3";
  bsv_slice rest = {text, strlen(text)}, key, value;
  char joined[64] = "";
  while (bsv_next_option(&rest, &key, &value)) {
    strncat(joined, key.text, key.n);
    strcat(joined, ":");
    strncat(joined, value.text, value.n);
    strcat(joined, ";");
  }
  CHECK(strcmp(joined, "a:1;c:x=y;D:3;") == 0, "got %s", joined);
}

static void integers_saturate_and_stop_at_the_first_other_byte(void) {
  static const struct {
    const char *text;
    int found;
    int64_t value;
  } cases[] = {{"12ab", 1, 12}, {"-7", 1, -7}, {"+3", 1, 3}, {"0x1F", 1, 31}, {"0x", 1, 0}, {"", 0, 0}, {"x", 0, 0},
               {"99999999999999999999999", 1, INT64_MAX}, {"-99999999999999999999999", 1, -INT64_MAX}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    bsv_slice slice = {cases[i].text, strlen(cases[i].text)};
    int64_t value = 0;
    int found = bsv_slice_integer(slice, &value);
    CHECK(found == cases[i].found && value == cases[i].value, "'%s' gave %lld", cases[i].text, (long long)value);
  }
}

static int compare_by_distance_and_id(const void *a, const void *b) {
  const bsv_hit *x = a, *y = b;
  if (x->distance != y->distance) return x->distance < y->distance ? -1 : 1;
  return x->id < y->id ? -1 : x->id > y->id;
}

static void the_heap_keeps_what_a_full_sort_would(void) {
  uint64_t state = 5;
  bsv_hit all[300];
  for (int round = 0; round < 200; round++) {
    uint64_t n = next_random(&state) % 300, k = next_random(&state) % 40;
    bsv_topk top;
    bsv_topk_init(&top, (int64_t)k);
    for (uint64_t i = 0; i < n; i++) {
      all[i].distance = (float)(next_random(&state) % 50); /* many ties */
      all[i].id = (int64_t)next_random(&state);
      CHECK(bsv_topk_offer(&top, all[i].distance, all[i].id) == SQLITE_OK, "out of memory");
    }
    CHECK(bsv_topk_offer(&top, NAN, 1) == SQLITE_OK && bsv_topk_offer(&top, INFINITY, 2) == SQLITE_OK, "out of memory");
    qsort(all, (size_t)n, sizeof all[0], compare_by_distance_and_id);
    bsv_topk_sort(&top);
    CHECK(top.n == (n < k ? n : k), "kept %d of %d, k = %d", (int)top.n, (int)n, (int)k);
    for (uint64_t i = 0; i < top.n; i++) {
      CHECK(top.hits[i].id == all[i].id && top.hits[i].distance == all[i].distance, "hit %d differs", (int)i);
    }
    bsv_topk_clear(&top);
  }
}

int main(void) {
  RUN(half_precision_survives_a_round_trip);
  RUN(half_precision_rounds_to_nearest_even);
  RUN(numbers_in_text_equal_strtof);
  RUN(text_without_a_terminator_is_read_to_its_length_only);
  RUN(options_come_trimmed_and_in_order);
  RUN(integers_saturate_and_stop_at_the_first_other_byte);
  RUN(the_heap_keeps_what_a_full_sort_would);
  return 0;
}
