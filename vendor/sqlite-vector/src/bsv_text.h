/* Text that users write: JSON-like vectors and `key=value` option strings. Pure but for memory. */
#ifndef BSV_TEXT_H
#define BSV_TEXT_H

#include <stddef.h>
#include <stdint.h>

#include "bsv_vector.h"

/*
** Parses `[1, 2.5, ...]` into a vector of `type`. More is accepted than JSON has: NaN, infinity,
** hexadecimal numbers, a sign +, a comma before `]`, anything after `]`, and no `]` after a comma.
**
** On success `*out` is the caller's to sqlite3_free() and `*dim` counts elements. Otherwise `*out`
** is NULL, and `*error` is a message to free, or NULL when memory ran out.
** Returns SQLITE_OK, SQLITE_ERROR or SQLITE_NOMEM.
*/
int bsv_parse_vector(const char *text, size_t n, bsv_type type, void **out, size_t *dim, char **error);

/* A key or value: not terminated, blanks around it removed. */
typedef struct bsv_slice {
  const char *text;
  size_t n;
} bsv_slice;

int bsv_slice_equals(bsv_slice slice, const char *word); /* letters of either case are equal */

/* The whole number at the start of the slice (sign, decimal or 0x); 0 when there is none. */
int bsv_slice_integer(bsv_slice slice, int64_t *value);

/*
** Takes the next `key=value` out of `rest`, which shrinks. Items are parted by commas; those without
** a key or a value are passed over. Returns 0 at the end.
*/
int bsv_next_option(bsv_slice *rest, bsv_slice *key, bsv_slice *value);

#endif
