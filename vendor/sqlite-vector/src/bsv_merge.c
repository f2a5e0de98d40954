/*
** Taking changed rows into existing codes.
**
** Changed rows arrive in rowid order, and so do chunks; each chunk that has a changed row, or whose
** range a new row falls into, is read, merged with them, and written back, in several pieces where it
** grew too long. Rows that a chunk does not hold are thereby found by rowid, without any search tree.
*/
#include "bsv_merge.h"

#include <string.h>

/* A chunk of the shadow table, without its records. */
typedef struct chunk_key {
  int64_t key; /* rowid in the shadow table */
  int64_t first_id;
  int64_t n;
} chunk_key;

/* Changed rows of one chunk: coded ones as records, gone ones as ids alone; both in order. */
typedef struct change_group {
  int64_t *ids;
  uint8_t *present; /* whether the row has a record */
  uint8_t *records; /* record_bytes for each id, used where present */
  size_t n, capacity;
} change_group;

typedef struct merge {
  bsv_conn *conn;
  const bsv_column *column;
  bsv_codec *codec;
  const char *shadow;
  bsv_encoder encoder;
  bsv_chunk_writer writer;
  uint64_t capacity;
  chunk_key *chunks;
  size_t n_chunks;
  sqlite3_stmt *read, *remove;
  change_group group;
  uint8_t *merged; /* records of the chunk being written */
  uint64_t merged_bytes;
} merge;

char *bsv_bad_vector_message(const bsv_column *column, int64_t rowid) {
  return sqlite3_mprintf("the vector at rowid %lld of '%s.%s' is shorter than %llu bytes (%lld elements of type %s)", rowid,
                         column->table, column->column, bsv_column_bytes(column), column->dim, bsv_type_name(column->type));
}

static int read_chunk_keys(merge *m) {
  sqlite3_stmt *stmt = NULL;
  size_t capacity = 0;
  int rc = bsv_prepare(m->conn->db, &stmt, "SELECT rowid, rowid1, counter FROM main.\"%w\" ORDER BY rowid1", m->shadow);
  while (rc == SQLITE_OK && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
    rc = SQLITE_OK;
    if (m->n_chunks == capacity) {
      size_t larger = capacity ? capacity * 2 : 64;
      chunk_key *chunks = sqlite3_realloc64(m->chunks, larger * sizeof *chunks);
      if (chunks == NULL) {
        rc = SQLITE_NOMEM;
        break;
      }
      m->chunks = chunks;
      capacity = larger;
    }
    chunk_key key = {sqlite3_column_int64(stmt, 0), sqlite3_column_int64(stmt, 1), sqlite3_column_int64(stmt, 2)};
    m->chunks[m->n_chunks++] = key;
  }
  sqlite3_finalize(stmt);
  return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static int group_add(merge *m, int64_t id, const void *vector) {
  change_group *g = &m->group;
  size_t record_bytes = (size_t)m->encoder.record_bytes;
  if (g->n == g->capacity) {
    size_t larger = g->capacity ? g->capacity * 2 : 64;
    int64_t *ids = sqlite3_realloc64(g->ids, larger * sizeof *ids);
    if (ids != NULL) g->ids = ids;
    uint8_t *present = sqlite3_realloc64(g->present, larger);
    if (present != NULL) g->present = present;
    uint8_t *records = sqlite3_realloc64(g->records, larger * record_bytes);
    if (records != NULL) g->records = records;
    if (!ids || !present || !records) return SQLITE_NOMEM;
    g->capacity = larger;
  }
  g->ids[g->n] = id;
  g->present[g->n] = vector != NULL;
  if (vector != NULL) bsv_encoder_put(&m->encoder, id, vector, g->records + g->n * record_bytes);
  g->n++;
  return SQLITE_OK;
}

/* Merges old records with the group into m->merged; the group wins. Writes the new number. */
static int merge_records(merge *m, const uint8_t *old, uint64_t n_old, uint64_t *n_new) {
  const change_group *g = &m->group;
  uint64_t size = m->encoder.record_bytes, most = (n_old + g->n) * size, o = 0, n = 0;
  if (most > m->merged_bytes) {
    uint8_t *larger = sqlite3_realloc64(m->merged, most);
    if (larger == NULL) return SQLITE_NOMEM;
    m->merged = larger;
    m->merged_bytes = most;
  }
  for (size_t i = 0; i <= g->n; i++) {
    while (o < n_old && (i == g->n || bsv_record_rowid(old + o * size) < g->ids[i])) {
      memcpy(m->merged + n++ * size, old + o++ * size, (size_t)size);
    }
    if (i == g->n) break;
    if (o < n_old && bsv_record_rowid(old + o * size) == g->ids[i]) o++;
    if (g->present[i]) memcpy(m->merged + n++ * size, g->records + i * size, (size_t)size);
  }
  *n_new = n;
  return SQLITE_OK;
}

/*
** Writes merged records. At the end of the table, where rows are usually added, chunks are filled up
** one after the other; elsewhere they are cut evenly, with room to grow.
*/
static int write_pieces(merge *m, uint64_t n, int at_end) {
  uint64_t size = m->encoder.record_bytes, pieces = (n + m->capacity - 1) / m->capacity, at = 0;
  int rc = SQLITE_OK;
  for (uint64_t i = 0; rc == SQLITE_OK && i < pieces; i++) {
    uint64_t length = at_end ? m->capacity : (n - at) / (pieces - i);
    if (length > n - at) length = n - at;
    rc = bsv_chunk_writer_put(&m->writer, m->merged + at * size, length);
    at += length;
  }
  return rc;
}

/* Rewrites chunk `c` (n_chunks: there is none yet) with the changes of the group. */
static int rewrite_chunk(merge *m, size_t c) {
  const uint8_t *old = NULL;
  uint64_t n_old = 0, n_new = 0;
  int rc = SQLITE_OK;
  if (m->group.n == 0) return SQLITE_OK;
  if (c < m->n_chunks) {
    sqlite3_bind_int64(m->read, 1, m->chunks[c].key);
    rc = sqlite3_step(m->read);
    rc = rc == SQLITE_ROW ? bsv_chunk_from_row(m->read, m->encoder.record_bytes, &old, &n_old) : rc == SQLITE_DONE ? SQLITE_CORRUPT : rc;
  }
  if (rc == SQLITE_OK) rc = merge_records(m, old, n_old, &n_new);
  sqlite3_reset(m->read);
  if (rc == SQLITE_OK && c < m->n_chunks) {
    sqlite3_bind_int64(m->remove, 1, m->chunks[c].key);
    rc = sqlite3_step(m->remove) == SQLITE_DONE ? sqlite3_reset(m->remove) : sqlite3_errcode(m->conn->db);
  }
  if (rc == SQLITE_OK) rc = write_pieces(m, n_new, c + 1 >= m->n_chunks);
  m->codec->count += (int64_t)n_new - (int64_t)n_old;
  m->group.n = 0;
  return rc;
}

/* Codes the rows of the log, chunk after chunk. */
static int merge_all(merge *m, char **error) {
  sqlite3_stmt *log = NULL;
  size_t c = 0;
  int rc = bsv_prepare(m->conn->db, &log,
                       "SELECT l.id, t.\"%w\" FROM main.\"%w\" AS l LEFT JOIN main.\"%w\" AS t ON t.%s = l.id ORDER BY l.id",
                       m->column->column, m->column->log, m->column->table, m->column->rowid);
  while (rc == SQLITE_OK && (rc = sqlite3_step(log)) == SQLITE_ROW) {
    int64_t id = sqlite3_column_int64(log, 0);
    const void *vector = NULL;
    rc = SQLITE_OK;
    if (sqlite3_column_type(log, 1) != SQLITE_NULL) {
      vector = sqlite3_column_blob(log, 1);
      if ((uint64_t)sqlite3_column_bytes(log, 1) < bsv_column_bytes(m->column)) {
        *error = bsv_bad_vector_message(m->column, id);
        rc = SQLITE_ERROR;
      } else if (vector == NULL) {
        rc = SQLITE_NOMEM;
      }
    }
    /* Chunk c takes ids below the first one of chunk c + 1. */
    while (rc == SQLITE_OK && c + 1 < m->n_chunks && id >= m->chunks[c + 1].first_id) rc = rewrite_chunk(m, c++);
    if (rc == SQLITE_OK) rc = group_add(m, id, vector);
    if (m->encoder.overflow) break;
  }
  if (rc == SQLITE_DONE) rc = rewrite_chunk(m, c);
  sqlite3_finalize(log);
  return rc;
}

/* Whether merging is the wrong thing: too many changes, or a mean made from far fewer rows. */
static int wants_full(sqlite3 *db, const bsv_column *column, const bsv_codec *codec, int *full) {
  sqlite3_stmt *stmt = NULL;
  int rc = bsv_prepare(db, &stmt, "SELECT count(*) FROM main.\"%w\"", column->log);
  if (rc == SQLITE_OK && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
    int64_t changes = sqlite3_column_int64(stmt, 0);
    int outgrown = bsv_qtype_is_own(codec->qtype) && (codec->count + changes) / 4 > codec->built + 250;
    *full = changes > codec->count / 2 + 1000 || outgrown;
    rc = SQLITE_OK;
  }
  sqlite3_finalize(stmt);
  return rc;
}

int bsv_merge_changes(bsv_conn *conn, const bsv_column *column, bsv_codec *codec, int64_t max_memory_bytes, int *merged,
                      char **error) {
  merge m = {.conn = conn, .column = column, .codec = codec};
  int full = 0;
  *merged = 0;
  m.shadow = bsv_column_shadow(column, codec->qtype);
  int rc = wants_full(conn->db, column, codec, &full);
  if (rc != SQLITE_OK || full) return rc;
  rc = bsv_encoder_init(&m.encoder, conn, column, codec);
  if (rc == SQLITE_OK) rc = bsv_chunk_writer_init(&m.writer, conn, column, codec, max_memory_bytes, &m.capacity);
  if (rc == SQLITE_OK) rc = read_chunk_keys(&m);
  if (rc == SQLITE_OK) rc = bsv_prepare(conn->db, &m.read, "SELECT counter, data FROM main.\"%w\" WHERE rowid = ?1", m.shadow);
  if (rc == SQLITE_OK) rc = bsv_prepare(conn->db, &m.remove, "DELETE FROM main.\"%w\" WHERE rowid = ?1", m.shadow);
  if (rc == SQLITE_OK) rc = merge_all(&m, error);
  /* Many chunks that are nearly empty would waste the scan's time. */
  int sparse = (uint64_t)m.n_chunks > 2 * ((uint64_t)codec->count / (m.capacity ? m.capacity : 1)) + 4;
  *merged = rc == SQLITE_OK && !m.encoder.overflow && !sparse;
  bsv_encoder_clear(&m.encoder);
  sqlite3_finalize(m.writer.insert);
  sqlite3_finalize(m.read);
  sqlite3_finalize(m.remove);
  sqlite3_free(m.chunks);
  sqlite3_free(m.group.ids);
  sqlite3_free(m.group.present);
  sqlite3_free(m.group.records);
  sqlite3_free(m.merged);
  return rc == SQLITE_ROW ? SQLITE_OK : rc;
}
