/* A sorted set of row ids. */
#include "bsv_idset.h"

#include <stdlib.h>
#include <string.h>

#include "bsv_sqlite.h"

void bsv_idset_clear(bsv_idset *set) {
  sqlite3_free(set->ids);
  memset(set, 0, sizeof *set);
}

int bsv_idset_append(bsv_idset *set, int64_t id) {
  if (set->n == set->capacity) {
    size_t larger = set->capacity ? set->capacity * 2 : 16;
    int64_t *ids = sqlite3_realloc64(set->ids, larger * sizeof *ids);
    if (ids == NULL) return SQLITE_NOMEM;
    set->ids = ids;
    set->capacity = larger;
  }
  set->ids[set->n++] = id;
  return SQLITE_OK;
}

static int compare_ids(const void *a, const void *b) {
  int64_t x, y;
  memcpy(&x, a, sizeof x);
  memcpy(&y, b, sizeof y);
  return x < y ? -1 : x > y;
}

int bsv_idset_unpack(bsv_idset *set, const void *packed, size_t n) {
  const uint8_t *bytes = packed;
  int ascending = 1;
  memset(set, 0, sizeof *set);
  if (n == 0) return SQLITE_OK;
  set->ids = sqlite3_malloc64(n * sizeof *set->ids);
  if (set->ids == NULL) return SQLITE_NOMEM;
  set->capacity = n;
  for (size_t i = 0; i < n; i++) {
    uint64_t id = 0;
    for (int b = 7; b >= 0; b--) id = id << 8 | bytes[8 * i + (size_t)b];
    set->ids[i] = (int64_t)id;
    if (i > 0 && set->ids[i] <= set->ids[i - 1]) ascending = 0;
  }
  set->n = n;
  if (ascending) return SQLITE_OK; /* the usual case: such lists come out of an index */
  qsort(set->ids, n, sizeof *set->ids, compare_ids);
  size_t kept = 1;
  for (size_t i = 1; i < n; i++) {
    if (set->ids[i] != set->ids[kept - 1]) set->ids[kept++] = set->ids[i];
  }
  set->n = kept;
  return SQLITE_OK;
}

size_t bsv_idset_seek(const bsv_idset *set, size_t from, int64_t id) {
  size_t step = 1, low = from, high = from;
  while (high < set->n && set->ids[high] < id) { /* doubling steps, then halving */
    low = high + 1;
    high += step;
    step *= 2;
  }
  if (high > set->n) high = set->n;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (set->ids[middle] < id) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

int bsv_idset_contains(const bsv_idset *set, int64_t id) {
  size_t at = bsv_idset_seek(set, 0, id);
  return at < set->n && set->ids[at] == id;
}

void bsv_idset_subtract(bsv_idset *set, const bsv_idset *other) {
  size_t kept = 0, at = 0;
  if (other->n == 0) return;
  for (size_t i = 0; i < set->n; i++) {
    at = bsv_idset_seek(other, at, set->ids[i]);
    if (at == other->n || other->ids[at] != set->ids[i]) set->ids[kept++] = set->ids[i];
  }
  set->n = kept;
}
