/* Coding of rows with any quantizer, for the full quantization and for changes alike. */
#ifndef BSV_ENCODE_H
#define BSV_ENCODE_H

#include "bsv_conn.h"

typedef struct bsv_encoder {
  const bsv_column *column;
  const bsv_codec *codec;
  bsv_rabitq rabitq; /* our own quantizers */
  uint64_t record_bytes;
  float *scratch;
  double noise; /* sum over the rows that had any */
  int64_t n_noise;
  int overflow; /* an element lay outside the range that the 8-bit codes were made for */
} bsv_encoder;

/* SQLITE_OK or SQLITE_NOMEM; clear it in both cases. `codec` must live as long. */
int bsv_encoder_init(bsv_encoder *encoder, const bsv_conn *conn, const bsv_column *column, const bsv_codec *codec);
void bsv_encoder_clear(bsv_encoder *encoder);

/* Writes the record of one row: `record_bytes` bytes. */
void bsv_encoder_put(bsv_encoder *encoder, int64_t rowid, const void *vector, uint8_t *record);

/* Inserts chunks into a shadow table. */
typedef struct bsv_chunk_writer {
  sqlite3_stmt *insert;
  int versioned; /* our own table: each chunk gets a version */
  uint64_t record_bytes;
} bsv_chunk_writer;

/* `capacity` gets the most records that one chunk should have. Finalize `insert` in any case. */
int bsv_chunk_writer_init(bsv_chunk_writer *writer, bsv_conn *conn, const bsv_column *column, const bsv_codec *codec,
                          int64_t max_memory_bytes, uint64_t *capacity);
int bsv_chunk_writer_put(bsv_chunk_writer *writer, const uint8_t *records, uint64_t n);

#endif
