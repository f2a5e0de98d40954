/* Connection state: registration's lifetime, vector_init(), and the two SQL shorthands. */
#include "bsv_conn.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "bsv_text.h"
#include "bsv_track.h"

/* ---- SQL shorthands ------------------------------------------------------------------------- */

int bsv_prepare(sqlite3 *db, sqlite3_stmt **stmt, const char *format, ...) {
  va_list arguments;
  *stmt = NULL;
  va_start(arguments, format);
  char *sql = sqlite3_vmprintf(format, arguments);
  va_end(arguments);
  if (sql == NULL) return SQLITE_NOMEM;
  int rc = sqlite3_prepare_v2(db, sql, -1, stmt, NULL);
  sqlite3_free(sql);
  return rc;
}

int bsv_exec(sqlite3 *db, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  char *sql = sqlite3_vmprintf(format, arguments);
  va_end(arguments);
  if (sql == NULL) return SQLITE_NOMEM;
  int rc = sqlite3_exec(db, sql, NULL, NULL, NULL);
  sqlite3_free(sql);
  return rc;
}

/* ---- lifetime ------------------------------------------------------------------------------- */

static void free_column(bsv_column *column) {
  if (column == NULL) return;
  bsv_codes_unref(column->preloaded);
  bsv_codec_clear(&column->codec);
  bsv_rabitq_clear(&column->rabitq);
  sqlite3_free(column->table);
  sqlite3_free(column->column);
  sqlite3_free(column->rowid);
  sqlite3_free(column->shadow);
  sqlite3_free(column->own_shadow);
  sqlite3_free(column->log);
  sqlite3_free(column);
}

/* A variable lets tests run every table on one machine; an unknown or unfit name changes nothing. */
static const bsv_kernels *chosen_kernels(void) {
  unsigned flags = bsv_cpu_flags();
  const char *forced = getenv("BSV_BACKEND");
  const bsv_kernels *kernels = forced ? bsv_kernels_named(forced, flags) : NULL;
  return kernels ? kernels : bsv_kernels_for(flags);
}

bsv_conn *bsv_conn_new(sqlite3 *db, bsv_cache *cache) {
  bsv_conn *conn = sqlite3_malloc64(sizeof *conn);
  if (conn == NULL) return NULL;
  memset(conn, 0, sizeof *conn);
  conn->db = db;
  conn->references = 1;
  conn->kernels = chosen_kernels();
  conn->cache = cache;
  bsv_cache_ref(cache);
  return conn;
}

void bsv_conn_unref(void *pointer) {
  bsv_conn *conn = pointer;
  if (--conn->references > 0) return;
  while (conn->columns) {
    bsv_column *column = conn->columns;
    conn->columns = column->next;
    free_column(column);
  }
  bsv_cache_unref(conn->cache);
  sqlite3_free(conn);
}

bsv_column *bsv_conn_column(bsv_conn *conn, const char *table, const char *column) {
  for (bsv_column *c = conn->columns; c; c = c->next) {
    if (sqlite3_stricmp(c->table, table) == 0 && sqlite3_stricmp(c->column, column) == 0) return c;
  }
  return NULL;
}

int bsv_column_rabitq(bsv_conn *conn, bsv_column *column) {
  const bsv_codec *codec = &column->codec;
  if (column->rabitq_lineage == codec->lineage) return SQLITE_OK;
  column->rabitq_lineage = 0;
  bsv_rabitq_clear(&column->rabitq);
  int rc = bsv_rabitq_init(&column->rabitq, conn->kernels, bsv_qtype_bits(codec->qtype), codec->coding, (size_t)column->dim,
                           codec->mean);
  if (rc == SQLITE_OK) column->rabitq_lineage = codec->lineage;
  return rc;
}

char *bsv_shadow_name(const char *table, const char *column) { return sqlite3_mprintf("vector0_%s_%s", table, column); }
char *bsv_own_shadow_name(const char *table, const char *column) { return sqlite3_mprintf("vector1_%s_%s", table, column); }

/* ---- options -------------------------------------------------------------------------------- */

/* An amount with KB, MB or GB behind it; 0 when it is none. */
static int64_t memory_size(bsv_slice value) {
  int64_t amount = 0, unit = 1;
  if (!bsv_slice_integer(value, &amount) || amount <= 0) return 0;
  for (size_t i = 0; i + 1 < value.n; i++) {
    bsv_slice suffix = {value.text + i, 2};
    if (bsv_slice_equals(suffix, "KB")) unit = 1024;
    if (bsv_slice_equals(suffix, "MB")) unit = 1024 * 1024;
    if (bsv_slice_equals(suffix, "GB")) unit = 1024 * 1024 * 1024;
  }
  return amount > INT64_MAX / unit ? INT64_MAX : amount * unit;
}

static int is_true(bsv_slice value) {
  int64_t number;
  if (bsv_slice_integer(value, &number)) return number != 0;
  return bsv_slice_equals(value, "true") || bsv_slice_equals(value, "yes") || bsv_slice_equals(value, "on");
}

static int quantize_option(bsv_slice key, bsv_slice value, bsv_quantize_options *options, char **error) {
  int64_t number;
  if (bsv_slice_equals(key, "qtype")) {
    if (!bsv_qtype_parse(value.text, value.n, &options->qtype)) {
      *error = sqlite3_mprintf("unknown quantizer '%.*s': use RABITQ, RABITQ4, INT8, UINT8 or 1BIT", (int)value.n, value.text);
      return SQLITE_ERROR;
    }
    /* Under its published names the quantizer answers with estimates. */
    if (value.n >= 5 && sqlite3_strnicmp(value.text, "TURBO", 5) == 0) options->rescore = 0;
  } else if (bsv_slice_equals(key, "qbits")) {
    if (!bsv_slice_integer(value, &number) || number < 2 || number > 4) {
      *error = sqlite3_mprintf("qbits must be 2, 3 or 4, got '%.*s'", (int)value.n, value.text);
      return SQLITE_ERROR;
    }
  } else if (bsv_slice_equals(key, "max_memory")) {
    options->max_memory_bytes = memory_size(value);
  } else if (bsv_slice_equals(key, "rescore") || bsv_slice_equals(key, "oversample")) {
    if (bsv_slice_equals(value, "auto")) {
      options->rescore = BSV_RESCORE_AUTO;
    } else if (bsv_slice_integer(value, &number) && number >= 0 && number <= 1000000) {
      options->rescore = (int)number;
    } else {
      *error = sqlite3_mprintf("rescore must be 0 (off), a multiple of k up to 1000000, or auto; got '%.*s'", (int)value.n,
                               value.text);
      return SQLITE_ERROR;
    }
  } else if (bsv_slice_equals(key, "track")) {
    options->track = is_true(value);
  } else if (bsv_slice_equals(key, "full")) {
    options->full = is_true(value);
  }
  return SQLITE_OK;
}

int bsv_parse_quantize_options(const char *text, size_t n, bsv_quantize_options *options, char **error) {
  bsv_slice rest = {text, n}, key, value;
  int rc = SQLITE_OK;
  while (rc == SQLITE_OK && bsv_next_option(&rest, &key, &value)) rc = quantize_option(key, value, options, error);
  return rc;
}

static int init_option(bsv_slice key, bsv_slice value, bsv_column *column, char **error) {
  int n = (int)value.n;
  if (bsv_slice_equals(key, "dimension")) {
    if (!bsv_slice_integer(value, &column->dim) || column->dim <= 0 || column->dim > BSV_MAX_DIMENSION) {
      *error = sqlite3_mprintf("dimension must be a whole number from 1 to %lld, got '%.*s'", BSV_MAX_DIMENSION, n, value.text);
      return SQLITE_ERROR;
    }
  } else if (bsv_slice_equals(key, "type")) {
    if (!bsv_type_parse(value.text, value.n, &column->type)) {
      *error = sqlite3_mprintf("unknown vector type '%.*s': use FLOAT32, FLOAT16, FLOATB16, INT8, UINT8 or BIT", n, value.text);
      return SQLITE_ERROR;
    }
  } else if (bsv_slice_equals(key, "distance")) {
    if (!bsv_metric_parse(value.text, value.n, &column->metric)) {
      *error = sqlite3_mprintf("unknown distance '%.*s': use L2, SQUARED_L2, L1, COSINE, DOT or HAMMING", n, value.text);
      return SQLITE_ERROR;
    }
  } else if (bsv_slice_equals(key, "normalized")) {
    column->normalized = is_true(value);
  } else {
    return quantize_option(key, value, &column->options, error);
  }
  return SQLITE_OK;
}

static int parse_init_options(const char *text, size_t n, bsv_column *column, char **error) {
  bsv_slice rest = {text, n}, key, value;
  int rc = SQLITE_OK;
  while (rc == SQLITE_OK && bsv_next_option(&rest, &key, &value)) rc = init_option(key, value, column, error);
  if (rc != SQLITE_OK) return rc;
  if (column->dim == 0) {
    *error = sqlite3_mprintf("vector_init needs a dimension: add 'dimension=N' to its options");
    return SQLITE_ERROR;
  }
  if (column->metric == BSV_HAMMING && column->type != BSV_BIT) {
    *error = sqlite3_mprintf("HAMMING distance needs type=BIT, the column has type %s", bsv_type_name(column->type));
    return SQLITE_ERROR;
  }
  return SQLITE_OK;
}

/* ---- the table ------------------------------------------------------------------------------ */

/* Finds the table in `main` and takes its own spelling of the name. */
static int find_table(sqlite3 *db, const char *table, bsv_column *column, int *without_rowid, char **error) {
  sqlite3_stmt *stmt = NULL;
  int rc = bsv_prepare(db, &stmt,
                       "SELECT name, wr, type = 'virtual' FROM pragma_table_list"
                       " WHERE schema = 'main' AND type <> 'view' AND name = %Q COLLATE NOCASE",
                       table);
  if (rc == SQLITE_OK && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
    column->table = sqlite3_mprintf("%s", sqlite3_column_text(stmt, 0));
    *without_rowid = sqlite3_column_int(stmt, 1);
    column->is_virtual = sqlite3_column_int(stmt, 2);
    rc = column->table ? SQLITE_OK : SQLITE_NOMEM;
  } else if (rc == SQLITE_DONE) {
    *error = sqlite3_mprintf("there is no table '%s' in the main database", table);
    rc = SQLITE_ERROR;
  }
  sqlite3_finalize(stmt);
  return rc;
}

static int contains_blob(const char *declared) {
  for (; declared && *declared; declared++) {
    if (sqlite3_strnicmp(declared, "BLOB", 4) == 0) return 1;
  }
  return 0;
}

/* Checks the vector column, and finds what reads a row's id. */
static int find_columns(sqlite3 *db, const char *name, int without_rowid, bsv_column *column, char **error) {
  static const char *const aliases[] = {"rowid", "_rowid_", "oid"};
  int shadowed[3] = {0};
  int found = 0, is_blob = 0, n_keys = 0;
  char *key = NULL;
  sqlite3_stmt *stmt = NULL;
  int rc = bsv_prepare(db, &stmt, "SELECT name, type, pk FROM pragma_table_info(%Q, 'main')", column->table);
  while (rc == SQLITE_OK && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
    const char *column_name = (const char *)sqlite3_column_text(stmt, 0);
    const char *declared = (const char *)sqlite3_column_text(stmt, 1);
    rc = SQLITE_OK;
    if (column_name == NULL) {
      rc = SQLITE_NOMEM;
      break;
    }
    if (strcmp(column_name, name) == 0) {
      found = 1;
      is_blob = contains_blob(declared);
    }
    for (int i = 0; i < 3; i++) shadowed[i] |= sqlite3_stricmp(column_name, aliases[i]) == 0;
    if (sqlite3_column_int(stmt, 2) > 0) {
      n_keys++;
      if (n_keys == 1 && declared && sqlite3_stricmp(declared, "INTEGER") == 0) {
        key = sqlite3_mprintf("\"%w\"", column_name);
        if (key == NULL) rc = SQLITE_NOMEM;
      }
    }
  }
  sqlite3_finalize(stmt);
  if (rc == SQLITE_DONE) rc = SQLITE_OK;
  if (rc == SQLITE_OK && !found) {
    *error = sqlite3_mprintf("table '%s' has no column '%s'", column->table, name);
    rc = SQLITE_ERROR;
  } else if (rc == SQLITE_OK && !is_blob) {
    *error = sqlite3_mprintf("column '%s' of table '%s' must be declared as BLOB", name, column->table);
    rc = SQLITE_ERROR;
  } else if (rc == SQLITE_OK && without_rowid && (n_keys != 1 || key == NULL)) {
    *error = sqlite3_mprintf("table '%s' is WITHOUT ROWID: its primary key must be one INTEGER column", column->table);
    rc = SQLITE_ERROR;
  }
  if (rc == SQLITE_OK) {
    if (without_rowid) {
      column->rowid = key;
      key = NULL;
    } else {
      int alias = 0;
      while (alias < 3 && shadowed[alias]) alias++;
      if (alias < 3) {
        column->rowid = sqlite3_mprintf("%s", aliases[alias]);
      } else if (n_keys == 1 && key != NULL) {
        column->rowid = key;
        key = NULL;
      } else {
        *error = sqlite3_mprintf("columns of table '%s' hide every name of its rowid", column->table);
        rc = SQLITE_ERROR;
      }
    }
    if (rc == SQLITE_OK && column->rowid == NULL) rc = SQLITE_NOMEM;
  }
  sqlite3_free(key);
  return rc;
}

/* A second vector_init() may repeat the first, not contradict it; what else it says is ignored. */
static int check_repeated(const bsv_column *existing, const bsv_column *given, char **error) {
  const char *what = NULL;
  char was[32], is[32];
  if (existing->dim != given->dim) {
    what = "dimension";
    sqlite3_snprintf(sizeof was, was, "%lld", existing->dim);
    sqlite3_snprintf(sizeof is, is, "%lld", given->dim);
  } else if (existing->type != given->type) {
    what = "type";
    sqlite3_snprintf(sizeof was, was, "%s", bsv_type_name(existing->type));
    sqlite3_snprintf(sizeof is, is, "%s", bsv_type_name(given->type));
  } else if (existing->normalized != given->normalized) {
    what = "normalized";
    sqlite3_snprintf(sizeof was, was, "%d", existing->normalized);
    sqlite3_snprintf(sizeof is, is, "%d", given->normalized);
  }
  if (what == NULL) return SQLITE_OK;
  *error = sqlite3_mprintf("'%s.%s' was declared with %s=%s on this connection, now %s=%s is given", existing->table,
                           existing->column, what, was, what, is);
  return SQLITE_ERROR;
}

int bsv_conn_init_column(bsv_conn *conn, const char *table, const char *name, const char *options, size_t n_options,
                         char **error) {
  int without_rowid = 0;
  *error = NULL;
  bsv_column *column = sqlite3_malloc64(sizeof *column);
  if (column == NULL) return SQLITE_NOMEM;
  memset(column, 0, sizeof *column);
  column->codec.qtype = BSV_QTYPE_NONE;
  column->options.qtype = BSV_QTYPE_AUTO;
  column->options.rescore = BSV_RESCORE_DEFAULT;
  column->options.track = BSV_TRACK_DEFAULT;

  /* A program may well declare a column before each use: the table is looked at the first time only. */
  bsv_column *existing = bsv_conn_column(conn, table, name);
  int rc = existing ? SQLITE_OK : find_table(conn->db, table, column, &without_rowid, error);
  if (rc == SQLITE_OK && existing == NULL) rc = find_columns(conn->db, name, without_rowid, column, error);
  if (rc == SQLITE_OK) rc = parse_init_options(options, n_options, column, error);
  if (rc == SQLITE_OK && existing != NULL) rc = check_repeated(existing, column, error);
  if (rc != SQLITE_OK || existing != NULL) goto done;

  column->column = sqlite3_mprintf("%s", name);
  column->shadow = bsv_shadow_name(column->table, name);
  column->own_shadow = bsv_own_shadow_name(column->table, name);
  column->log = bsv_log_name(column->table, name);
  if (!column->column || !column->shadow || !column->own_shadow || !column->log) {
    rc = SQLITE_NOMEM;
    goto done;
  }
  rc = bsv_read_codec(conn->db, column->table, name, column->dim, &column->codec);
  if (rc != SQLITE_OK) goto done;
  if (column->codec.qtype != BSV_QTYPE_NONE) column->options.qtype = column->codec.qtype; /* what is stored wins */
  column->next = conn->columns;
  conn->columns = column;
  column = NULL;

done:
  free_column(column);
  return rc;
}
