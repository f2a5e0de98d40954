/*
** State of one connection: its kernels, its cache, and the columns that vector_init() named.
**
** A connection is used by one thread at a time, so nothing here is locked; what several connections
** share is in bsv_cache.c.
*/
#ifndef BSV_CONN_H
#define BSV_CONN_H

#include "bsv_codes.h"
#include "bsv_kernels.h"
#include "bsv_sqlite.h"
#include "bsv_vector.h"
#include "sqlite-vector.h"

/* What vector_quantize() does when its own options do not say; vector_init() takes the same keys. */
typedef struct bsv_quantize_options {
  bsv_qtype qtype; /* BSV_QTYPE_AUTO: INT8 or UINT8 by the data */
  int64_t max_memory_bytes;
} bsv_quantize_options;

/* One vector column, as vector_init() declared it on this connection. */
typedef struct bsv_column {
  struct bsv_column *next;
  char *table;    /* as sqlite_schema spells it */
  char *column;
  char *rowid;    /* quoted expression that reads the row's id: an alias of the rowid, or the key */
  char *shadow;   /* table of the quantized codes */
  bsv_type type;
  bsv_metric metric;
  int normalized;
  int64_t dim;
  bsv_quantize_options options;
  bsv_codec codec;      /* of the stored codes, as this connection last read it */
  bsv_codes *preloaded; /* NULL unless vector_quantize_preload() was called */
} bsv_column;

typedef struct bsv_conn {
  sqlite3 *db;
  int references; /* one per registered function and module */
  const bsv_kernels *kernels;
  bsv_cache *cache;
  bsv_column *columns;
} bsv_conn;

/* A connection state with one reference; takes a reference to `cache`. NULL when out of memory. */
bsv_conn *bsv_conn_new(sqlite3 *db, bsv_cache *cache);
void bsv_conn_unref(void *conn); /* fit for xDestroy */

/* The column, or NULL when vector_init() has not named it here. Letters of either case are equal. */
bsv_column *bsv_conn_column(bsv_conn *conn, const char *table, const char *column);

/*
** Declares a column (vector_init). SQLITE_OK, or an error code with a message to free in `*error`
** (NULL message: out of memory, or sqlite3_errmsg() has it).
*/
int bsv_conn_init_column(bsv_conn *conn, const char *table, const char *column, const char *options, size_t n_options,
                         char **error);

/* Applies quantization options to `options`. Same error convention. Unknown keys are passed over. */
int bsv_parse_quantize_options(const char *text, size_t n, bsv_quantize_options *options, char **error);

/* Bytes of one stored vector of the column. */
static inline uint64_t bsv_column_bytes(const bsv_column *column) {
  return bsv_vector_bytes(column->type, (uint64_t)column->dim);
}

/* Prepares SQL made with sqlite3_mprintf()'s conversions. */
int bsv_prepare(sqlite3 *db, sqlite3_stmt **stmt, const char *format, ...);
/* Runs one statement without results, made in the same way. */
int bsv_exec(sqlite3 *db, const char *format, ...);

#endif
