/* Coding of rows, and writing of chunks. */
#include "bsv_encode.h"

#include <math.h>
#include <string.h>

#include "bsv_view.h"

/* What the published extension uses. */
#define PUBLISHED_MAX_MEMORY_BYTES (INT64_C(30) * 1024 * 1024)
/* With a change log small chunks are better: a changed row rewrites its chunk. */
#define TRACKED_MAX_MEMORY_BYTES (INT64_C(64) * 1024)

int bsv_encoder_init(bsv_encoder *encoder, const bsv_conn *conn, const bsv_column *column, const bsv_codec *codec) {
  size_t dim = (size_t)column->dim;
  memset(encoder, 0, sizeof *encoder);
  encoder->column = column;
  encoder->codec = codec;
  encoder->record_bytes = bsv_record_bytes(codec->qtype, dim);
  encoder->scratch = sqlite3_malloc64((3 * (uint64_t)dim + 16) * sizeof(float));
  if (encoder->scratch == NULL) return SQLITE_NOMEM;
  if (!bsv_qtype_is_own(codec->qtype)) return SQLITE_OK;
  return bsv_rabitq_init(&encoder->rabitq, conn->kernels, bsv_qtype_bits(codec->qtype), codec->coding, dim, codec->mean);
}

void bsv_encoder_clear(bsv_encoder *encoder) {
  bsv_rabitq_clear(&encoder->rabitq);
  sqlite3_free(encoder->scratch);
  memset(encoder, 0, sizeof *encoder);
}

/* Whether the 8-bit code of an element would be cut off. */
static int is_outside(const bsv_codec *codec, const float *values, size_t n) {
  float low = codec->qtype == BSV_QTYPE_INT8 ? -128.5f : -0.5f, high = codec->qtype == BSV_QTYPE_INT8 ? 127.5f : 255.5f;
  for (size_t i = 0; i < n; i++) {
    float scaled = (values[i] - codec->offset) * codec->scale;
    if (!(scaled >= low && scaled <= high)) return 1;
  }
  return 0;
}

void bsv_encoder_put(bsv_encoder *encoder, int64_t rowid, const void *vector, uint8_t *record) {
  const bsv_codec *codec = encoder->codec;
  bsv_type type = encoder->column->type;
  size_t dim = (size_t)encoder->column->dim;
  bsv_put_rowid(record, rowid);
  if (bsv_qtype_is_own(codec->qtype)) {
    float noise;
    bsv_to_f32(type, vector, dim, encoder->scratch);
    bsv_rabitq_encode(&encoder->rabitq, encoder->scratch, encoder->scratch + dim, record + BSV_RECORD_HEADER, &noise);
    if (noise > 0) {
      encoder->noise += (double)noise;
      encoder->n_noise++;
    }
    return;
  }
  bsv_encode(codec, type, vector, dim, encoder->scratch, record + BSV_RECORD_HEADER);
  if (codec->qtype != BSV_QTYPE_BIT && is_outside(codec, encoder->scratch, dim)) encoder->overflow = 1;
}

int bsv_chunk_writer_init(bsv_chunk_writer *writer, bsv_conn *conn, const bsv_column *column, const bsv_codec *codec,
                          int64_t max_memory_bytes, uint64_t *capacity) {
  writer->versioned = bsv_qtype_is_own(codec->qtype);
  writer->record_bytes = bsv_record_bytes(codec->qtype, (uint64_t)column->dim);
  writer->insert = NULL;
  if (writer->versioned) {
    *capacity = BSV_CHUNK_ROWS;
  } else {
    uint64_t most = (uint64_t)sqlite3_limit(conn->db, SQLITE_LIMIT_LENGTH, -1) / 2;
    if (max_memory_bytes <= 0) max_memory_bytes = codec->tracked ? TRACKED_MAX_MEMORY_BYTES : PUBLISHED_MAX_MEMORY_BYTES;
    if ((uint64_t)max_memory_bytes < most) most = (uint64_t)max_memory_bytes;
    *capacity = most / writer->record_bytes > 0 ? most / writer->record_bytes : 1;
  }
  return bsv_prepare(conn->db, &writer->insert, "INSERT INTO main.\"%w\" (rowid1, rowid2, counter, data%s) VALUES (?1, ?2, ?3, ?4%s)",
                     bsv_column_shadow(column, codec->qtype), writer->versioned ? ", version" : "", writer->versioned ? ", ?5" : "");
}

int bsv_chunk_writer_put(bsv_chunk_writer *writer, const uint8_t *records, uint64_t n) {
  if (n == 0) return SQLITE_OK;
  sqlite3_bind_int64(writer->insert, 1, bsv_record_rowid(records));
  sqlite3_bind_int64(writer->insert, 2, bsv_record_rowid(records + (n - 1) * writer->record_bytes));
  sqlite3_bind_int64(writer->insert, 3, (sqlite3_int64)n);
  int rc = sqlite3_bind_blob64(writer->insert, 4, records, n * writer->record_bytes, SQLITE_STATIC);
  if (writer->versioned) sqlite3_bind_int64(writer->insert, 5, bsv_new_stamp());
  if (rc == SQLITE_OK && (rc = sqlite3_step(writer->insert)) == SQLITE_DONE) rc = SQLITE_OK;
  sqlite3_reset(writer->insert);
  return rc;
}
