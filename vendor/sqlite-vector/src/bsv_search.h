/*
** Top-k search of one column: exactly over the table, over published codes, or in two stages over our
** own codes. Filters and changed rows are handled here; arguments and cursors are bsv_scan.c's.
*/
#ifndef BSV_SEARCH_H
#define BSV_SEARCH_H

#include "bsv_conn.h"
#include "bsv_idset.h"
#include "bsv_source.h"
#include "bsv_topk.h"

typedef struct bsv_search {
  bsv_conn *conn;
  bsv_source *source;
  bsv_column *column;
  const void *vector;      /* the query, as bytes of the column's type */
  const bsv_idset *filter; /* rows that may be found; NULL: all */
  bsv_topk *top;           /* initialized with k; gets the hits, unsorted */
} bsv_search;

/* All of these return SQLITE_OK or an error code; SQLITE_CORRUPT means damaged codes. */
int bsv_search_exact(bsv_search *search);     /* every row of the table, or of the filter */
int bsv_search_published(bsv_search *search); /* INT8, UINT8, 1BIT */
int bsv_search_own(bsv_search *search);       /* our own quantizer */

/* Prepares the query for exact distances; clear it in any case. */
int bsv_search_exact_query(const bsv_search *search, bsv_query *query);
/* Prepares the query as a published code. */
int bsv_search_code_query(const bsv_search *search, bsv_query *query);

/*
** Walks over the change log: adds every id to `changed`, and offers the rows that still have a vector
** by their exact distance, unless the filter leaves them out.
*/
int bsv_search_changes(bsv_search *search, const bsv_query *exact, bsv_idset *changed);

/* The exact distance of one row of the table; infinite when it is gone. */
int bsv_search_row(bsv_search *search, const bsv_query *exact, int64_t id, float *distance);

/*
** The changed rows as records of published codes, in order; ids alone of those that are gone. The
** caller frees `records->records`.
*/
int bsv_search_fresh_records(bsv_search *search, bsv_idset *changed, bsv_chunk *records);

#endif
