/* The published code layout: encoding, metadata, and reading chunks back. */
#include "bsv_codes.h"

#include <math.h>
#include <string.h>

#include "bsv_conn.h"

/* ---- quantizers ----------------------------------------------------------------------------- */

/* The first name of each value is the one that messages use. */
static const struct {
  const char *name;
  bsv_qtype qtype;
} qtype_names[] = {
    {"UINT8", BSV_QTYPE_UINT8}, {"INT8", BSV_QTYPE_INT8},     {"1BIT", BSV_QTYPE_BIT},       {"BIT", BSV_QTYPE_BIT},
    {"BINARY", BSV_QTYPE_BIT},  {"RABITQ", BSV_QTYPE_RABITQ}, {"RABITQ4", BSV_QTYPE_RABITQ4},
    /* The published quantizer of these names keeps its codes to itself. Ours of 4 bits takes its place:
    ** the same bytes per vector as TURBO4, and estimates in the same units. */
    {"TURBO", BSV_QTYPE_RABITQ4}, {"TURBO2", BSV_QTYPE_RABITQ4}, {"TURBO3", BSV_QTYPE_RABITQ4}, {"TURBO4", BSV_QTYPE_RABITQ4},
};

#define N_QTYPES (sizeof qtype_names / sizeof qtype_names[0])

int bsv_qtype_parse(const char *text, size_t n, bsv_qtype *qtype) {
  for (size_t i = 0; i < N_QTYPES; i++) {
    if (strlen(qtype_names[i].name) == n && sqlite3_strnicmp(qtype_names[i].name, text, (int)n) == 0) {
      *qtype = qtype_names[i].qtype;
      return 1;
    }
  }
  return 0;
}

const char *bsv_qtype_name(bsv_qtype qtype) {
  for (size_t i = 0; i < N_QTYPES; i++) {
    if (qtype_names[i].qtype == qtype) return qtype_names[i].name;
  }
  return "?";
}

bsv_type bsv_qtype_element(bsv_qtype qtype) {
  if (qtype == BSV_QTYPE_INT8) return BSV_I8;
  return qtype == BSV_QTYPE_BIT ? BSV_BIT : BSV_U8;
}

uint64_t bsv_record_bytes(bsv_qtype qtype, uint64_t dim) {
  if (bsv_qtype_is_own(qtype)) return BSV_RECORD_HEADER + bsv_rabitq_payload(bsv_qtype_bits(qtype), (size_t)dim);
  return BSV_RECORD_HEADER + bsv_vector_bytes(bsv_qtype_element(qtype), dim);
}

/* Half away from zero, then clamped. A NaN becomes 0: it compares false with both bounds. */
static int rounded(float x, int low, int high) {
  float r = roundf(x);
  if (r >= (float)high) return high;
  if (r <= (float)low) return low;
  return r == r ? (int)r : 0;
}

void bsv_encode(const bsv_codec *codec, bsv_type type, const void *vector, size_t dim, float *scratch, uint8_t *out) {
  if (type == BSV_BIT) { /* already codes; the only quantizer that bit columns have */
    memcpy(out, vector, (size_t)bsv_vector_bytes(BSV_BIT, dim));
    return;
  }
  bsv_to_f32(type, vector, dim, scratch);
  if (codec->qtype == BSV_QTYPE_BIT) {
    /* One bit per element, the lowest bit first: at or above the middle of the type's range. */
    float middle = type == BSV_U8 ? 128.0f : 0.0f;
    memset(out, 0, (size_t)bsv_vector_bytes(BSV_BIT, dim));
    for (size_t i = 0; i < dim; i++) out[i / 8] |= (uint8_t)((scratch[i] >= middle) << i % 8);
    return;
  }
  int low = codec->qtype == BSV_QTYPE_INT8 ? -128 : 0, high = codec->qtype == BSV_QTYPE_INT8 ? 127 : 255;
  for (size_t i = 0; i < dim; i++) out[i] = (uint8_t)rounded((scratch[i] - codec->offset) * codec->scale, low, high);
}

/* ---- chunks in memory ----------------------------------------------------------------------- */

bsv_codes *bsv_codes_ref(bsv_codes *codes) {
  codes->references++;
  return codes;
}

void bsv_codes_unref(bsv_codes *codes) {
  if (codes == NULL || --codes->references > 0) return;
  for (size_t i = 0; i < codes->n_chunks; i++) sqlite3_free(codes->chunks[i].records);
  sqlite3_free(codes->chunks);
  sqlite3_free(codes);
}

int bsv_chunk_from_row(sqlite3_stmt *stmt, uint64_t record_bytes, const uint8_t **records, uint64_t *n) {
  sqlite3_int64 counter = sqlite3_column_int64(stmt, 0);
  if (sqlite3_column_type(stmt, 1) != SQLITE_BLOB || counter <= 0) return SQLITE_CORRUPT;
  *records = sqlite3_column_blob(stmt, 1);
  uint64_t bytes = (uint64_t)sqlite3_column_bytes(stmt, 1);
  if (*records == NULL) return bytes == 0 ? SQLITE_CORRUPT : SQLITE_NOMEM;
  if (bytes % record_bytes != 0 || bytes / record_bytes != (uint64_t)counter) return SQLITE_CORRUPT;
  *n = (uint64_t)counter;
  return SQLITE_OK;
}

static int append_chunk(bsv_codes *codes, const uint8_t *records, uint64_t n, size_t *capacity) {
  if (codes->n_chunks == *capacity) {
    size_t larger = *capacity ? *capacity * 2 : 4;
    bsv_chunk *chunks = sqlite3_realloc64(codes->chunks, larger * sizeof *chunks);
    if (chunks == NULL) return SQLITE_NOMEM;
    codes->chunks = chunks;
    *capacity = larger;
  }
  uint8_t *copy = sqlite3_malloc64(n * codes->record_bytes);
  if (copy == NULL) return SQLITE_NOMEM;
  memcpy(copy, records, (size_t)(n * codes->record_bytes));
  codes->chunks[codes->n_chunks].records = copy;
  codes->chunks[codes->n_chunks].n = n;
  codes->n_chunks++;
  return SQLITE_OK;
}

int bsv_codes_load(sqlite3 *db, const char *shadow, uint64_t record_bytes, bsv_codes **codes) {
  sqlite3_stmt *stmt = NULL;
  size_t capacity = 0;
  *codes = sqlite3_malloc64(sizeof **codes);
  if (*codes == NULL) return SQLITE_NOMEM;
  memset(*codes, 0, sizeof **codes);
  (*codes)->references = 1;
  (*codes)->record_bytes = record_bytes;
  /* The subquery sorts keys alone; sorting rows would carry the BLOBs along. */
  int rc = bsv_prepare(db, &stmt,
                       "SELECT c.counter, c.data FROM (SELECT rowid AS key FROM main.\"%w\" ORDER BY rowid1) AS o"
                       " CROSS JOIN main.\"%w\" AS c ON c.rowid = o.key",
                       shadow, shadow);
  while (rc == SQLITE_OK && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
    const uint8_t *records;
    uint64_t n;
    rc = bsv_chunk_from_row(stmt, record_bytes, &records, &n);
    if (rc == SQLITE_OK) rc = append_chunk(*codes, records, n, &capacity);
  }
  sqlite3_finalize(stmt);
  if (rc == SQLITE_DONE) return SQLITE_OK;
  bsv_codes_unref(*codes);
  *codes = NULL;
  return rc;
}

/* ---- metadata ------------------------------------------------------------------------------- */

int64_t bsv_new_stamp(void) {
  uint64_t random = 0;
  while (random == 0) {
    sqlite3_randomness(sizeof random, &random);
    random &= INT64_MAX;
  }
  return (int64_t)random;
}

void bsv_codec_clear(bsv_codec *codec) {
  sqlite3_free(codec->mean);
  memset(codec, 0, sizeof *codec);
  codec->qtype = BSV_QTYPE_NONE;
  codec->scale = 1;
}

int bsv_table_exists(sqlite3 *db, const char *name, int *found) {
  sqlite3_stmt *stmt = NULL;
  *found = 0;
  int rc = bsv_prepare(db, &stmt, "SELECT 1 FROM main.sqlite_schema WHERE type = 'table' AND name = %Q COLLATE NOCASE", name);
  if (rc == SQLITE_OK) {
    rc = sqlite3_step(stmt);
    *found = rc == SQLITE_ROW;
  }
  sqlite3_finalize(stmt);
  return rc == SQLITE_ROW || rc == SQLITE_DONE ? SQLITE_OK : rc;
}

/* Takes one key of the metadata. What is damaged makes the codec unusable, not the connection. */
static int take_key(bsv_codec *codec, int64_t dim, const char *key, sqlite3_stmt *stmt) {
  sqlite3_int64 number = sqlite3_column_int64(stmt, 1);
  if (strcmp(key, "qtype") == 0) {
    for (size_t i = 0; i < N_QTYPES; i++) {
      if ((sqlite3_int64)qtype_names[i].qtype == number) codec->qtype = qtype_names[i].qtype;
    }
  } else if (strcmp(key, "qscale") == 0) {
    codec->scale = (float)sqlite3_column_double(stmt, 1);
  } else if (strcmp(key, "qoffset") == 0) {
    codec->offset = (float)sqlite3_column_double(stmt, 1);
  } else if (strcmp(key, "rescore") == 0) {
    codec->rescore = number < BSV_RESCORE_AUTO || number > 1000000 ? 0 : (int)number;
  } else if (strcmp(key, "track") == 0) {
    codec->tracked = number != 0;
  } else if (strcmp(key, "stamp") == 0) {
    codec->stamp = number;
  } else if (strcmp(key, "lineage") == 0) {
    codec->lineage = number;
  } else if (strcmp(key, "generation") == 0) {
    codec->generation = number;
  } else if (strcmp(key, "count") == 0) {
    codec->count = number;
  } else if (strcmp(key, "built") == 0) {
    codec->built = number;
  } else if (strcmp(key, "coding") == 0) {
    codec->coding = number >= BSV_CODING_L2 && number <= BSV_CODING_COSINE ? (bsv_coding)number : 0;
  } else if (strcmp(key, "noise") == 0) {
    codec->noise = (float)sqlite3_column_double(stmt, 1);
  } else if (strcmp(key, "mean") == 0 && codec->mean == NULL) {
    const void *mean = sqlite3_column_blob(stmt, 1);
    uint64_t bytes = (uint64_t)dim * sizeof(float);
    if (mean == NULL || (uint64_t)sqlite3_column_bytes(stmt, 1) != bytes) return SQLITE_OK;
    codec->mean = sqlite3_malloc64(bytes);
    if (codec->mean == NULL) return SQLITE_NOMEM;
    memcpy(codec->mean, mean, (size_t)bytes);
  }
  return SQLITE_OK;
}

int bsv_read_codec(sqlite3 *db, const char *table, const char *column, int64_t dim, bsv_codec *codec) {
  sqlite3_stmt *stmt = NULL;
  int found;
  bsv_codec_clear(codec);
  int rc = bsv_table_exists(db, BSV_METADATA_TABLE, &found);
  if (rc != SQLITE_OK || !found) return rc;
  rc = bsv_prepare(db, &stmt, "SELECT key, value FROM main." BSV_METADATA_TABLE " WHERE tblname = %Q AND colname = %Q", table,
                   column);
  while (rc == SQLITE_OK && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
    const char *key = (const char *)sqlite3_column_text(stmt, 0);
    rc = key ? take_key(codec, dim, key, stmt) : SQLITE_OK;
  }
  sqlite3_finalize(stmt);
  if (rc != SQLITE_DONE) {
    bsv_codec_clear(codec);
    return rc;
  }
  int complete = codec->mean != NULL && codec->coding != 0 && codec->stamp > 0 && codec->lineage > 0;
  if (bsv_qtype_is_own(codec->qtype) && !complete) bsv_codec_clear(codec);
  return SQLITE_OK;
}

static int write_key(sqlite3 *db, sqlite3_stmt *stmt, const char *key) {
  sqlite3_bind_text(stmt, 1, key, -1, SQLITE_STATIC);
  return sqlite3_step(stmt) == SQLITE_DONE ? sqlite3_reset(stmt) : sqlite3_errcode(db);
}

int bsv_write_codec(sqlite3 *db, const char *table, const char *column, int64_t dim, const bsv_codec *codec) {
  sqlite3_stmt *stmt = NULL;
  const struct {
    const char *key;
    double value; /* the column's affinity makes whole numbers INTEGER */
  } numbers[] = {{"qtype", codec->qtype},     {"qbits", 4},
                 {"qscale", codec->scale},    {"qoffset", codec->offset},
                 {"rescore", codec->rescore}, {"track", codec->tracked},
                 {"coding", codec->coding},   {"noise", codec->noise}};
  const struct {
    const char *key;
    int64_t value; /* too large for a double */
  } integers[] = {{"stamp", codec->stamp}, {"lineage", codec->lineage}, {"generation", codec->generation},
                  {"count", codec->count}, {"built", codec->built}};
  int rc = bsv_exec(db, "CREATE TABLE IF NOT EXISTS main." BSV_METADATA_TABLE
                        " (tblname TEXT, colname TEXT, key TEXT, value ANY, PRIMARY KEY(tblname, colname, key))");
  if (rc != SQLITE_OK) return rc;
  rc = bsv_prepare(db, &stmt, "INSERT OR REPLACE INTO main." BSV_METADATA_TABLE " VALUES (%Q, %Q, ?1, ?2)", table, column);
  int published = codec->stamp == 0; /* then what the published extension stores is all there is */
  for (size_t i = 0; rc == SQLITE_OK && i < (published ? 4 : sizeof numbers / sizeof numbers[0]); i++) {
    sqlite3_bind_double(stmt, 2, numbers[i].value);
    rc = write_key(db, stmt, numbers[i].key);
  }
  for (size_t i = 0; rc == SQLITE_OK && !published && i < sizeof integers / sizeof integers[0]; i++) {
    sqlite3_bind_int64(stmt, 2, integers[i].value);
    rc = write_key(db, stmt, integers[i].key);
  }
  if (rc == SQLITE_OK && codec->mean != NULL) {
    sqlite3_bind_blob64(stmt, 2, codec->mean, (uint64_t)dim * sizeof(float), SQLITE_STATIC);
    rc = write_key(db, stmt, "mean");
  }
  sqlite3_finalize(stmt);
  return rc;
}

int bsv_forget_codec(sqlite3 *db, const char *table, const char *column) {
  int found;
  int rc = bsv_table_exists(db, BSV_METADATA_TABLE, &found);
  if (rc != SQLITE_OK || !found) return rc;
  return bsv_exec(db,
                  "DELETE FROM main." BSV_METADATA_TABLE
                  " WHERE tblname = %Q AND colname = %Q AND key NOT IN ('qtype', 'qbits', 'qscale', 'qoffset')",
                  table, column);
}
