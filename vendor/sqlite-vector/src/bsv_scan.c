/*
** The scans as eponymous virtual tables: argument rules, the cursor, and the two ways to run.
**
** With k a scan is complete after xFilter and the cursor walks over sorted hits; without k it
** streams, one row at a time. What a distance is belongs to bsv_vector.c.
*/
#include "bsv_scan.h"

#include <string.h>

#include "bsv_quantize.h"
#include "bsv_search.h"
#include "bsv_text.h"

/* The names of the first four hidden columns are the published ones; they do not say what the arguments
** are. The fifth is ours. */
enum { ARG_TABLE, ARG_COLUMN, ARG_VECTOR, ARG_K, ARG_FILTER, N_ARGS, COL_ID = N_ARGS, COL_DISTANCE };
#define SCAN_SCHEMA "CREATE TABLE x(tbl HIDDEN, vector HIDDEN, k HIDDEN, memidx HIDDEN, filter HIDDEN, id, distance)"

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
  /* Statements live here and not with the connection's state: SQLite disconnects tables before it
  ** looks for open statements on closing. */
  bsv_source *sources;
} scan_table;

typedef struct scan_cursor {
  sqlite3_vtab_cursor base;
  int streaming, at_end;
  /* with k */
  bsv_topk top;
  uint64_t next_hit;
  /* without k */
  bsv_query query;
  sqlite3_stmt *rows; /* an exact scan's */
  bsv_codes *codes;   /* a scan of published codes */
  size_t next_chunk;
  uint64_t next_record;
  bsv_idset changed; /* rows whose codes are out of date, */
  bsv_chunk fresh;   /* and new codes for those that are not gone */
  uint64_t next_fresh;
  int filtered;
  bsv_idset filter;
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
  bsv_source_free_all(&((scan_table *)table)->sources);
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
  bsv_idset_clear(&cursor->changed);
  bsv_idset_clear(&cursor->filter);
  sqlite3_free(cursor->fresh.records);
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

static int fail_damaged(scan_table *table, bsv_column *column) {
  column->damaged = 1;
  return fail(table, SQLITE_CORRUPT, bsv_damaged_message(column));
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

/* Reorders the given arguments by position; those not given are NULL. */
static int check_arguments(scan_table *table, int mask, int argc, sqlite3_value **given, sqlite3_value **argv) {
  const char *name = table->module->name;
  int next = 0;
  for (int i = 0; i < N_ARGS; i++) argv[i] = mask >> i & 1 && next < argc ? given[next++] : NULL;
  if ((mask & 7) != 7) {
    return fail(table, SQLITE_ERROR,
                sqlite3_mprintf("%s takes (table, column, vector [, k [, filter]]), %d arguments were given", name, argc));
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
  if (argv[ARG_K] && sqlite3_value_type(argv[ARG_K]) != SQLITE_INTEGER) {
    return fail(table, SQLITE_ERROR,
                sqlite3_mprintf("%s: argument 4 (k) must be INTEGER, got %s", name, type_name(argv[ARG_K])));
  }
  return SQLITE_OK;
}

/* Takes the filter, a BLOB of int64; NULL is no filter. */
static int take_filter(scan_table *table, scan_cursor *cursor, sqlite3_value *value) {
  if (value == NULL || sqlite3_value_type(value) == SQLITE_NULL) return SQLITE_OK;
  int bytes = sqlite3_value_bytes(value);
  if (sqlite3_value_type(value) != SQLITE_BLOB || bytes % 8 != 0) {
    return fail(table, SQLITE_ERROR,
                sqlite3_mprintf("%s: argument 5 (filter) must be a BLOB of rowids, 8 bytes each, got %s of %d bytes",
                                table->module->name, type_name(value), bytes));
  }
  const void *packed = sqlite3_value_blob(value);
  if (packed == NULL && bytes > 0) return SQLITE_NOMEM;
  cursor->filtered = 1;
  return bsv_idset_unpack(&cursor->filter, packed, (size_t)bytes / 8);
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

/* ---- streaming ------------------------------------------------------------------------------ */

/* Opens the walk over the table itself, measured exactly. */
static int stream_rows(scan_table *table, scan_cursor *cursor, const bsv_search *search) {
  const bsv_column *c = search->column;
  int rc = bsv_search_exact_query(search, &cursor->query);
  if (rc != SQLITE_OK) return rc;
  return bsv_prepare(table->module->conn->db, &cursor->rows, "SELECT %s, \"%w\" FROM main.\"%w\" ORDER BY 1", c->rowid, c->column,
                     c->table);
}

/* Takes hold of published codes, so that the cursor may outlive a vector_quantize() or a cleanup. */
static int stream_codes(scan_cursor *cursor, bsv_search *search) {
  bsv_column *c = search->column;
  int rc = bsv_search_code_query(search, &cursor->query);
  if (rc == SQLITE_OK) rc = bsv_search_fresh_records(search, &cursor->changed, &cursor->fresh);
  if (rc != SQLITE_OK) return rc;
  if (c->preloaded != NULL && (c->preloaded->stamp == c->codec.stamp || !c->codec.tracked)) {
    cursor->codes = bsv_codes_ref(c->preloaded);
    return SQLITE_OK;
  }
  return bsv_codes_load(search->conn->db, c->shadow, bsv_record_bytes(c->codec.qtype, (uint64_t)c->dim), &cursor->codes);
}

static int next_row(scan_cursor *cursor) {
  const void *vector;
  int rc;
  while ((rc = bsv_next_row(cursor->rows, cursor->query.bytes, &cursor->id, &vector)) == SQLITE_ROW) {
    if (vector == NULL || (cursor->filtered && !bsv_idset_contains(&cursor->filter, cursor->id))) continue;
    cursor->distance = bsv_query_distance(&cursor->query, vector);
    return SQLITE_OK;
  }
  cursor->at_end = 1;
  return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

/* The next stored record that is up to date, or NULL; the cursor's position is at it. */
static const uint8_t *peek_record(scan_cursor *cursor) {
  const bsv_codes *codes = cursor->codes;
  while (cursor->next_chunk < codes->n_chunks) {
    if (cursor->next_record >= codes->chunks[cursor->next_chunk].n) {
      cursor->next_chunk++;
      cursor->next_record = 0;
      continue;
    }
    const uint8_t *record = codes->chunks[cursor->next_chunk].records + cursor->next_record * codes->record_bytes;
    if (cursor->changed.n == 0 || !bsv_idset_contains(&cursor->changed, bsv_record_rowid(record))) return record;
    cursor->next_record++;
  }
  return NULL;
}

/* Stored and fresh records merged by rowid. */
static int next_code(scan_cursor *cursor) {
  for (;;) {
    const uint8_t *record = peek_record(cursor), *fresh = NULL;
    if (cursor->next_fresh < cursor->fresh.n) fresh = cursor->fresh.records + cursor->next_fresh * cursor->codes->record_bytes;
    if (record == NULL && fresh == NULL) {
      cursor->at_end = 1;
      return SQLITE_OK;
    }
    if (record == NULL || (fresh != NULL && bsv_record_rowid(fresh) < bsv_record_rowid(record))) {
      record = fresh;
      cursor->next_fresh++;
    } else {
      cursor->next_record++;
    }
    cursor->id = bsv_record_rowid(record);
    if (cursor->filtered && !bsv_idset_contains(&cursor->filter, cursor->id)) continue;
    cursor->distance = bsv_query_distance(&cursor->query, record + BSV_RECORD_HEADER);
    return SQLITE_OK;
  }
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

static int scan_next(sqlite3_vtab_cursor *base) {
  scan_cursor *cursor = (scan_cursor *)base;
  if (!cursor->streaming) return next_hit(cursor);
  if (cursor->rows == NULL) return next_code(cursor);
  int rc = next_row(cursor);
  return rc == SQLITE_OK ? rc : fail_sqlite((scan_table *)base->pVtab, rc);
}

/* Whether the codes' factors serve the metric that this connection asks for. */
static int check_coding(scan_table *table, const bsv_column *column) {
  if (!bsv_qtype_is_own(column->codec.qtype)) return SQLITE_OK;
  if (column->codec.coding == bsv_coding_for(column->type, column->metric, column->normalized)) return SQLITE_OK;
  return fail(table, SQLITE_ERROR,
              sqlite3_mprintf("%s: the codes of '%s.%s' were made for another distance than %s: run vector_quantize() with the"
                              " same vector_init()",
                              table->module->name, column->table, column->column, bsv_metric_name(column->metric)));
}

/* Runs the scan, or starts a streaming one. `exact`: over the table itself. */
static int run_scan(scan_table *table, scan_cursor *cursor, bsv_search *search, int exact) {
  if (cursor->streaming) return exact ? stream_rows(table, cursor, search) : stream_codes(cursor, search);
  if (search->top->k == 0) return SQLITE_OK;
  if (exact) return bsv_search_exact(search);
  return bsv_qtype_is_own(search->column->codec.qtype) ? bsv_search_own(search) : bsv_search_published(search);
}

/* The codes' state, and whether the table itself is to be scanned. */
static int begin_quantized(scan_table *table, scan_cursor *cursor, const bsv_search *search, int *exact) {
  bsv_state state;
  const bsv_column *column = search->column;
  int rc = bsv_source_begin(search->source, search->conn->db, &state);
  if (rc != SQLITE_OK) return fail_sqlite(table, rc);
  if (state == BSV_STATE_NO_CODES && column->preloaded == NULL) {
    return fail(table, SQLITE_ERROR,
                sqlite3_mprintf("%s: '%s.%s' has no codes: run vector_quantize() first", table->module->name, column->table,
                                column->column));
  }
  rc = check_coding(table, column);
  /* Without its log nothing is known about the codes; and all that our own can add to a stream of
  ** every row is an estimate beside the exact distance. */
  *exact = state == BSV_STATE_LOST || (cursor->streaming && bsv_qtype_is_own(column->codec.qtype));
  return rc;
}

static int scan_filter(sqlite3_vtab_cursor *base, int mask, const char *plan, int argc, sqlite3_value **given) {
  scan_table *table = (scan_table *)base->pVtab;
  scan_cursor *cursor = (scan_cursor *)base;
  bsv_conn *conn = table->module->conn;
  bsv_search search = {.conn = conn, .top = &cursor->top};
  sqlite3_value *argv[N_ARGS];
  void *owned = NULL;
  int exact = table->module->kind == SCAN_FULL;
  (void)plan;
  scan_reset(cursor);
  int rc = check_arguments(table, mask, argc, given, argv);
  if (rc == SQLITE_OK) rc = find_column(table, argv, &search.column);
  if (rc == SQLITE_OK) rc = bsv_source_of(&table->sources, search.column, &search.source);
  if (rc != SQLITE_OK) return rc;
  cursor->streaming = argv[ARG_K] == NULL;
  bsv_topk_init(&cursor->top, argv[ARG_K] ? sqlite3_value_int64(argv[ARG_K]) : 0);
  if (!exact) rc = begin_quantized(table, cursor, &search, &exact);
  if (rc == SQLITE_OK) rc = query_bytes(table, search.column, argv[ARG_VECTOR], &search.vector, &owned);
  if (rc == SQLITE_OK) rc = take_filter(table, cursor, argv[ARG_FILTER]);
  if (rc == SQLITE_OK) {
    if (cursor->filtered) search.filter = &cursor->filter;
    rc = run_scan(table, cursor, &search, exact);
    if (rc == SQLITE_CORRUPT) {
      rc = fail_damaged(table, search.column);
    } else if (rc != SQLITE_OK) {
      rc = fail_sqlite(table, rc);
    }
  }
  bsv_source_end(search.source);
  sqlite3_free(owned);
  if (rc != SQLITE_OK) return rc;
  cursor->at_end = 0;
  if (!cursor->streaming) bsv_topk_sort(&cursor->top);
  return scan_next(base);
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
