/* Parsing of vectors written as text, and of option strings. */
#include "bsv_text.h"

#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bsv_float16.h"
#include "bsv_sqlite.h"

static int is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\v' || c == '\f'; }
static int is_digit(char c) { return c >= '0' && c <= '9'; }
static int is_hex_digit(char c) { return is_digit(c) || ((c | 32) >= 'a' && (c | 32) <= 'f'); }

/* ---- numbers -------------------------------------------------------------------------------- */

/* strtod() on a copy: it needs a terminator, and a program may have chosen a decimal comma. */
static int slow_number(const char *text, size_t n, double *value) {
  char local[64];
  char *copy = n < sizeof local ? local : sqlite3_malloc64(n + 1);
  if (copy == NULL) return SQLITE_NOMEM;
  memcpy(copy, text, n);
  copy[n] = 0;
  const char *point = localeconv()->decimal_point;
  char *dot = memchr(copy, '.', n);
  if (dot != NULL && point[0] != 0 && point[1] == 0) *dot = point[0];
  *value = strtod(copy, NULL);
  if (copy != local) sqlite3_free(copy);
  return SQLITE_OK;
}

static size_t match_word(const char *text, size_t n, const char *word) {
  size_t length = strlen(word);
  return n >= length && sqlite3_strnicmp(text, word, (int)length) == 0 ? length : 0;
}

/*
** The number at the start of `text`. Writes how many bytes it has, 0 when there is none.
** Up to 2^53 and with a power of ten up to 22 the result of one multiplication or division of exact
** doubles is correctly rounded; that covers what programs print, and strtod() does the rest.
*/
static int parse_number(const char *text, size_t n, size_t *used, double *value) {
  static const double power_of_ten[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                        1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
  size_t i = 0, start, digits = 0, word;
  int negative = 0;
  *used = 0;
  if (i < n && (text[i] == '+' || text[i] == '-')) negative = text[i++] == '-';
  start = i;
  if ((word = match_word(text + i, n - i, "infinity")) || (word = match_word(text + i, n - i, "inf"))) {
    *used = i + word;
    *value = negative ? -HUGE_VAL : HUGE_VAL;
    return SQLITE_OK;
  }
  if ((word = match_word(text + i, n - i, "nan"))) {
    *used = i + word;
    *value = (double)bsv_float_from_bits(0x7fc00000u);
    return SQLITE_OK;
  }
  if (n - i > 2 && text[i] == '0' && (text[i + 1] | 32) == 'x' && is_hex_digit(text[i + 2])) {
    for (i += 2; i < n && (is_hex_digit(text[i]) || text[i] == '.'); i++) {
    }
    if (i + 1 < n && (text[i] | 32) == 'p') { /* binary exponent */
      size_t j = i + 1;
      if (j < n && (text[j] == '+' || text[j] == '-')) j++;
      if (j < n && is_digit(text[j])) {
        while (j < n && is_digit(text[j])) j++;
        i = j;
      }
    }
    *used = i;
    return slow_number(text, i, value);
  }
  uint64_t mantissa = 0;
  int64_t exponent = 0;
  int exact = 1;
  for (; i < n && is_digit(text[i]); i++, digits++) {
    if (mantissa > (UINT64_MAX - 9) / 10) exact = 0;
    mantissa = mantissa * 10 + (uint64_t)(text[i] - '0');
  }
  if (i < n && text[i] == '.') {
    for (i++; i < n && is_digit(text[i]); i++, digits++, exponent--) {
      if (mantissa > (UINT64_MAX - 9) / 10) exact = 0;
      mantissa = mantissa * 10 + (uint64_t)(text[i] - '0');
    }
  }
  if (digits == 0) return SQLITE_OK;
  if (i < n && (text[i] | 32) == 'e') {
    size_t j = i + 1;
    int minus = 0;
    if (j < n && (text[j] == '+' || text[j] == '-')) minus = text[j++] == '-';
    if (j < n && is_digit(text[j])) {
      int64_t e = 0;
      for (; j < n && is_digit(text[j]); j++) {
        if (e < 100000) e = e * 10 + (text[j] - '0');
      }
      exponent += minus ? -e : e;
      i = j;
    }
  }
  *used = i;
  if (!exact || mantissa > (UINT64_C(1) << 53) || exponent < -22 || exponent > 22) {
    double magnitude = 0;
    int rc = slow_number(text + start, i - start, &magnitude);
    *value = negative ? -magnitude : magnitude;
    return rc;
  }
  double magnitude = (double)mantissa;
  if (exponent < 0) {
    magnitude /= power_of_ten[-exponent];
  } else {
    magnitude *= power_of_ten[exponent];
  }
  *value = negative ? -magnitude : magnitude;
  return SQLITE_OK;
}

/* ---- vectors -------------------------------------------------------------------------------- */

/* Bytes under construction, grown by doubling. */
typedef struct byte_buffer {
  uint8_t *bytes;
  size_t n, capacity;
} byte_buffer;

static uint8_t *grow(byte_buffer *buffer, size_t extra) {
  if (buffer->n + extra > buffer->capacity) {
    size_t capacity = buffer->capacity ? buffer->capacity * 2 : 256;
    uint8_t *bytes = sqlite3_realloc64(buffer->bytes, capacity);
    if (bytes == NULL) return NULL;
    buffer->bytes = bytes;
    buffer->capacity = capacity;
  }
  uint8_t *end = buffer->bytes + buffer->n;
  buffer->n += extra;
  return end;
}

static int append_element(byte_buffer *buffer, bsv_type type, size_t index, double value, char **error) {
  uint8_t *out;
  float single = (float)value;
  uint16_t half;
  switch (type) {
    case BSV_F32:
      if ((out = grow(buffer, 4)) == NULL) return SQLITE_NOMEM;
      memcpy(out, &single, 4);
      return SQLITE_OK;
    case BSV_F16:
    case BSV_BF16:
      if ((out = grow(buffer, 2)) == NULL) return SQLITE_NOMEM;
      half = type == BSV_F16 ? bsv_f32_to_f16(single) : bsv_f32_to_bf16(single);
      memcpy(out, &half, 2);
      return SQLITE_OK;
    case BSV_I8:
    case BSV_U8: {
      double low = type == BSV_I8 ? -128 : 0, high = type == BSV_I8 ? 127 : 255;
      if (value < low || value > high) {
        *error = sqlite3_mprintf("element %llu of the vector is %!g, %s holds %d to %d", (sqlite3_uint64)index, value,
                                 bsv_type_name(type), (int)low, (int)high);
        return SQLITE_ERROR;
      }
      if ((out = grow(buffer, 1)) == NULL) return SQLITE_NOMEM;
      /* Toward zero, as the interface wants; a NaN has no integer and becomes 0. */
      *out = value != value ? 0 : (uint8_t)(int)value;
      return SQLITE_OK;
    }
    case BSV_BIT:
      break;
  }
  if (value != 0 && value != 1) {
    *error = sqlite3_mprintf("element %llu of the vector is %!g, BIT holds 0 and 1", (sqlite3_uint64)index, value);
    return SQLITE_ERROR;
  }
  if (index % 8 == 0) {
    if ((out = grow(buffer, 1)) == NULL) return SQLITE_NOMEM;
    *out = 0;
  }
  buffer->bytes[index / 8] |= (uint8_t)((int)value << index % 8);
  return SQLITE_OK;
}

/* Inside the brackets: elements and commas up to `]`. `*at` is where it stopped. */
static int parse_elements(const char *text, size_t n, size_t *at, bsv_type type, byte_buffer *buffer, size_t *dim,
                          char **error) {
  for (;;) {
    double value = 0;
    size_t used = 0;
    while (*at < n && is_blank(text[*at])) ++*at;
    if (*at == n) return SQLITE_OK; /* the interface wants no `]` where an element could begin */
    if (text[*at] == ']') return SQLITE_OK;
    int rc = parse_number(text + *at, n - *at, &used, &value);
    if (rc != SQLITE_OK) return rc;
    if (used == 0) {
      *error = sqlite3_mprintf("expected a number at byte %llu of the vector, found '%.1s'", (sqlite3_uint64)*at, text + *at);
      return SQLITE_ERROR;
    }
    if ((rc = append_element(buffer, type, *dim, value, error)) != SQLITE_OK) return rc;
    ++*dim;
    *at += used;
    while (*at < n && is_blank(text[*at])) ++*at;
    if (*at < n && text[*at] == ',') {
      ++*at;
    } else if (*at == n || text[*at] != ']') {
      *error = sqlite3_mprintf("expected ',' or ']' at byte %llu of the vector, found '%.1s'", (sqlite3_uint64)*at,
                               *at < n ? text + *at : "?");
      return SQLITE_ERROR;
    }
  }
}

int bsv_parse_vector(const char *text, size_t n, bsv_type type, void **out, size_t *dim, char **error) {
  byte_buffer buffer = {0};
  size_t at = 0;
  int rc = SQLITE_OK;
  *out = NULL;
  *dim = 0;
  *error = NULL;
  while (at < n && is_blank(text[at])) at++;
  if (at == n || text[at] != '[') {
    *error = sqlite3_mprintf("a vector in text form starts with '[', found '%.1s' at byte %llu", at < n ? text + at : "?",
                             (sqlite3_uint64)at);
    return SQLITE_ERROR;
  }
  at++;
  rc = parse_elements(text, n, &at, type, &buffer, dim, error);
  if (rc == SQLITE_OK && buffer.bytes == NULL) {
    /* An empty vector is still a pointer, so that NULL always means failure. */
    buffer.bytes = sqlite3_malloc64(1);
    if (buffer.bytes == NULL) rc = SQLITE_NOMEM;
  }
  if (rc != SQLITE_OK) {
    sqlite3_free(buffer.bytes);
    return rc;
  }
  *out = buffer.bytes;
  return SQLITE_OK;
}

/* ---- options -------------------------------------------------------------------------------- */

static bsv_slice trimmed(const char *text, size_t n) {
  while (n > 0 && is_blank(text[0])) text++, n--;
  while (n > 0 && is_blank(text[n - 1])) n--;
  bsv_slice slice = {text, n};
  return slice;
}

int bsv_slice_equals(bsv_slice slice, const char *word) {
  return strlen(word) == slice.n && sqlite3_strnicmp(slice.text, word, (int)slice.n) == 0;
}

int bsv_slice_integer(bsv_slice slice, int64_t *value) {
  size_t i = 0;
  int negative = 0;
  uint64_t magnitude = 0, limit = INT64_MAX;
  if (i < slice.n && (slice.text[i] == '+' || slice.text[i] == '-')) negative = slice.text[i++] == '-';
  int base = 10;
  if (slice.n - i > 2 && slice.text[i] == '0' && (slice.text[i + 1] | 32) == 'x' && is_hex_digit(slice.text[i + 2])) {
    base = 16;
    i += 2;
  }
  size_t first = i;
  for (; i < slice.n; i++) {
    char c = slice.text[i];
    int digit;
    if (is_digit(c)) {
      digit = c - '0';
    } else if (base == 16 && is_hex_digit(c)) {
      digit = (c | 32) - 'a' + 10;
    } else {
      break;
    }
    if (magnitude > (limit - (uint64_t)digit) / (uint64_t)base) {
      magnitude = limit; /* saturates: no option means anything up there */
    } else {
      magnitude = magnitude * (uint64_t)base + (uint64_t)digit;
    }
  }
  if (i == first) return 0;
  *value = negative ? -(int64_t)magnitude : (int64_t)magnitude;
  return 1;
}

int bsv_next_option(bsv_slice *rest, bsv_slice *key, bsv_slice *value) {
  while (rest->n > 0) {
    const char *comma = memchr(rest->text, ',', rest->n);
    size_t length = comma ? (size_t)(comma - rest->text) : rest->n;
    const char *item = rest->text;
    rest->text += length + (comma != NULL);
    rest->n -= length + (comma != NULL);
    const char *equals = memchr(item, '=', length);
    if (equals == NULL) continue;
    *key = trimmed(item, (size_t)(equals - item));
    *value = trimmed(equals + 1, length - (size_t)(equals - item) - 1);
    if (key->n > 0 && value->n > 0) return 1;
  }
  return 0;
}
