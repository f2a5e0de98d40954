/*
** Quantized codes on disk: quantizers, their parameters, and the records that chunks are made of.
**
** A record is a rowid (int64, little-endian) and a payload, the code of one vector; a chunk is a BLOB
** of records in rowid order, one row of a shadow table. The published quantizers (UINT8, INT8, 1BIT)
** use the published tables; our own have a table of the same shape with a version per chunk.
** docs/vector.md describes both.
*/
#ifndef BSV_CODES_H
#define BSV_CODES_H

#include <stddef.h>
#include <stdint.h>

#include "bsv_rabitq.h"
#include "bsv_sqlite.h"
#include "bsv_vector.h"

/* The numbers are stored in the metadata. */
typedef enum bsv_qtype {
  BSV_QTYPE_NONE = -1, /* nothing is stored */
  BSV_QTYPE_AUTO = 0,
  BSV_QTYPE_UINT8 = 1,
  BSV_QTYPE_INT8 = 2,
  BSV_QTYPE_BIT = 3,
  BSV_QTYPE_RABITQ = 101, /* 1 bit per dimension */
  BSV_QTYPE_RABITQ4 = 104 /* 4 bits */
} bsv_qtype;

static inline int bsv_qtype_is_own(bsv_qtype qtype) { return qtype == BSV_QTYPE_RABITQ || qtype == BSV_QTYPE_RABITQ4; }
static inline unsigned bsv_qtype_bits(bsv_qtype qtype) { return qtype == BSV_QTYPE_RABITQ4 ? 4 : 1; }

#define BSV_RESCORE_AUTO -1 /* as many candidates as the estimates' uncertainty asks for */

/* What is stored about a column's codes, beside the codes. */
typedef struct bsv_codec {
  bsv_qtype qtype;
  /* 8-bit codes: code = round((x - offset) * scale), clamped. */
  float scale, offset;
  /* Candidates rescored exactly, as a multiple of k; 0: none, distances are the codes' own. */
  int rescore;
  int tracked;        /* changes of the table are logged (bsv_track.h) */
  int64_t stamp;      /* random, new with every change of the codes; 0: not known */
  int64_t lineage;    /* random, new with every full quantization */
  int64_t generation; /* counts the changes within a lineage */
  int64_t count;      /* vectors that are coded */
  int64_t built;      /* vectors that the last full quantization saw */
  bsv_coding coding;  /* our own quantizer: what its factors serve */
  float noise;        /* and its mean noise, as bsv_rabitq_encode() defines it */
  float *mean;        /* and its mean: `dim` floats, owned */
} bsv_codec;

void bsv_codec_clear(bsv_codec *codec); /* leaves BSV_QTYPE_NONE */

#define BSV_METADATA_TABLE "_sqliteai_vector"
#define BSV_RECORD_HEADER 8 /* the rowid in front of each payload */

/* Returns 0 and leaves `qtype` when the name is unknown. */
int bsv_qtype_parse(const char *text, size_t n, bsv_qtype *qtype);
const char *bsv_qtype_name(bsv_qtype qtype);
/* The element type of a published code, whose metrics a quantized scan uses. */
bsv_type bsv_qtype_element(bsv_qtype qtype);
/* Bytes of a record (rowid and code) for vectors of `dim` elements. */
uint64_t bsv_record_bytes(bsv_qtype qtype, uint64_t dim);

/*
** Codes one vector with a published quantizer. `vector` has the column's `type` and any alignment;
** `scratch` is room for `dim` floats; `out` gets the payload of a record.
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
  int64_t stamp;
  size_t n_chunks;
  uint64_t record_bytes;
  bsv_chunk *chunks;
} bsv_codes;

bsv_codes *bsv_codes_ref(bsv_codes *codes);
void bsv_codes_unref(bsv_codes *codes); /* NULL does nothing */

/* Whether `main` has a table of this name: SQLITE_OK and `*found`. */
int bsv_table_exists(sqlite3 *db, const char *name, int *found);

/*
** Reads the metadata of a column of `dim` elements into a cleared codec; its qtype is BSV_QTYPE_NONE
** when there is none that we understand.
*/
int bsv_read_codec(sqlite3 *db, const char *table, const char *column, int64_t dim, bsv_codec *codec);
int bsv_write_codec(sqlite3 *db, const char *table, const char *column, int64_t dim, const bsv_codec *codec);
/* Forgets what only our own extension stores; the published metadata stays. */
int bsv_forget_codec(sqlite3 *db, const char *table, const char *column);

/* A random number above 0 that no other content will ever get. */
int64_t bsv_new_stamp(void);

/*
** Reads one row of `SELECT counter, data` into `n` and `records`, which stay valid until the
** statement moves. SQLITE_CORRUPT when the BLOB is not `counter` records.
*/
int bsv_chunk_from_row(sqlite3_stmt *stmt, uint64_t record_bytes, const uint8_t **records, uint64_t *n);

/* Reads a whole shadow table in rowid order; one reference. */
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
