/*
** What a scan reads of one column: prepared statements, kept between scans, and the state of codes and
** change log in the connection's snapshot.
**
** Reading never writes. From bsv_source_begin() to bsv_source_end() a statement stays open, so that
** everything between comes from one snapshot even where the caller's own statement does not hold one.
*/
#ifndef BSV_SOURCE_H
#define BSV_SOURCE_H

#include "bsv_conn.h"
#include "bsv_idset.h"

typedef struct bsv_source {
  struct bsv_source *next;
  bsv_column *column;
  sqlite3_stmt *stamp;   /* the metadata's stamp */
  sqlite3_stmt *changes; /* (id, vector) of the rows in the change log, in order of ids */
  sqlite3_stmt *row;     /* the vector of rowid ?1 */
  int reprepared;        /* how often `stamp` had to be prepared again: a change means a new schema */
  int intact;            /* log and triggers existed when the schema was last looked at */
} bsv_source;

/* The source of a column in a list of them, made when it is new. SQLITE_OK or SQLITE_NOMEM. */
int bsv_source_of(bsv_source **list, bsv_column *column, bsv_source **source);
void bsv_source_free_all(bsv_source **list);

/* What bsv_source_begin() found. */
typedef enum bsv_state {
  BSV_STATE_NO_CODES, /* nothing is quantized */
  BSV_STATE_CODES,    /* codes, and, if they are tracked, a log of what they miss */
  BSV_STATE_LOST      /* tracked codes whose log is gone: nothing is known about any row */
} bsv_state;

/* Opens the snapshot and brings `column->codec` up to date with it. End it in any case. */
int bsv_source_begin(bsv_source *source, sqlite3 *db, bsv_state *state);
void bsv_source_end(bsv_source *source);

/*
** Walks over rows by id. `stmt` is the statement for the changes of tracked codes, or for the whole
** table; *vector is NULL where the row is gone or holds no vector. SQLITE_ROW, SQLITE_DONE or an error.
*/
int bsv_next_row(sqlite3_stmt *stmt, uint64_t bytes, int64_t *id, const void **vector);

/* Prepares `changes` or `row` if need be. */
int bsv_source_changes(bsv_source *source, sqlite3 *db);
int bsv_source_row(bsv_source *source, sqlite3 *db);

/* The ids in the change log, in order. */
int bsv_source_changed_ids(bsv_source *source, sqlite3 *db, bsv_idset *ids);

#endif
