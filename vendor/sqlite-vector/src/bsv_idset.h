/* A sorted set of row ids, such as a filter or the rows that changed. Pure but for memory. */
#ifndef BSV_IDSET_H
#define BSV_IDSET_H

#include <stddef.h>
#include <stdint.h>

typedef struct bsv_idset {
  int64_t *ids; /* ascending, no id twice; owned */
  size_t n, capacity;
} bsv_idset;

void bsv_idset_clear(bsv_idset *set);

/* Adds an id that is above all others. SQLITE_OK or SQLITE_NOMEM. */
int bsv_idset_append(bsv_idset *set, int64_t id);

/* Makes a set of n packed int64 (little-endian, any order, repetitions allowed). SQLITE_OK or SQLITE_NOMEM. */
int bsv_idset_unpack(bsv_idset *set, const void *packed, size_t n);

/* Index of the first id that is not below `id`, at or after `from`. Fast when it is near `from`. */
size_t bsv_idset_seek(const bsv_idset *set, size_t from, int64_t id);

int bsv_idset_contains(const bsv_idset *set, int64_t id);

/* Removes from `set` what `other` has. */
void bsv_idset_subtract(bsv_idset *set, const bsv_idset *other);

#endif
