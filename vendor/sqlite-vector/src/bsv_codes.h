/*
** Quantized codes in the published layout: a shadow table of chunks, and metadata beside it.
**
** A record is a rowid (int64, little-endian) and a payload of one code; a chunk is a BLOB of
** records in rowid order. docs/vector.md has the tables.
*/
#ifndef BSV_CODES_H
#define BSV_CODES_H

#include <stddef.h>
#include <stdint.h>

#include "bsv_sqlite.h"
#include "bsv_vector.h"

/* The numbers are stored in the metadata. */
typedef enum bsv_qtype {
  BSV_QTYPE_NONE = -1, /* nothing is stored */
  BSV_QTYPE_AUTO = 0,
  BSV_QTYPE_UINT8 = 1,
  BSV_QTYPE_INT8 = 2,
  BSV_QTYPE_BIT = 3
} bsv_qtype;

/* How a code is made from elements: 8-bit code = round((x - offset) * scale), clamped. */
typedef struct bsv_codec {
  bsv_qtype qtype;
  float scale;
  float offset;
} bsv_codec;

#define BSV_METADATA_TABLE "_sqliteai_vector"
#define BSV_RECORD_HEADER 8 /* the rowid in front of each payload */

/* Returns 0 and leaves `qtype` when the name is unknown. */
int bsv_qtype_parse(const char *text, size_t n, bsv_qtype *qtype);
/* The element type of a code, whose metrics a quantized scan uses. */
bsv_type bsv_qtype_element(bsv_qtype qtype);
/* Bytes of a record (rowid and code) for vectors of `dim` elements. */
uint64_t bsv_record_bytes(bsv_qtype qtype, uint64_t dim);

/*
** Codes one vector. `vector` has the column's `type` and any alignment; `scratch` is room for `dim`
** floats; `out` gets the payload of a record.
*/
void bsv_encode(const bsv_codec *codec, bsv_type type, const void *vector, size_t dim, float *scratch, uint8_t *out);

/* A chunk in memory. */
typedef struct bsv_chunk {
  uint8_t *records;
  uint64_t n;
} bsv_chunk;

/* All chunks of a column in memory; counted, so that an open cursor outlives a re-quantization. */
typedef struct bsv_codes {
  int references;
  size_t n_chunks;
  uint64_t record_bytes;
  bsv_chunk *chunks;
} bsv_codes;

bsv_codes *bsv_codes_ref(bsv_codes *codes);
void bsv_codes_unref(bsv_codes *codes); /* NULL does nothing */

/* Name of the shadow table, to sqlite3_free(); NULL when out of memory. */
char *bsv_shadow_name(const char *table, const char *column);

/* Whether `main` has a table of this name: SQLITE_OK and `*found`. */
int bsv_table_exists(sqlite3 *db, const char *name, int *found);

/* Reads the metadata of a column; `codec->qtype` is BSV_QTYPE_NONE when there is none. */
int bsv_read_codec(sqlite3 *db, const char *table, const char *column, bsv_codec *codec);
int bsv_write_codec(sqlite3 *db, const char *table, const char *column, const bsv_codec *codec);

/*
** Reads one row of `SELECT counter, data` into `n` and `records`, which stay valid until the
** statement moves. SQLITE_CORRUPT when the BLOB is not `counter` records.
*/
int bsv_chunk_from_row(sqlite3_stmt *stmt, uint64_t record_bytes, const uint8_t **records, uint64_t *n);

/* Reads the whole shadow table; one reference. */
int bsv_codes_load(sqlite3 *db, const char *shadow, uint64_t record_bytes, bsv_codes **codes);

static inline int64_t bsv_record_rowid(const uint8_t *record) {
  uint64_t id = 0;
  for (int i = 7; i >= 0; i--) id = id << 8 | record[i];
  return (int64_t)id;
}

static inline void bsv_put_rowid(uint8_t *record, int64_t rowid) {
  uint64_t id = (uint64_t)rowid;
  for (int i = 0; i < 8; i++) record[i] = (uint8_t)(id >> 8 * i);
}

#endif
