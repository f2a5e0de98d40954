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
  bsv_qtype qtype;          /* BSV_QTYPE_AUTO: INT8 or UINT8 by the data */
  int64_t max_memory_bytes; /* largest chunk of published codes; 0: not given */
  int rescore;              /* see bsv_codec; BSV_RESCORE_DEFAULT: by the quantizer */
  int track;                /* log changes of the table; BSV_TRACK_DEFAULT: yes, or as it was */
  int full;                 /* code every row again, whatever changed */
} bsv_quantize_options;

#define BSV_RESCORE_DEFAULT -2
#define BSV_TRACK_DEFAULT -1

/* One vector column, as vector_init() declared it on this connection. */
typedef struct bsv_column {
  struct bsv_column *next;
  char *table; /* as sqlite_schema spells it */
  char *column;
  char *rowid;      /* quoted expression that reads the row's id: an alias of the rowid, or the key */
  char *shadow;     /* table of published codes */
  char *own_shadow; /* table of our own quantizer's codes */
  char *log;        /* table of changed rows */
  int is_virtual;   /* a virtual table: no triggers, so no log */
  bsv_type type;
  bsv_metric metric;
  int normalized;
  int64_t dim;
  bsv_quantize_options options;
  bsv_codec codec;      /* of the stored codes, as this connection last read it */
  bsv_rabitq rabitq;    /* our own quantizer made ready for `rabitq_lineage`; 0: not yet */
  int64_t rabitq_lineage;
  int damaged;          /* a scan found the stored codes damaged: the next quantization is a full one */
  bsv_codes *preloaded; /* published codes in memory, after vector_quantize_preload() */
} bsv_column;

static inline const char *bsv_column_shadow(const bsv_column *column, bsv_qtype qtype) {
  return bsv_qtype_is_own(qtype) ? column->own_shadow : column->shadow;
}

/* What the last two-stage search of a connection did. */
typedef struct bsv_search_stats {
  int64_t scan_ns, rescore_ns;
  int64_t candidates, rescored;
  int passes; /* scans of all codes */
} bsv_search_stats;

typedef struct bsv_conn {
  sqlite3 *db;
  int references; /* one per registered function and module */
  const bsv_kernels *kernels;
  bsv_cache *cache;
  bsv_column *columns;
  bsv_search_stats stats;
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

/* Brings `column->rabitq` up to date with `column->codec`, which has one of our own quantizers. */
int bsv_column_rabitq(bsv_conn *conn, bsv_column *column);

/* Names of the tables of codes, to sqlite3_free(); NULL when out of memory. */
char *bsv_shadow_name(const char *table, const char *column);
char *bsv_own_shadow_name(const char *table, const char *column);

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
