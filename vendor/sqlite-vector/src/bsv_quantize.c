/*
** Writing and loading of a column's quantized codes.
**
** A quantization is full, or, where the former codes are tracked and nothing else changed, takes in
** the rows of the change log alone (bsv_merge.c).
*/
#include "bsv_quantize.h"

#include <math.h>
#include <string.h>

#include "bsv_clock.h"
#include "bsv_encode.h"
#include "bsv_merge.h"
#include "bsv_source.h"
#include "bsv_track.h"
#include "bsv_view.h"

/* ---- reading the table ---------------------------------------------------------------------- */

/* Walks over the stored vectors of a column; NULL rows are passed over. */
typedef struct row_reader {
  sqlite3_stmt *stmt;
  const bsv_column *column;
  int64_t rowid;
  const void *vector;
} row_reader;

static int reader_open(row_reader *reader, sqlite3 *db, const bsv_column *column) {
  reader->column = column;
  return bsv_prepare(db, &reader->stmt, "SELECT %s, \"%w\" FROM main.\"%w\" ORDER BY 1", column->rowid, column->column,
                     column->table);
}

/* SQLITE_ROW, SQLITE_DONE, or an error. */
static int reader_next(row_reader *reader, char **error) {
  for (;;) {
    int rc = sqlite3_step(reader->stmt);
    if (rc != SQLITE_ROW) return rc;
    if (sqlite3_column_type(reader->stmt, 1) == SQLITE_NULL) continue;
    reader->rowid = sqlite3_column_int64(reader->stmt, 0);
    reader->vector = sqlite3_column_blob(reader->stmt, 1);
    if ((uint64_t)sqlite3_column_bytes(reader->stmt, 1) < bsv_column_bytes(reader->column)) {
      *error = bsv_bad_vector_message(reader->column, reader->rowid);
      return SQLITE_ERROR;
    }
    return reader->vector ? SQLITE_ROW : SQLITE_NOMEM;
  }
}

/* ---- parameters of the published quantizers ------------------------------------------------- */

/* What the first pass learns of the elements. */
typedef struct value_range {
  float low, high;
  int finite; /* no NaN or infinity was seen */
  int64_t rows;
} value_range;

static void widen_range(value_range *range, const float *values, size_t n) {
  for (size_t i = 0; i < n; i++) {
    if (!isfinite(values[i])) range->finite = 0;
    if (values[i] < range->low) range->low = values[i];
    if (values[i] > range->high) range->high = values[i];
  }
}

static int find_range(bsv_conn *conn, const bsv_column *column, value_range *range, char **error) {
  row_reader reader = {0};
  range->low = INFINITY;
  range->high = -INFINITY;
  range->finite = 1;
  float *values = sqlite3_malloc64((uint64_t)column->dim * sizeof(float));
  int rc = values ? reader_open(&reader, conn->db, column) : SQLITE_NOMEM;
  if (rc == SQLITE_OK) {
    while ((rc = reader_next(&reader, error)) == SQLITE_ROW) {
      bsv_to_f32(column->type, reader.vector, (size_t)column->dim, values);
      widen_range(range, values, (size_t)column->dim);
      range->rows++;
    }
  }
  sqlite3_finalize(reader.stmt);
  sqlite3_free(values);
  return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

/* The codec that the data and the wish ask for. */
static void choose_codec(const bsv_column *column, bsv_qtype wanted, const value_range *range, bsv_codec *codec) {
  codec->qtype = wanted;
  if (column->type == BSV_BIT) codec->qtype = BSV_QTYPE_BIT;
  if (codec->qtype == BSV_QTYPE_AUTO) codec->qtype = range->low < 0 ? BSV_QTYPE_INT8 : BSV_QTYPE_UINT8;
  if (range->rows == 0 || codec->qtype == BSV_QTYPE_BIT) return;
  if (codec->qtype == BSV_QTYPE_INT8) {
    float largest = fmaxf(fabsf(range->low), fabsf(range->high));
    if (largest > 0) codec->scale = 127.0f / largest;
  } else {
    codec->offset = range->low;
    if (range->high > range->low) codec->scale = 255.0f / (range->high - range->low);
  }
  if (!range->finite || !isfinite(codec->scale)) {
    /* No scale fits data with an infinity or a NaN: every code is 0 then, and every distance. */
    codec->scale = 0;
    codec->offset = 0;
  }
}

/* ---- parameters of our own quantizer -------------------------------------------------------- */

#define MEAN_SAMPLES 4096 /* the mean's error is then 1/64 of a row's distance from it */

/*
** The mean of rows spread evenly over the table. It need not be exact, only the same for all rows: a
** poorer mean makes poorer estimates, not wrong ones.
*/
static int sample_mean(bsv_conn *conn, const bsv_column *column, bsv_codec *codec) {
  size_t dim = (size_t)column->dim;
  sqlite3_stmt *stmt = NULL;
  int64_t low = 0, high = -1, used = 0;
  int rc = bsv_prepare(conn->db, &stmt, "SELECT min(%s), max(%s) FROM main.\"%w\"", column->rowid, column->rowid, column->table);
  if (rc == SQLITE_OK && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
    rc = SQLITE_OK;
    if (sqlite3_column_type(stmt, 0) != SQLITE_NULL) {
      low = sqlite3_column_int64(stmt, 0);
      high = sqlite3_column_int64(stmt, 1);
    }
  }
  sqlite3_finalize(stmt);
  if (rc != SQLITE_OK) return rc;

  codec->mean = sqlite3_malloc64((uint64_t)dim * sizeof(float));
  double *sum = sqlite3_malloc64((uint64_t)dim * (sizeof(double) + sizeof(float)));
  if (codec->mean == NULL || sum == NULL) {
    sqlite3_free(sum);
    return SQLITE_NOMEM;
  }
  float *row = (float *)(void *)(sum + dim);
  memset(codec->mean, 0, dim * sizeof(float));
  memset(sum, 0, dim * sizeof(double));
  rc = bsv_prepare(conn->db, &stmt, "SELECT \"%w\" FROM main.\"%w\" WHERE %s >= ?1 AND \"%w\" IS NOT NULL ORDER BY %s LIMIT 1",
                   column->column, column->table, column->rowid, column->column, column->rowid);
  uint64_t span = high < low ? 0 : (uint64_t)high - (uint64_t)low, n = span < MEAN_SAMPLES ? span + 1 : MEAN_SAMPLES;
  double step = n > 1 ? (double)span / (double)(n - 1) : 0;
  for (uint64_t i = 0; rc == SQLITE_OK && high >= low && i < n; i++) {
    sqlite3_bind_int64(stmt, 1, (int64_t)((uint64_t)low + (uint64_t)(step * (double)i)));
    rc = sqlite3_step(stmt);
    const void *vector = rc == SQLITE_ROW ? sqlite3_column_blob(stmt, 0) : NULL;
    if (vector != NULL && (uint64_t)sqlite3_column_bytes(stmt, 0) >= bsv_column_bytes(column)) {
      bsv_to_f32(column->type, vector, dim, row);
      double square = (double)conn->kernels->f32.dot(row, row, dim);
      double scale = codec->coding == BSV_CODING_COSINE && square > 0 ? 1 / sqrt(square) : 1;
      for (size_t j = 0; isfinite(square) && j < dim; j++) sum[j] += (double)row[j] * scale;
      used += isfinite(square) != 0;
    }
    rc = rc == SQLITE_ROW || rc == SQLITE_DONE ? sqlite3_reset(stmt) : rc;
  }
  sqlite3_finalize(stmt);
  for (size_t j = 0; used > 0 && j < dim; j++) codec->mean[j] = (float)(sum[j] / (double)used);
  sqlite3_free(sum);
  return rc;
}

/* ---- full quantization ---------------------------------------------------------------------- */

/* Drops a table, or empties it while a statement of this connection is open on any table. */
static int drop_table(sqlite3 *db, const char *name) {
  int rc = bsv_exec(db, "DROP TABLE IF EXISTS main.\"%w\"", name);
  return rc == SQLITE_LOCKED ? bsv_exec(db, "DELETE FROM main.\"%w\"", name) : rc;
}

/* The table of codes, empty, and no other. */
static int fresh_shadow(bsv_conn *conn, const bsv_column *column, bsv_qtype qtype) {
  int own = bsv_qtype_is_own(qtype);
  const char *shadow = bsv_column_shadow(column, qtype);
  int rc = bsv_exec(conn->db, own ? "CREATE TABLE IF NOT EXISTS main.\"%w\" (rowid1 INTEGER PRIMARY KEY, rowid2 INTEGER,"
                                    " counter INTEGER, version INTEGER, data BLOB)"
                                  : "CREATE TABLE IF NOT EXISTS main.\"%w\""
                                    " (rowid1 INTEGER, rowid2 INTEGER, counter INTEGER, data BLOB)",
                    shadow);
  if (rc == SQLITE_OK) rc = bsv_exec(conn->db, "DELETE FROM main.\"%w\"", shadow);
  if (rc == SQLITE_OK) rc = drop_table(conn->db, own ? column->shadow : column->own_shadow);
  return rc;
}

static int write_codes(bsv_conn *conn, const bsv_column *column, bsv_codec *codec, int64_t max_memory_bytes, char **error) {
  row_reader reader = {0};
  bsv_encoder encoder;
  bsv_chunk_writer writer = {0};
  uint64_t capacity = 0, n = 0, allocated = 0;
  uint8_t *records = NULL;
  codec->count = 0;
  int rc = bsv_encoder_init(&encoder, conn, column, codec);
  if (rc == SQLITE_OK) rc = fresh_shadow(conn, column, codec->qtype);
  if (rc == SQLITE_OK) rc = bsv_chunk_writer_init(&writer, conn, column, codec, max_memory_bytes, &capacity);
  if (rc == SQLITE_OK) rc = reader_open(&reader, conn->db, column);
  while (rc == SQLITE_OK && (rc = reader_next(&reader, error)) == SQLITE_ROW) {
    rc = SQLITE_OK;
    if (n == capacity) {
      rc = bsv_chunk_writer_put(&writer, records, n);
      n = 0;
    }
    if (rc == SQLITE_OK && n == allocated) {
      uint64_t larger = allocated ? allocated * 2 : 64;
      if (larger > capacity) larger = capacity;
      uint8_t *grown = sqlite3_realloc64(records, larger * encoder.record_bytes);
      if (grown == NULL) {
        rc = SQLITE_NOMEM;
      } else {
        records = grown;
        allocated = larger;
      }
    }
    if (rc == SQLITE_OK) bsv_encoder_put(&encoder, reader.rowid, reader.vector, records + n++ * encoder.record_bytes);
    codec->count++;
  }
  if (rc == SQLITE_DONE) rc = bsv_chunk_writer_put(&writer, records, n);
  if (encoder.n_noise > 0) codec->noise = (float)(encoder.noise / (double)encoder.n_noise);
  codec->built = codec->count;
  sqlite3_finalize(reader.stmt);
  sqlite3_finalize(writer.insert);
  sqlite3_free(records);
  bsv_encoder_clear(&encoder);
  return rc;
}

static int quantize_full(bsv_conn *conn, bsv_column *column, const bsv_quantize_options *options, bsv_codec *codec, char **error) {
  value_range range = {0};
  int rc = SQLITE_OK, own = bsv_qtype_is_own(options->qtype);
  /* The dimension is the caller's claim, not yet proved by any row; SQLite's own limit bounds it. */
  if (bsv_column_bytes(column) > (uint64_t)sqlite3_limit(conn->db, SQLITE_LIMIT_LENGTH, -1)) {
    *error = sqlite3_mprintf("a vector of %lld elements is longer than any BLOB of this database", column->dim);
    return SQLITE_TOOBIG;
  }
  bsv_codec_clear(codec);
  codec->tracked = options->track && !column->is_virtual;
  if (own) {
    codec->qtype = options->qtype;
    codec->coding = bsv_coding_for(column->type, column->metric, column->normalized);
    codec->rescore = options->rescore == BSV_RESCORE_DEFAULT ? BSV_RESCORE_AUTO : options->rescore;
    rc = sample_mean(conn, column, codec);
  } else {
    codec->rescore = options->rescore == BSV_RESCORE_DEFAULT ? 0 : options->rescore;
    if (options->qtype != BSV_QTYPE_BIT && column->type != BSV_BIT) rc = find_range(conn, column, &range, error);
    if (rc == SQLITE_OK) choose_codec(column, options->qtype, &range, codec);
  }
  if (own || codec->tracked || codec->rescore != 0) { /* else there is nothing but what is published */
    codec->stamp = bsv_new_stamp();
    codec->lineage = bsv_new_stamp();
  }
  if (rc == SQLITE_OK) rc = write_codes(conn, column, codec, options->max_memory_bytes, error);
  if (rc == SQLITE_OK) rc = bsv_forget_codec(conn->db, column->table, column->column);
  if (rc == SQLITE_OK) rc = bsv_write_codec(conn->db, column->table, column->column, column->dim, codec);
  if (rc == SQLITE_OK) {
    rc = codec->tracked ? bsv_track_start(conn->db, column) : bsv_track_stop(conn->db, column->table, column->column);
  }
  return rc;
}

/* ---- choice between full and incremental ---------------------------------------------------- */

/* Whether the stored codes are what the options ask for, and are tracked without a gap. */
static int can_merge(bsv_conn *conn, const bsv_column *column, const bsv_quantize_options *options, const bsv_codec *codec,
                     int *possible) {
  int intact = 0, found = 0;
  *possible = 0;
  if (options->full || column->damaged || !codec->tracked || !options->track || codec->stamp == 0) return SQLITE_OK;
  if (options->qtype != codec->qtype) return SQLITE_OK;
  if (bsv_qtype_is_own(codec->qtype) && codec->coding != bsv_coding_for(column->type, column->metric, column->normalized)) {
    return SQLITE_OK;
  }
  int rc = bsv_track_intact(conn->db, column, &intact);
  if (rc == SQLITE_OK) rc = bsv_table_exists(conn->db, bsv_column_shadow(column, codec->qtype), &found);
  *possible = intact && found;
  return rc;
}

static int has_changes(bsv_conn *conn, const bsv_column *column, int *changes) {
  sqlite3_stmt *stmt = NULL;
  int rc = bsv_prepare(conn->db, &stmt, "SELECT EXISTS (SELECT 1 FROM main.\"%w\")", column->log);
  if (rc == SQLITE_OK && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
    *changes = sqlite3_column_int(stmt, 0);
    rc = SQLITE_OK;
  }
  sqlite3_finalize(stmt);
  return rc;
}

/* `codec` comes as it is stored and is left as it is stored then. */
static int quantize_in_savepoint(bsv_conn *conn, bsv_column *column, const bsv_quantize_options *options, bsv_codec *codec,
                                 char **error) {
  int possible = 0, changes = 0, merged = 0;
  int rescore = options->rescore == BSV_RESCORE_DEFAULT ? codec->rescore : options->rescore;
  int rc = can_merge(conn, column, options, codec, &possible);
  if (rc != SQLITE_OK) return rc;
  if (possible) {
    rc = has_changes(conn, column, &changes);
    if (rc != SQLITE_OK) return rc;
    if (!changes && rescore == codec->rescore) return SQLITE_OK; /* nothing to do, and nothing is written */
    rc = bsv_merge_changes(conn, column, codec, options->max_memory_bytes, &merged, error);
    if (rc != SQLITE_OK && rc != SQLITE_CORRUPT) return rc; /* damaged codes are made anew */
  }
  if (!merged) return quantize_full(conn, column, options, codec, error);
  codec->stamp = bsv_new_stamp();
  codec->generation++;
  codec->rescore = rescore;
  rc = bsv_write_codec(conn->db, column->table, column->column, column->dim, codec);
  return rc == SQLITE_OK ? bsv_exec(conn->db, "DELETE FROM main.\"%w\"", column->log) : rc;
}

/* What the call's options, the stored codes and vector_init() ask for, in this order. */
static int effective_options(const bsv_column *column, const bsv_codec *codec, const char *text, size_t n,
                             bsv_quantize_options *options, char **error) {
  *options = column->options;
  if (codec->qtype != BSV_QTYPE_NONE) options->qtype = codec->qtype;
  int rc = bsv_parse_quantize_options(text, n, options, error);
  if (rc != SQLITE_OK) return rc;
  if (codec->qtype != BSV_QTYPE_NONE && options->track == BSV_TRACK_DEFAULT) options->track = codec->tracked;
  if (options->track == BSV_TRACK_DEFAULT) options->track = 1;
  if (options->rescore == BSV_RESCORE_DEFAULT && options->qtype == codec->qtype) options->rescore = codec->rescore;
  if (column->type == BSV_BIT && options->qtype != BSV_QTYPE_AUTO && options->qtype != BSV_QTYPE_BIT) {
    *error = sqlite3_mprintf("'%s.%s' holds bits: use qtype=1BIT, or none", column->table, column->column);
    return SQLITE_MISUSE;
  }
  if (bsv_qtype_is_own(options->qtype) && !bsv_coding_for(column->type, column->metric, column->normalized)) {
    *error = sqlite3_mprintf("%s serves the distances L2, SQUARED_L2, COSINE and DOT; '%s.%s' has %s",
                             bsv_qtype_name(options->qtype), column->table, column->column, bsv_metric_name(column->metric));
    return SQLITE_MISUSE;
  }
  return SQLITE_OK;
}

int bsv_quantize(bsv_conn *conn, bsv_column *column, const char *text, size_t n, int64_t *rows, char **error) {
  bsv_quantize_options options;
  bsv_codec codec = {.qtype = BSV_QTYPE_NONE};
  *error = NULL;
  int rc = bsv_exec(conn->db, "SAVEPOINT bsv_quantize");
  if (rc != SQLITE_OK) return rc;
  rc = bsv_read_codec(conn->db, column->table, column->column, column->dim, &codec);
  if (rc == SQLITE_OK) rc = effective_options(column, &codec, text, n, &options, error);
  if (rc == SQLITE_OK) rc = quantize_in_savepoint(conn, column, &options, &codec, error);
  if (rc == SQLITE_OK) rc = bsv_exec(conn->db, "RELEASE bsv_quantize"); /* may be the commit, and fail like one */
  if (rc != SQLITE_OK) {
    if (*error == NULL) *error = sqlite3_mprintf("%s", sqlite3_errmsg(conn->db)); /* before it is overwritten */
    bsv_exec(conn->db, "ROLLBACK TO bsv_quantize");
    bsv_exec(conn->db, "RELEASE bsv_quantize");
    bsv_codec_clear(&codec);
    return rc;
  }
  *rows = codec.count;
  bsv_codec_clear(&column->codec);
  column->codec = codec;
  column->damaged = 0;
  column->options.qtype = codec.qtype;
  if (options.max_memory_bytes > 0) column->options.max_memory_bytes = options.max_memory_bytes;
  if (column->preloaded != NULL) {
    bsv_codes_unref(column->preloaded);
    column->preloaded = NULL;
    if (!bsv_qtype_is_own(codec.qtype)) rc = bsv_preload(conn, column, "", 0, error);
  }
  return rc;
}

char *bsv_damaged_message(const bsv_column *column) {
  return sqlite3_mprintf("the codes of '%s.%s' are damaged or were made by another program: run vector_quantize('%q', '%q',"
                         " 'full=1')",
                         column->table, column->column, column->table, column->column);
}

/* ---- loading and dropping ------------------------------------------------------------------- */

/* Loads published codes into this connection. */
static int preload_published(bsv_conn *conn, bsv_column *column) {
  bsv_codes *codes = NULL;
  int rc = bsv_codes_load(conn->db, column->shadow, bsv_record_bytes(column->codec.qtype, (uint64_t)column->dim), &codes);
  if (rc != SQLITE_OK) return rc;
  if (codes->n_chunks == 0) {
    bsv_codes_unref(codes);
    return SQLITE_EMPTY;
  }
  codes->stamp = column->codec.stamp;
  bsv_codes_unref(column->preloaded);
  column->preloaded = codes;
  return SQLITE_OK;
}

int bsv_open_view(bsv_conn *conn, const bsv_column *column, bsv_view **view) {
  bsv_view *base = NULL;
  const bsv_codec *codec = &column->codec;
  *view = bsv_cache_find(conn->cache, codec->lineage, codec->stamp, &base);
  if (*view != NULL) return SQLITE_OK;
  int rc = bsv_view_load(conn->cache, conn->kernels, conn->db, column->own_shadow, codec, (size_t)column->dim, base, view);
  if (rc == SQLITE_OK && base != NULL && base->row_sets != NULL) { /* rows were loaded by option: keep them so */
    bsv_source source = {.column = (bsv_column *)column};
    bsv_idset changed = {0};
    bsv_view *with_rows = NULL;
    rc = bsv_source_row(&source, conn->db);
    if (rc == SQLITE_OK && codec->tracked) rc = bsv_source_changed_ids(&source, conn->db, &changed);
    if (rc == SQLITE_OK) {
      rc = bsv_view_with_rows(conn->cache, source.row, base->row_bytes, &changed, *view, base, &with_rows);
    }
    bsv_view_unref(conn->cache, *view);
    *view = with_rows;
    sqlite3_finalize(source.row);
    bsv_idset_clear(&changed);
  }
  bsv_view_unref(conn->cache, base);
  /* What a transaction has not committed may never become true for the others. */
  if (rc == SQLITE_OK && sqlite3_txn_state(conn->db, "main") != SQLITE_TXN_WRITE) bsv_cache_offer(conn->cache, *view);
  return rc;
}

/* Loads our own codes into the cache, and the exact vectors when asked to. */
static int preload_own(bsv_conn *conn, bsv_column *column, bsv_source *source, int rows) {
  bsv_view *view = NULL, *with_rows = NULL;
  bsv_idset changed = {0};
  int rc = bsv_open_view(conn, column, &view);
  if (rc == SQLITE_OK && view->n_rows == 0) rc = SQLITE_EMPTY;
  if (rc == SQLITE_OK && rows && view->row_sets == NULL) {
    rc = bsv_source_row(source, conn->db);
    if (rc == SQLITE_OK && column->codec.tracked) rc = bsv_source_changed_ids(source, conn->db, &changed);
    if (rc == SQLITE_OK) {
      rc = bsv_view_with_rows(conn->cache, source->row, (size_t)bsv_column_bytes(column), &changed, view, NULL, &with_rows);
    }
    if (rc == SQLITE_OK) bsv_cache_offer(conn->cache, with_rows);
    bsv_view_unref(conn->cache, with_rows);
    bsv_idset_clear(&changed);
  }
  bsv_view_unref(conn->cache, view);
  return rc;
}

static int wants_rows(const char *text, size_t n) {
  bsv_slice rest = {text, n}, key, value;
  int64_t number = 0;
  while (bsv_next_option(&rest, &key, &value)) {
    if (bsv_slice_equals(key, "rows") && !bsv_slice_integer(value, &number)) number = 0;
  }
  return number != 0;
}

int bsv_preload(bsv_conn *conn, bsv_column *column, const char *text, size_t n, char **error) {
  bsv_source source = {.column = column, .reprepared = -1};
  bsv_state state;
  *error = NULL;
  int rc = bsv_source_begin(&source, conn->db, &state);
  if (rc == SQLITE_OK && state == BSV_STATE_NO_CODES) rc = SQLITE_EMPTY;
  if (rc == SQLITE_OK && bsv_qtype_is_own(column->codec.qtype)) {
    rc = preload_own(conn, column, &source, wants_rows(text, n));
  } else if (rc == SQLITE_OK && (column->preloaded == NULL || column->preloaded->stamp != column->codec.stamp)) {
    rc = preload_published(conn, column);
  }
  if (rc == SQLITE_EMPTY) {
    *error = sqlite3_mprintf("'%s.%s' has no codes to load: run vector_quantize() first", column->table, column->column);
    rc = SQLITE_ERROR;
  } else if (rc == SQLITE_CORRUPT) {
    column->damaged = 1;
    *error = bsv_damaged_message(column);
  }
  bsv_source_end(&source);
  sqlite3_finalize(source.stamp);
  sqlite3_finalize(source.changes);
  sqlite3_finalize(source.row);
  return rc;
}

int bsv_cleanup(bsv_conn *conn, const char *table, const char *name) {
  bsv_column *column = bsv_conn_column(conn, table, name);
  if (column != NULL) { /* its own spelling is what the metadata have */
    table = column->table;
    name = column->column;
  }
  char *shadow = bsv_shadow_name(table, name), *own_shadow = bsv_own_shadow_name(table, name);
  int rc = shadow && own_shadow ? bsv_exec(conn->db, "SAVEPOINT bsv_cleanup") : SQLITE_NOMEM;
  if (rc == SQLITE_OK) {
    rc = bsv_exec(conn->db, "DROP TABLE IF EXISTS main.\"%w\"", shadow);
    if (rc == SQLITE_OK) rc = bsv_exec(conn->db, "DROP TABLE IF EXISTS main.\"%w\"", own_shadow);
    if (rc == SQLITE_OK) rc = bsv_track_stop(conn->db, table, name);
    if (rc == SQLITE_OK) rc = bsv_forget_codec(conn->db, table, name);
    if (rc != SQLITE_OK) bsv_exec(conn->db, "ROLLBACK TO bsv_cleanup");
    int released = bsv_exec(conn->db, "RELEASE bsv_cleanup");
    if (rc == SQLITE_OK) rc = released;
  }
  sqlite3_free(shadow);
  sqlite3_free(own_shadow);
  if (rc == SQLITE_OK && column != NULL) {
    bsv_codes_unref(column->preloaded);
    column->preloaded = NULL;
  }
  return rc;
}

static int table_memory(sqlite3 *db, const char *shadow, int64_t *bytes) {
  sqlite3_stmt *stmt = NULL;
  int found = 0;
  int rc = shadow ? bsv_table_exists(db, shadow, &found) : SQLITE_NOMEM;
  if (rc != SQLITE_OK || !found) return rc;
  rc = bsv_prepare(db, &stmt, "SELECT total(length(data)) FROM main.\"%w\"", shadow);
  if (rc == SQLITE_OK && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
    *bytes += sqlite3_column_int64(stmt, 0);
    rc = SQLITE_OK;
  }
  sqlite3_finalize(stmt);
  return rc;
}

int bsv_quantize_memory(sqlite3 *db, const char *table, const char *column, int64_t *bytes) {
  char *shadow = bsv_shadow_name(table, column), *own_shadow = bsv_own_shadow_name(table, column);
  *bytes = 0;
  int rc = table_memory(db, shadow, bytes);
  if (rc == SQLITE_OK) rc = table_memory(db, own_shadow, bytes);
  sqlite3_free(shadow);
  sqlite3_free(own_shadow);
  return rc;
}

int bsv_quantize_stats(bsv_conn *conn, bsv_column *column, char **json, char **error) {
  bsv_source source = {.column = column, .reprepared = -1};
  bsv_state state;
  bsv_view *view = NULL;
  const bsv_search_stats *stats = &conn->stats;
  int64_t bytes = 0, elapsed = 0;
  uint64_t sum = 0;
  *error = NULL;
  int rc = bsv_source_begin(&source, conn->db, &state);
  if (rc == SQLITE_OK && state != BSV_STATE_NO_CODES && bsv_qtype_is_own(column->codec.qtype)) {
    rc = bsv_open_view(conn, column, &view);
  }
  if (rc == SQLITE_OK && view != NULL) {
    int64_t start = bsv_clock_ns();
    for (size_t i = 0; i < view->n_chunks; i++) {
      size_t n = (view->chunks[i]->n + BSV_BLOCK_ROWS - 1) / BSV_BLOCK_ROWS * bsv_block_bytes(view->code_bytes);
      sum ^= conn->kernels->read(view->chunks[i]->blocks, n);
      bytes += (int64_t)n;
    }
    elapsed = bsv_clock_ns() - start;
  }
  if (rc == SQLITE_OK) {
    /* The sum is of no use but that the reads cannot be left out for it. */
    *json = sqlite3_mprintf("{\"backend\":\"%s\",\"scan_us\":%.1f,\"rescore_us\":%.1f,\"passes\":%d,\"candidates\":%lld,"
                            "\"rescored\":%lld,\"code_bytes\":%lld,\"read_us\":%.1f,\"parity\":%d}",
                            conn->kernels->name, (double)stats->scan_ns / 1e3, (double)stats->rescore_ns / 1e3, stats->passes,
                            stats->candidates, stats->rescored, bytes, (double)elapsed / 1e3, (int)(sum & 1));
    if (*json == NULL) rc = SQLITE_NOMEM;
  } else if (rc == SQLITE_CORRUPT) {
    column->damaged = 1;
    *error = bsv_damaged_message(column);
  }
  bsv_view_unref(conn->cache, view);
  bsv_source_end(&source);
  sqlite3_finalize(source.stamp);
  return rc;
}
