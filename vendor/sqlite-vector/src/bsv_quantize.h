/* Writing and loading of a column's quantized codes: vector_quantize() and its companions. */
#ifndef BSV_QUANTIZE_H
#define BSV_QUANTIZE_H

#include "bsv_conn.h"

/*
** Codes every vector of the column and stores the codes, all or nothing. `*rows` is the number
** coded. Error convention of bsv_conn_init_column().
*/
int bsv_quantize(bsv_conn *conn, bsv_column *column, const char *options, size_t n_options, int64_t *rows, char **error);

/* Loads the codes into this connection. Does nothing when they are loaded. */
int bsv_preload(bsv_conn *conn, bsv_column *column, char **error);

/* Drops the codes of a column that need not be declared; the metadata stays. */
int bsv_cleanup(bsv_conn *conn, const char *table, const char *column);

/* Bytes that the codes take in the file; 0 when there are none. */
int bsv_quantize_memory(sqlite3 *db, const char *table, const char *column, int64_t *bytes);

#endif
