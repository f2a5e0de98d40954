/* Writing and loading of a column's quantized codes. */
#include "bsv_quantize.h"

#include <math.h>
#include <string.h>

/* What the first pass learns of the elements. */
typedef struct value_range {
  float low, high;
  int finite; /* no NaN or infinity was seen */
  int64_t rows;
} value_range;

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
    uint64_t bytes = bsv_column_bytes(reader->column);
    reader->vector = sqlite3_column_blob(reader->stmt, 1);
    if ((uint64_t)sqlite3_column_bytes(reader->stmt, 1) < bytes) {
      *error = sqlite3_mprintf("the vector at rowid %lld of '%s.%s' is not a BLOB of %llu bytes (%lld elements of type %s)",
                               reader->rowid, reader->column->table, reader->column->column, bytes, reader->column->dim,
                               bsv_type_name(reader->column->type));
      return SQLITE_ERROR;
    }
    return reader->vector ? SQLITE_ROW : SQLITE_NOMEM;
  }
}

static void widen_range(value_range *range, const float *values, size_t n) {
  for (size_t i = 0; i < n; i++) {
    if (!isfinite(values[i])) range->finite = 0;
    if (values[i] < range->low) range->low = values[i];
    if (values[i] > range->high) range->high = values[i];
  }
}

static int find_range(bsv_conn *conn, const bsv_column *column, float *scratch, value_range *range, char **error) {
  row_reader reader = {0};
  range->low = INFINITY;
  range->high = -INFINITY;
  range->finite = 1;
  int rc = reader_open(&reader, conn->db, column);
  if (rc == SQLITE_OK) {
    while ((rc = reader_next(&reader, error)) == SQLITE_ROW) {
      bsv_to_f32(column->type, reader.vector, (size_t)column->dim, scratch);
      widen_range(range, scratch, (size_t)column->dim);
      range->rows++;
    }
  }
  sqlite3_finalize(reader.stmt);
  return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

/* The codec that the data and the options ask for. */
static void choose_codec(const bsv_column *column, bsv_qtype wanted, const value_range *range, bsv_codec *codec) {
  codec->scale = 1;
  codec->offset = 0;
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

/* One chunk being filled. */
typedef struct chunk_writer {
  sqlite3_stmt *insert;
  uint8_t *records;
  uint64_t n, allocated, capacity;
  uint64_t record_bytes;
} chunk_writer;

static int writer_flush(chunk_writer *writer) {
  if (writer->n == 0) return SQLITE_OK;
  const uint8_t *last = writer->records + (writer->n - 1) * writer->record_bytes;
  sqlite3_bind_int64(writer->insert, 1, bsv_record_rowid(writer->records));
  sqlite3_bind_int64(writer->insert, 2, bsv_record_rowid(last));
  sqlite3_bind_int64(writer->insert, 3, (sqlite3_int64)writer->n);
  sqlite3_bind_blob64(writer->insert, 4, writer->records, writer->n * writer->record_bytes, SQLITE_STATIC);
  int rc = sqlite3_step(writer->insert);
  int reset = sqlite3_reset(writer->insert);
  writer->n = 0;
  return rc == SQLITE_DONE ? reset : rc;
}

static int writer_next(chunk_writer *writer, uint8_t **record) {
  if (writer->n == writer->capacity) {
    int rc = writer_flush(writer);
    if (rc != SQLITE_OK) return rc;
  }
  if (writer->n == writer->allocated) {
    uint64_t larger = writer->allocated ? writer->allocated * 2 : 64;
    if (larger > writer->capacity) larger = writer->capacity;
    uint8_t *records = sqlite3_realloc64(writer->records, larger * writer->record_bytes);
    if (records == NULL) return SQLITE_NOMEM;
    writer->records = records;
    writer->allocated = larger;
  }
  *record = writer->records + writer->n++ * writer->record_bytes;
  return SQLITE_OK;
}

static int write_codes(bsv_conn *conn, const bsv_column *column, const bsv_codec *codec, int64_t max_memory, float *scratch,
                       int64_t *rows, char **error) {
  row_reader reader = {0};
  chunk_writer writer = {0};
  writer.record_bytes = bsv_record_bytes(codec->qtype, (uint64_t)column->dim);
  uint64_t most = (uint64_t)sqlite3_limit(conn->db, SQLITE_LIMIT_LENGTH, -1) / 2;
  if ((uint64_t)max_memory < most) most = (uint64_t)max_memory;
  writer.capacity = most / writer.record_bytes > 0 ? most / writer.record_bytes : 1;
  *rows = 0;

  int rc = bsv_exec(conn->db,
                    "CREATE TABLE IF NOT EXISTS main.\"%w\""
                    " (rowid1 INTEGER, rowid2 INTEGER, counter INTEGER, data BLOB)",
                    column->shadow);
  if (rc == SQLITE_OK) rc = bsv_exec(conn->db, "DELETE FROM main.\"%w\"", column->shadow);
  if (rc == SQLITE_OK) {
    rc = bsv_prepare(conn->db, &writer.insert, "INSERT INTO main.\"%w\" VALUES (?1, ?2, ?3, ?4)", column->shadow);
  }
  if (rc == SQLITE_OK) rc = reader_open(&reader, conn->db, column);
  while (rc == SQLITE_OK && (rc = reader_next(&reader, error)) == SQLITE_ROW) {
    uint8_t *record;
    rc = writer_next(&writer, &record);
    if (rc != SQLITE_OK) break;
    bsv_put_rowid(record, reader.rowid);
    bsv_encode(codec, column->type, reader.vector, (size_t)column->dim, scratch, record + BSV_RECORD_HEADER);
    ++*rows;
  }
  if (rc == SQLITE_DONE) rc = writer_flush(&writer);
  sqlite3_finalize(reader.stmt);
  sqlite3_finalize(writer.insert);
  sqlite3_free(writer.records);
  return rc;
}

static int quantize_in_savepoint(bsv_conn *conn, bsv_column *column, const bsv_quantize_options *options, bsv_codec *codec,
                                 int64_t *rows, char **error) {
  value_range range = {0};
  /* The dimension is the caller's claim, not yet proved by any row. A column that holds a single
  ** vector of it proves that this much memory is reasonable; SQLite's own limit bounds it anyway. */
  if (bsv_column_bytes(column) > (uint64_t)sqlite3_limit(conn->db, SQLITE_LIMIT_LENGTH, -1)) {
    *error = sqlite3_mprintf("a vector of %lld elements is longer than any BLOB of this database", column->dim);
    return SQLITE_TOOBIG;
  }
  float *scratch = sqlite3_malloc64((uint64_t)column->dim * sizeof(float));
  if (scratch == NULL) return SQLITE_NOMEM;
  int rc = SQLITE_OK;
  if (options->qtype != BSV_QTYPE_BIT && column->type != BSV_BIT) {
    rc = find_range(conn, column, scratch, &range, error);
  }
  if (rc == SQLITE_OK) {
    choose_codec(column, options->qtype, &range, codec);
    rc = write_codes(conn, column, codec, options->max_memory_bytes, scratch, rows, error);
  }
  if (rc == SQLITE_OK) rc = bsv_write_codec(conn->db, column->table, column->column, codec);
  sqlite3_free(scratch);
  return rc;
}

int bsv_quantize(bsv_conn *conn, bsv_column *column, const char *text, size_t n, int64_t *rows, char **error) {
  bsv_quantize_options options = column->options;
  bsv_codec codec = {BSV_QTYPE_NONE, 1, 0};
  *error = NULL;
  int rc = bsv_parse_quantize_options(text, n, &options, error);
  if (rc != SQLITE_OK) return rc;
  if (column->type == BSV_BIT && options.qtype != BSV_QTYPE_AUTO && options.qtype != BSV_QTYPE_BIT) {
    *error = sqlite3_mprintf("'%s.%s' holds bits: use qtype=1BIT, or none", column->table, column->column);
    return SQLITE_MISUSE;
  }
  rc = bsv_exec(conn->db, "SAVEPOINT bsv_quantize");
  if (rc != SQLITE_OK) return rc;
  rc = quantize_in_savepoint(conn, column, &options, &codec, rows, error);
  if (rc == SQLITE_OK) {
    rc = bsv_exec(conn->db, "RELEASE bsv_quantize"); /* may be the commit, and fail like one */
  }
  if (rc != SQLITE_OK) {
    if (*error == NULL) *error = sqlite3_mprintf("%s", sqlite3_errmsg(conn->db)); /* before it is overwritten */
    bsv_exec(conn->db, "ROLLBACK TO bsv_quantize");
    bsv_exec(conn->db, "RELEASE bsv_quantize");
    return rc;
  }
  column->codec = codec;
  column->options.qtype = codec.qtype;
  column->options.max_memory_bytes = options.max_memory_bytes;
  if (column->preloaded != NULL) {
    bsv_codes_unref(column->preloaded);
    column->preloaded = NULL;
    rc = bsv_preload(conn, column, error);
  }
  return rc;
}

int bsv_preload(bsv_conn *conn, bsv_column *column, char **error) {
  int found = 0;
  bsv_codes *codes = NULL;
  *error = NULL;
  if (column->preloaded != NULL) return SQLITE_OK;
  int rc = bsv_table_exists(conn->db, column->shadow, &found);
  if (rc != SQLITE_OK) return rc;
  if (found && column->codec.qtype == BSV_QTYPE_NONE) { /* quantized elsewhere since vector_init() */
    rc = bsv_read_codec(conn->db, column->table, column->column, &column->codec);
    if (rc != SQLITE_OK) return rc;
  }
  if (found && column->codec.qtype != BSV_QTYPE_NONE) {
    rc = bsv_codes_load(conn->db, column->shadow, bsv_record_bytes(column->codec.qtype, (uint64_t)column->dim), &codes);
    if (rc == SQLITE_CORRUPT) {
      *error = sqlite3_mprintf("the codes of '%s.%s' are damaged or were made with another quantizer: run vector_quantize()",
                               column->table, column->column);
    }
    if (rc != SQLITE_OK) return rc;
  }
  if (codes == NULL || codes->n_chunks == 0) {
    bsv_codes_unref(codes);
    *error = sqlite3_mprintf("'%s.%s' has no codes to load: run vector_quantize() first", column->table, column->column);
    return SQLITE_ERROR;
  }
  column->preloaded = codes;
  return SQLITE_OK;
}

int bsv_cleanup(bsv_conn *conn, const char *table, const char *name) {
  char *shadow = bsv_shadow_name(table, name);
  if (shadow == NULL) return SQLITE_NOMEM;
  int rc = bsv_exec(conn->db, "DROP TABLE IF EXISTS main.\"%w\"", shadow);
  sqlite3_free(shadow);
  bsv_column *column = rc == SQLITE_OK ? bsv_conn_column(conn, table, name) : NULL;
  if (column != NULL) {
    bsv_codes_unref(column->preloaded);
    column->preloaded = NULL;
  }
  return rc;
}

int bsv_quantize_memory(sqlite3 *db, const char *table, const char *column, int64_t *bytes) {
  sqlite3_stmt *stmt = NULL;
  int found = 0;
  *bytes = 0;
  char *shadow = bsv_shadow_name(table, column);
  if (shadow == NULL) return SQLITE_NOMEM;
  int rc = bsv_table_exists(db, shadow, &found);
  if (rc == SQLITE_OK && found) {
    rc = bsv_prepare(db, &stmt, "SELECT total(length(data)) FROM main.\"%w\"", shadow);
    if (rc == SQLITE_OK && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
      *bytes = sqlite3_column_int64(stmt, 0);
      rc = SQLITE_OK;
    }
    sqlite3_finalize(stmt);
  }
  sqlite3_free(shadow);
  return rc;
}
