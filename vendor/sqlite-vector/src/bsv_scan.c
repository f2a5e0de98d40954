/*
** The scans as eponymous virtual tables: argument rules, the cursor, and the two ways to run.
**
** With k a scan is complete after xFilter and the cursor walks over sorted hits; without k it
** streams, one row at a time. What a distance is belongs to bsv_vector.c.
*/
#include "bsv_scan.h"

#include <string.h>

#include "bsv_quantize.h"
#include "bsv_text.h"
#include "bsv_topk.h"

/* The names of the hidden columns are the published ones; they do not say what the arguments are. */
enum { ARG_TABLE, ARG_COLUMN, ARG_VECTOR, ARG_K, N_ARGS, COL_ID = N_ARGS, COL_DISTANCE };
#define SCAN_SCHEMA "CREATE TABLE x(tbl HIDDEN, vector HIDDEN, k HIDDEN, memidx HIDDEN, id, distance)"

enum { SCAN_FULL, SCAN_QUANTIZED };

const char *const bsv_scan_names[] = {"vector_full_scan", "vector_quantize_scan", "vector_full_scan_stream",
                                      "vector_quantize_scan_stream", NULL};

/* What a module is registered with. */
typedef struct scan_module {
  bsv_conn *conn;
  const char *name; /* for messages */
  int kind;
} scan_module;

typedef struct scan_table {
  sqlite3_vtab base;
  scan_module *module;
} scan_table;

typedef struct scan_cursor {
  sqlite3_vtab_cursor base;
  int streaming, at_end;
  /* with k */
  bsv_topk top;
  uint64_t next_hit;
  /* without k */
  bsv_query query;
  sqlite3_stmt *rows; /* a full scan's */
  bsv_codes *codes;   /* a quantized scan's */
  size_t next_chunk;
  uint64_t next_record;
  /* the current row */
  int64_t id;
  float distance;
} scan_cursor;

/* ---- module plumbing ------------------------------------------------------------------------ */

static int scan_connect(sqlite3 *db, void *aux, int argc, const char *const *argv, sqlite3_vtab **out, char **error) {
  (void)argc, (void)argv, (void)error;
  int rc = sqlite3_declare_vtab(db, SCAN_SCHEMA);
  if (rc != SQLITE_OK) return rc;
  scan_table *table = sqlite3_malloc64(sizeof *table);
  if (table == NULL) return SQLITE_NOMEM;
  memset(table, 0, sizeof *table);
  table->module = aux;
  *out = &table->base;
  return SQLITE_OK;
}

static int scan_disconnect(sqlite3_vtab *table) {
  sqlite3_free(table);
  return SQLITE_OK;
}

static int scan_best_index(sqlite3_vtab *table, sqlite3_index_info *info) {
  int constraint_of[N_ARGS] = {0}; /* 1 + index of the constraint that gives the argument */
  (void)table;
  for (int i = 0; i < info->nConstraint; i++) {
    int column = info->aConstraint[i].iColumn;
    if (column < 0 || column >= N_ARGS || info->aConstraint[i].op != SQLITE_INDEX_CONSTRAINT_EQ) continue;
    if (!info->aConstraint[i].usable) return SQLITE_CONSTRAINT; /* plan another join order */
    if (constraint_of[column] == 0) constraint_of[column] = i + 1;
  }
  int n_args = 0;
  for (int column = 0; column < N_ARGS; column++) {
    if (constraint_of[column] == 0) continue;
    struct sqlite3_index_constraint_usage *usage = &info->aConstraintUsage[constraint_of[column] - 1];
    usage->argvIndex = ++n_args;
    usage->omit = 1; /* a hidden column reads back as NULL, so SQLite cannot check it again */
    info->idxNum |= 1 << column;
  }
  int top_k = info->idxNum >> ARG_K & 1;
  info->estimatedCost = 1e6;
  info->estimatedRows = top_k ? 25 : 100000;
  info->orderByConsumed =
      top_k && info->nOrderBy == 1 && info->aOrderBy[0].iColumn == COL_DISTANCE && !info->aOrderBy[0].desc;
  return SQLITE_OK;
}

static int scan_open(sqlite3_vtab *table, sqlite3_vtab_cursor **out) {
  (void)table;
  scan_cursor *cursor = sqlite3_malloc64(sizeof *cursor);
  if (cursor == NULL) return SQLITE_NOMEM;
  memset(cursor, 0, sizeof *cursor);
  cursor->at_end = 1;
  *out = &cursor->base;
  return SQLITE_OK;
}

static void scan_reset(scan_cursor *cursor) {
  sqlite3_vtab_cursor base = cursor->base;
  bsv_topk_clear(&cursor->top);
  bsv_query_clear(&cursor->query);
  sqlite3_finalize(cursor->rows);
  bsv_codes_unref(cursor->codes);
  memset(cursor, 0, sizeof *cursor);
  cursor->base = base;
  cursor->at_end = 1;
}

static int scan_close(sqlite3_vtab_cursor *base) {
  scan_reset((scan_cursor *)base);
  sqlite3_free(base);
  return SQLITE_OK;
}

static int scan_eof(sqlite3_vtab_cursor *base) { return ((scan_cursor *)base)->at_end; }

static int scan_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int column) {
  scan_cursor *cursor = (scan_cursor *)base;
  if (column == COL_ID) sqlite3_result_int64(context, cursor->id);
  if (column == COL_DISTANCE) sqlite3_result_double(context, cursor->distance);
  return SQLITE_OK;
}

static int scan_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *rowid) {
  *rowid = ((scan_cursor *)base)->id;
  return SQLITE_OK;
}

/* ---- errors --------------------------------------------------------------------------------- */

/* Sets the table's message, which takes over `message`. NULL: out of memory. */
static int fail(scan_table *table, int rc, char *message) {
  if (message == NULL) return SQLITE_NOMEM;
  sqlite3_free(table->base.zErrMsg);
  table->base.zErrMsg = message;
  return rc;
}

/* Passes on an error of SQLite itself, with its words. */
static int fail_sqlite(scan_table *table, int rc) {
  if (rc == SQLITE_NOMEM) return rc;
  return fail(table, rc, sqlite3_mprintf("%s: %s", table->module->name, sqlite3_errmsg(table->module->conn->db)));
}

static int fail_damaged(scan_table *table, const bsv_column *column) {
  return fail(table, SQLITE_CORRUPT,
              sqlite3_mprintf("the codes of '%s.%s' are damaged or were made with another quantizer: run vector_quantize()",
                              column->table, column->column));
}

/* ---- arguments ------------------------------------------------------------------------------ */

static const char *type_name(sqlite3_value *value) {
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

static int check_arguments(scan_table *table, int mask, int argc, sqlite3_value **argv) {
  const char *name = table->module->name;
  if (mask != (1 << argc) - 1 || argc < 3) {
    return fail(table, SQLITE_ERROR,
                sqlite3_mprintf("%s takes (table, column, vector) and an optional k, %d arguments were given", name, argc));
  }
  for (int i = ARG_TABLE; i <= ARG_COLUMN; i++) {
    if (sqlite3_value_type(argv[i]) != SQLITE_TEXT) {
      return fail(table, SQLITE_ERROR, sqlite3_mprintf("%s: argument %d must be TEXT, got %s", name, i + 1, type_name(argv[i])));
    }
  }
  int type = sqlite3_value_type(argv[ARG_VECTOR]);
  if (type != SQLITE_TEXT && type != SQLITE_BLOB) {
    return fail(table, SQLITE_ERROR,
                sqlite3_mprintf("%s: argument 3 must be a vector as TEXT or BLOB, got %s", name, type_name(argv[ARG_VECTOR])));
  }
  if (argc > ARG_K && sqlite3_value_type(argv[ARG_K]) != SQLITE_INTEGER) {
    return fail(table, SQLITE_ERROR,
                sqlite3_mprintf("%s: argument 4 (k) must be INTEGER, got %s", name, type_name(argv[ARG_K])));
  }
  return SQLITE_OK;
}

static int find_column(scan_table *table, sqlite3_value **argv, bsv_column **column) {
  const char *table_name = (const char *)sqlite3_value_text(argv[ARG_TABLE]);
  const char *column_name = (const char *)sqlite3_value_text(argv[ARG_COLUMN]);
  if (table_name == NULL || column_name == NULL) return SQLITE_NOMEM;
  *column = bsv_conn_column(table->module->conn, table_name, column_name);
  if (*column != NULL) return SQLITE_OK;
  return fail(table, SQLITE_ERROR,
              sqlite3_mprintf("%s: '%s.%s' is not a vector column of this connection: call vector_init() first",
                              table->module->name, table_name, column_name));
}

/* The query as bytes of the column's type. `*owned` is to be freed, and may be NULL. */
static int query_bytes(scan_table *table, const bsv_column *column, sqlite3_value *value, const void **bytes, void **owned) {
  const char *name = table->module->name;
  uint64_t want = bsv_column_bytes(column);
  *owned = NULL;
  if (sqlite3_value_type(value) == SQLITE_BLOB) {
    uint64_t got = (uint64_t)sqlite3_value_bytes(value);
    *bytes = sqlite3_value_blob(value);
    if (got == want && *bytes != NULL) return SQLITE_OK;
    return fail(table, SQLITE_ERROR,
                sqlite3_mprintf("%s: the query vector must have %llu bytes (%lld elements of type %s), got %llu", name, want,
                                column->dim, bsv_type_name(column->type), got));
  }
  size_t dim;
  char *error = NULL;
  const char *text = (const char *)sqlite3_value_text(value);
  if (text == NULL) return SQLITE_NOMEM;
  int rc = bsv_parse_vector(text, (size_t)sqlite3_value_bytes(value), column->type, owned, &dim, &error);
  if (rc != SQLITE_OK) return error ? fail(table, rc, error) : rc;
  *bytes = *owned;
  if ((int64_t)dim == column->dim) return SQLITE_OK;
  sqlite3_free(*owned);
  *owned = NULL;
  return fail(table, SQLITE_ERROR,
              sqlite3_mprintf("%s: the query vector must have %lld elements, got %llu", name, column->dim, (sqlite3_uint64)dim));
}

/* ---- full scan ------------------------------------------------------------------------------ */

/*
** Moves to the next row with a vector: SQLITE_ROW, SQLITE_DONE or an error. NULL and what is too
** short is passed over; the type of the value does not matter, only its bytes as a BLOB.
*/
static int next_vector(sqlite3_stmt *rows, size_t bytes, const void **vector) {
  int rc;
  while ((rc = sqlite3_step(rows)) == SQLITE_ROW) {
    if (sqlite3_column_type(rows, 1) == SQLITE_NULL) continue;
    *vector = sqlite3_column_blob(rows, 1);
    if ((size_t)sqlite3_column_bytes(rows, 1) < bytes) continue;
    return *vector ? SQLITE_ROW : SQLITE_NOMEM;
  }
  return rc;
}

static int full_start(scan_table *table, scan_cursor *cursor, const bsv_column *column, const void *vector) {
  bsv_conn *conn = table->module->conn;
  int rc = bsv_query_init(&cursor->query, conn->kernels, column->type, column->metric, column->normalized, vector,
                          (size_t)column->dim);
  if (rc != SQLITE_OK) return rc;
  rc = bsv_prepare(conn->db, &cursor->rows, "SELECT %s, \"%w\" FROM main.\"%w\" ORDER BY 1", column->rowid, column->column,
                   column->table);
  return rc == SQLITE_OK ? rc : fail_sqlite(table, rc);
}

static int full_top_k(scan_table *table, scan_cursor *cursor) {
  const void *vector;
  int rc;
  while ((rc = next_vector(cursor->rows, cursor->query.bytes, &vector)) == SQLITE_ROW) {
    float distance = bsv_query_distance(&cursor->query, vector);
    rc = bsv_topk_offer(&cursor->top, distance, sqlite3_column_int64(cursor->rows, 0));
    if (rc != SQLITE_OK) return rc;
  }
  return rc == SQLITE_DONE ? SQLITE_OK : fail_sqlite(table, rc);
}

/* ---- quantized scan ------------------------------------------------------------------------- */

/* Makes sure that there are codes, and reads how they were made. */
static int quantized_ready(scan_table *table, bsv_column *column) {
  sqlite3 *db = table->module->conn->db;
  if (column->preloaded != NULL) return SQLITE_OK;
  int found = 0;
  int rc = bsv_table_exists(db, column->shadow, &found);
  if (rc == SQLITE_OK && found) rc = bsv_read_codec(db, column->table, column->column, &column->codec);
  if (rc != SQLITE_OK) return fail_sqlite(table, rc);
  if (found && column->codec.qtype != BSV_QTYPE_NONE) return SQLITE_OK;
  return fail(table, SQLITE_ERROR,
              sqlite3_mprintf("%s: '%s.%s' has no codes: run vector_quantize() first", table->module->name, column->table,
                              column->column));
}

/* Codes the query like a row, and prepares to measure between codes. */
static int quantized_query(scan_table *table, scan_cursor *cursor, const bsv_column *column, const void *vector) {
  size_t dim = (size_t)column->dim;
  bsv_type element = bsv_qtype_element(column->codec.qtype);
  size_t code_bytes = (size_t)bsv_vector_bytes(element, (uint64_t)column->dim);
  float *scratch = sqlite3_malloc64((uint64_t)dim * sizeof(float) + code_bytes);
  if (scratch == NULL) return SQLITE_NOMEM;
  uint8_t *code = (uint8_t *)(scratch + dim);
  bsv_encode(&column->codec, column->type, vector, dim, scratch, code);
  int rc = bsv_query_init(&cursor->query, table->module->conn->kernels, element, column->metric, 0, code, dim);
  sqlite3_free(scratch);
  return rc;
}

static int scan_records(scan_cursor *cursor, const uint8_t *records, uint64_t n, uint64_t record_bytes) {
  for (uint64_t i = 0; i < n; i++, records += record_bytes) {
    float distance = bsv_query_distance(&cursor->query, records + BSV_RECORD_HEADER);
    if (distance > cursor->top.worst) continue;
    int rc = bsv_topk_offer(&cursor->top, distance, bsv_record_rowid(records));
    if (rc != SQLITE_OK) return rc;
  }
  return SQLITE_OK;
}

static int quantized_top_k(scan_table *table, scan_cursor *cursor, const bsv_column *column) {
  uint64_t record_bytes = bsv_record_bytes(column->codec.qtype, (uint64_t)column->dim);
  int rc = SQLITE_OK;
  if (column->preloaded != NULL) {
    const bsv_codes *codes = column->preloaded;
    for (size_t i = 0; rc == SQLITE_OK && i < codes->n_chunks; i++) {
      rc = scan_records(cursor, codes->chunks[i].records, codes->chunks[i].n, record_bytes);
    }
    return rc;
  }
  sqlite3_stmt *stmt = NULL;
  rc = bsv_prepare(table->module->conn->db, &stmt, "SELECT counter, data FROM main.\"%w\" ORDER BY rowid", column->shadow);
  while (rc == SQLITE_OK && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
    const uint8_t *records;
    uint64_t n;
    rc = bsv_chunk_from_row(stmt, record_bytes, &records, &n);
    if (rc == SQLITE_OK) rc = scan_records(cursor, records, n, record_bytes);
  }
  if (rc == SQLITE_DONE) {
    rc = SQLITE_OK;
  } else {
    rc = rc == SQLITE_CORRUPT ? fail_damaged(table, column) : fail_sqlite(table, rc);
  }
  sqlite3_finalize(stmt);
  return rc;
}

/* Holds the codes themselves, so that the cursor may outlive a vector_quantize() or a cleanup. */
static int quantized_stream(scan_table *table, scan_cursor *cursor, const bsv_column *column) {
  if (column->preloaded != NULL) {
    cursor->codes = bsv_codes_ref(column->preloaded);
    return SQLITE_OK;
  }
  int rc = bsv_codes_load(table->module->conn->db, column->shadow,
                          bsv_record_bytes(column->codec.qtype, (uint64_t)column->dim), &cursor->codes);
  if (rc == SQLITE_CORRUPT) return fail_damaged(table, column);
  return rc == SQLITE_OK ? rc : fail_sqlite(table, rc);
}

/* ---- cursor --------------------------------------------------------------------------------- */

static int next_hit(scan_cursor *cursor) {
  cursor->at_end = cursor->next_hit >= cursor->top.n;
  if (!cursor->at_end) {
    cursor->id = cursor->top.hits[cursor->next_hit].id;
    cursor->distance = cursor->top.hits[cursor->next_hit].distance;
    cursor->next_hit++;
  }
  return SQLITE_OK;
}

static int next_row(scan_table *table, scan_cursor *cursor) {
  const void *vector;
  int rc = next_vector(cursor->rows, cursor->query.bytes, &vector);
  cursor->at_end = rc != SQLITE_ROW;
  if (rc == SQLITE_DONE) return SQLITE_OK;
  if (rc != SQLITE_ROW) return fail_sqlite(table, rc);
  cursor->id = sqlite3_column_int64(cursor->rows, 0);
  cursor->distance = bsv_query_distance(&cursor->query, vector);
  return SQLITE_OK;
}

static int next_code(scan_cursor *cursor) {
  const bsv_codes *codes = cursor->codes;
  while (cursor->next_chunk < codes->n_chunks && cursor->next_record >= codes->chunks[cursor->next_chunk].n) {
    cursor->next_chunk++;
    cursor->next_record = 0;
  }
  cursor->at_end = cursor->next_chunk >= codes->n_chunks;
  if (cursor->at_end) return SQLITE_OK;
  const uint8_t *record = codes->chunks[cursor->next_chunk].records + cursor->next_record * codes->record_bytes;
  cursor->id = bsv_record_rowid(record);
  cursor->distance = bsv_query_distance(&cursor->query, record + BSV_RECORD_HEADER);
  cursor->next_record++;
  return SQLITE_OK;
}

static int scan_next(sqlite3_vtab_cursor *base) {
  scan_cursor *cursor = (scan_cursor *)base;
  if (!cursor->streaming) return next_hit(cursor);
  return cursor->rows ? next_row((scan_table *)base->pVtab, cursor) : next_code(cursor);
}

static int scan_filter(sqlite3_vtab_cursor *base, int mask, const char *plan, int argc, sqlite3_value **argv) {
  scan_table *table = (scan_table *)base->pVtab;
  scan_cursor *cursor = (scan_cursor *)base;
  bsv_column *column = NULL;
  const void *vector;
  void *owned = NULL;
  (void)plan;
  scan_reset(cursor);
  int rc = check_arguments(table, mask, argc, argv);
  if (rc == SQLITE_OK) rc = find_column(table, argv, &column);
  if (rc == SQLITE_OK && table->module->kind == SCAN_QUANTIZED) rc = quantized_ready(table, column);
  if (rc == SQLITE_OK) rc = query_bytes(table, column, argv[ARG_VECTOR], &vector, &owned);
  if (rc != SQLITE_OK) return rc;

  if (table->module->kind == SCAN_FULL) {
    rc = full_start(table, cursor, column, vector);
  } else {
    rc = quantized_query(table, cursor, column, vector);
  }
  sqlite3_free(owned);
  if (rc != SQLITE_OK) return rc;

  if (argc <= ARG_K) {
    cursor->streaming = 1;
    if (table->module->kind == SCAN_QUANTIZED) rc = quantized_stream(table, cursor, column);
    return rc == SQLITE_OK ? scan_next(base) : rc;
  }
  bsv_topk_init(&cursor->top, sqlite3_value_int64(argv[ARG_K]));
  if (cursor->top.k > 0) {
    rc = table->module->kind == SCAN_FULL ? full_top_k(table, cursor) : quantized_top_k(table, cursor, column);
  }
  sqlite3_finalize(cursor->rows); /* ends the read of a full scan as soon as it is done */
  cursor->rows = NULL;
  if (rc != SQLITE_OK) return rc;
  bsv_topk_sort(&cursor->top);
  return next_hit(cursor);
}

/* Without xCreate the module can only be used by its own name, never by CREATE VIRTUAL TABLE. */
static const sqlite3_module scan_methods = {
    .iVersion = 0,
    .xConnect = scan_connect,
    .xBestIndex = scan_best_index,
    .xDisconnect = scan_disconnect,
    .xOpen = scan_open,
    .xClose = scan_close,
    .xFilter = scan_filter,
    .xNext = scan_next,
    .xEof = scan_eof,
    .xColumn = scan_column,
    .xRowid = scan_rowid,
};

static void free_module(void *pointer) {
  scan_module *module = pointer;
  bsv_conn_unref(module->conn);
  sqlite3_free(module);
}

int bsv_scan_register(bsv_conn *conn) {
  for (int i = 0; bsv_scan_names[i] != NULL; i++) {
    scan_module *module = sqlite3_malloc64(sizeof *module);
    if (module == NULL) return SQLITE_NOMEM;
    module->conn = conn;
    module->name = bsv_scan_names[i];
    module->kind = strstr(module->name, "quantize") ? SCAN_QUANTIZED : SCAN_FULL;
    conn->references++;
    /* On failure SQLite calls free_module() itself. */
    int rc = sqlite3_create_module_v2(conn->db, module->name, &scan_methods, module, free_module);
    if (rc != SQLITE_OK) return rc;
  }
  return SQLITE_OK;
}
