/* Writing and loading of a column's quantized codes: vector_quantize() and its companions. */
#ifndef BSV_QUANTIZE_H
#define BSV_QUANTIZE_H

#include "bsv_conn.h"
#include "bsv_text.h"
#include "bsv_view.h"

/*
** Codes every vector of the column and stores the codes, all or nothing. `*rows` is the number
** coded. Error convention of bsv_conn_init_column().
*/
int bsv_quantize(bsv_conn *conn, bsv_column *column, const char *options, size_t n_options, int64_t *rows, char **error);

/*
** Loads the codes: published ones into this connection, our own into the shared cache; with `rows=1`
** the exact vectors, too. Does nothing when they are loaded. Same error convention.
*/
int bsv_preload(bsv_conn *conn, bsv_column *column, const char *options, size_t n_options, char **error);

/*
** The view of our own codes for `column->codec`, which the caller has just read in its snapshot; from
** the cache, or loaded and given to it. One reference.
*/
int bsv_open_view(bsv_conn *conn, const bsv_column *column, bsv_view **view);

/* Drops the codes of a column that need not be declared; the metadata stays. */
int bsv_cleanup(bsv_conn *conn, const char *table, const char *column);

/* Bytes that the codes take in the file; 0 when there are none. */
int bsv_quantize_memory(sqlite3 *db, const char *table, const char *column, int64_t *bytes);

/*
** Describes the last two-stage search of this connection, and times a plain read of the column's
** codes in memory: a JSON object, to sqlite3_free(). Error convention of bsv_conn_init_column().
*/
int bsv_quantize_stats(bsv_conn *conn, bsv_column *column, char **json, char **error);

/* The message for codes that cannot be read, to sqlite3_free(). */
char *bsv_damaged_message(const bsv_column *column);

#endif
