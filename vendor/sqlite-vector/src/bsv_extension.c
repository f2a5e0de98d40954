/*
** SQL glue: registration, and the scalar functions.
**
** A function here unpacks its arguments, checks their types, calls what does the work, and sets the
** result. The table-valued functions are in bsv_scan.c, the distances in bsv_distance.c.
*/
#define BSV_DEFINES_SQLITE3_API
#include "bsv_sqlite.h"

#include <string.h>

#include "bsv_conn.h"
#include "bsv_distance.h"
#include "bsv_quantize.h"
#include "bsv_scan.h"
#include "bsv_text.h"
#include "bsv_version.h"
#include "sqlite-vector.h"

/* ---- results and arguments ------------------------------------------------------------------ */

static bsv_conn *conn_of(sqlite3_context *context) { return sqlite3_user_data(context); }

/* Frees `message`; without one, SQLite's own words are used. */
static void result_error(sqlite3_context *context, int rc, char *message) {
  if (rc == SQLITE_NOMEM) {
    sqlite3_result_error_nomem(context);
  } else if (rc == SQLITE_TOOBIG && message == NULL) {
    sqlite3_result_error_toobig(context);
  } else {
    sqlite3_result_error(context, message ? message : sqlite3_errmsg(sqlite3_context_db_handle(context)), -1);
    sqlite3_result_error_code(context, rc);
  }
  sqlite3_free(message);
}

static const char *value_type_name(sqlite3_value *value) {
  switch (sqlite3_value_type(value)) {
    case SQLITE_INTEGER:
      return "INTEGER";
    case SQLITE_FLOAT:
      return "REAL";
    case SQLITE_TEXT:
      return "TEXT";
    case SQLITE_BLOB:
      return "BLOB";
    default:
      return "NULL";
  }
}

/* Sets an error unless the first `n` arguments are TEXT. */
static int arguments_are_text(sqlite3_context *context, const char *function, int n, sqlite3_value **argv) {
  for (int i = 0; i < n; i++) {
    if (sqlite3_value_type(argv[i]) != SQLITE_TEXT) {
      result_error(context, SQLITE_ERROR,
                   sqlite3_mprintf("%s: argument %d must be TEXT, got %s", function, i + 1, value_type_name(argv[i])));
      return 0;
    }
    if (sqlite3_value_text(argv[i]) == NULL) {
      sqlite3_result_error_nomem(context);
      return 0;
    }
  }
  return 1;
}

static const char *text_of(sqlite3_value *value) { return (const char *)sqlite3_value_text(value); }

/* The column that the first two arguments name, or NULL with an error set. */
static bsv_column *column_of(sqlite3_context *context, const char *function, sqlite3_value **argv) {
  bsv_column *column = bsv_conn_column(conn_of(context), text_of(argv[0]), text_of(argv[1]));
  if (column == NULL) {
    result_error(context, SQLITE_ERROR,
                 sqlite3_mprintf("%s: '%s.%s' is not a vector column of this connection: call vector_init() first", function,
                                 text_of(argv[0]), text_of(argv[1])));
  }
  return column;
}

/* ---- functions ------------------------------------------------------------------------------ */

static void vector_version(sqlite3_context *context, int argc, sqlite3_value **argv) {
  (void)argc, (void)argv;
  sqlite3_result_text(context, BSV_VERSION, -1, SQLITE_STATIC);
}

static void vector_backend(sqlite3_context *context, int argc, sqlite3_value **argv) {
  (void)argc, (void)argv;
  sqlite3_result_text(context, conn_of(context)->kernels->name, -1, SQLITE_STATIC);
}

static void vector_as(sqlite3_context *context, bsv_type type, int argc, sqlite3_value **argv) {
  int64_t want = argc > 1 ? sqlite3_value_int64(argv[1]) : 0; /* 0 and below: any dimension */
  if (sqlite3_value_type(argv[0]) == SQLITE_BLOB) {
    uint64_t bytes = (uint64_t)sqlite3_value_bytes(argv[0]);
    uint64_t size = type == BSV_BIT ? 1 : bsv_vector_bytes(type, 1);
    if (bytes % size != 0) {
      result_error(context, SQLITE_ERROR,
                   sqlite3_mprintf("a BLOB of %s elements must have a multiple of %llu bytes, got %llu", bsv_type_name(type),
                                   size, bytes));
    } else if (type == BSV_BIT && want > 0 && bytes != bsv_vector_bytes(BSV_BIT, (uint64_t)want)) {
      result_error(context, SQLITE_ERROR,
                   sqlite3_mprintf("a BLOB of %lld bits must have %llu bytes, got %llu", want,
                                   bsv_vector_bytes(BSV_BIT, (uint64_t)want), bytes));
    } else {
      sqlite3_result_value(context, argv[0]);
    }
    return;
  }
  if (sqlite3_value_type(argv[0]) != SQLITE_TEXT) {
    result_error(context, SQLITE_ERROR,
                 sqlite3_mprintf("a vector must be TEXT or BLOB, got %s", value_type_name(argv[0])));
    return;
  }
  void *vector;
  size_t dim;
  char *error;
  const char *text = text_of(argv[0]);
  int rc = text ? bsv_parse_vector(text, (size_t)sqlite3_value_bytes(argv[0]), type, &vector, &dim, &error) : SQLITE_NOMEM;
  if (rc != SQLITE_OK) {
    result_error(context, rc, text ? error : NULL);
  } else if (want > 0 && (int64_t)dim != want) {
    sqlite3_free(vector);
    result_error(context, SQLITE_ERROR,
                 sqlite3_mprintf("expected a vector of %lld elements, got %llu", want, (sqlite3_uint64)dim));
  } else {
    sqlite3_result_blob64(context, vector, bsv_vector_bytes(type, dim), sqlite3_free);
  }
}

static void vector_as_f32(sqlite3_context *c, int n, sqlite3_value **v) { vector_as(c, BSV_F32, n, v); }
static void vector_as_f16(sqlite3_context *c, int n, sqlite3_value **v) { vector_as(c, BSV_F16, n, v); }
static void vector_as_bf16(sqlite3_context *c, int n, sqlite3_value **v) { vector_as(c, BSV_BF16, n, v); }
static void vector_as_i8(sqlite3_context *c, int n, sqlite3_value **v) { vector_as(c, BSV_I8, n, v); }
static void vector_as_u8(sqlite3_context *c, int n, sqlite3_value **v) { vector_as(c, BSV_U8, n, v); }
static void vector_as_bit(sqlite3_context *c, int n, sqlite3_value **v) { vector_as(c, BSV_BIT, n, v); }

static void vector_init(sqlite3_context *context, int argc, sqlite3_value **argv) {
  char *error;
  if (!arguments_are_text(context, "vector_init", argc, argv)) return;
  int rc = bsv_conn_init_column(conn_of(context), text_of(argv[0]), text_of(argv[1]), text_of(argv[2]),
                                (size_t)sqlite3_value_bytes(argv[2]), &error);
  if (rc != SQLITE_OK) result_error(context, rc, error);
}

static void vector_quantize(sqlite3_context *context, int argc, sqlite3_value **argv) {
  char *error;
  int64_t rows;
  if (!arguments_are_text(context, "vector_quantize", argc, argv)) return;
  bsv_column *column = column_of(context, "vector_quantize", argv);
  if (column == NULL) return;
  const char *options = argc > 2 ? text_of(argv[2]) : "";
  int rc = bsv_quantize(conn_of(context), column, options, argc > 2 ? (size_t)sqlite3_value_bytes(argv[2]) : 0, &rows, &error);
  if (rc != SQLITE_OK) {
    result_error(context, rc, error);
  } else {
    sqlite3_result_int64(context, rows);
  }
}

static void vector_quantize_memory(sqlite3_context *context, int argc, sqlite3_value **argv) {
  int64_t bytes;
  if (!arguments_are_text(context, "vector_quantize_memory", argc, argv)) return;
  int rc = bsv_quantize_memory(conn_of(context)->db, text_of(argv[0]), text_of(argv[1]), &bytes);
  if (rc != SQLITE_OK) {
    result_error(context, rc, NULL);
  } else {
    sqlite3_result_int64(context, bytes);
  }
}

static void vector_quantize_preload(sqlite3_context *context, int argc, sqlite3_value **argv) {
  char *error;
  if (!arguments_are_text(context, "vector_quantize_preload", argc, argv)) return;
  bsv_column *column = column_of(context, "vector_quantize_preload", argv);
  if (column == NULL) return;
  const char *options = argc > 2 ? text_of(argv[2]) : "";
  int rc = bsv_preload(conn_of(context), column, options, argc > 2 ? (size_t)sqlite3_value_bytes(argv[2]) : 0, &error);
  if (rc != SQLITE_OK) result_error(context, rc, error);
}

static void vector_quantize_cleanup(sqlite3_context *context, int argc, sqlite3_value **argv) {
  if (!arguments_are_text(context, "vector_quantize_cleanup", argc, argv)) return;
  int rc = bsv_cleanup(conn_of(context), text_of(argv[0]), text_of(argv[1]));
  if (rc != SQLITE_OK) result_error(context, rc, NULL);
}

static void vector_quantize_stats(sqlite3_context *context, int argc, sqlite3_value **argv) {
  char *error, *json = NULL;
  if (!arguments_are_text(context, "vector_quantize_stats", argc, argv)) return;
  bsv_column *column = column_of(context, "vector_quantize_stats", argv);
  if (column == NULL) return;
  int rc = bsv_quantize_stats(conn_of(context), column, &json, &error);
  if (rc != SQLITE_OK) {
    result_error(context, rc, error);
  } else {
    sqlite3_result_text(context, json, -1, sqlite3_free);
  }
}

/* ---- registration --------------------------------------------------------------------------- */

/* What touches tables or per-connection state is neither deterministic nor innocuous: an untrusted
** schema may not call it, a trusted view or trigger may. */
#define PURE (SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS)
#define ACTS SQLITE_UTF8

static const struct {
  const char *name;
  int argc;
  int flags;
  void (*function)(sqlite3_context *, int, sqlite3_value **);
} functions[] = {
    {"vector_version", 0, PURE, vector_version},
    {"vector_backend", 0, SQLITE_UTF8 | SQLITE_INNOCUOUS, vector_backend},
    {"vector_turboquant_backend", 0, SQLITE_UTF8 | SQLITE_INNOCUOUS, vector_backend},
    {"vector_as_f32", 1, PURE, vector_as_f32},
    {"vector_as_f32", 2, PURE, vector_as_f32},
    {"vector_as_f16", 1, PURE, vector_as_f16},
    {"vector_as_f16", 2, PURE, vector_as_f16},
    {"vector_as_bf16", 1, PURE, vector_as_bf16},
    {"vector_as_bf16", 2, PURE, vector_as_bf16},
    {"vector_as_i8", 1, PURE, vector_as_i8},
    {"vector_as_i8", 2, PURE, vector_as_i8},
    {"vector_as_u8", 1, PURE, vector_as_u8},
    {"vector_as_u8", 2, PURE, vector_as_u8},
    {"vector_as_bit", 1, PURE, vector_as_bit},
    {"vector_as_bit", 2, PURE, vector_as_bit},
    {"vector_init", 3, ACTS, vector_init},
    {"vector_quantize", 2, ACTS, vector_quantize},
    {"vector_quantize", 3, ACTS, vector_quantize},
    {"vector_quantize_memory", 2, ACTS, vector_quantize_memory},
    {"vector_quantize_preload", 2, ACTS, vector_quantize_preload},
    {"vector_quantize_preload", 3, ACTS, vector_quantize_preload},
    {"vector_quantize_cleanup", 2, ACTS, vector_quantize_cleanup},
    {"vector_quantize_stats", 2, ACTS, vector_quantize_stats},
};

/* Functions and modules share the state, each with its own reference. */
static int register_all(bsv_conn *conn) {
  for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
    conn->references++;
    /* On failure SQLite gives the reference back itself. */
    int rc = sqlite3_create_function_v2(conn->db, functions[i].name, functions[i].argc, functions[i].flags, conn,
                                        functions[i].function, NULL, NULL, bsv_conn_unref);
    if (rc != SQLITE_OK) return rc;
  }
  int rc = bsv_distance_register(conn);
  return rc == SQLITE_OK ? bsv_scan_register(conn) : rc;
}

int bsv_register(sqlite3 *db, bsv_cache *cache) {
  bsv_cache *private_cache = NULL;
  if (cache == NULL) {
    cache = private_cache = bsv_cache_new();
    if (cache == NULL) return SQLITE_NOMEM;
  }
  bsv_conn *conn = bsv_conn_new(db, cache);
  bsv_cache_unref(private_cache); /* the connection has its own reference by now */
  if (conn == NULL) return SQLITE_NOMEM;
  int rc = register_all(conn);
  bsv_conn_unref(conn);
  return rc;
}

int sqlite3_vector_init(sqlite3 *db, char **error_message, const sqlite3_api_routines *api) {
  (void)error_message; /* SQLite's own message for the code says as much */
#ifndef SQLITE_CORE
  SQLITE_EXTENSION_INIT2(api);
#else
  (void)api;
#endif
  return bsv_register(db, NULL);
}
