/* Exact search, and search over published codes. */
#include "bsv_search.h"

#include <math.h>
#include <string.h>

#include "bsv_encode.h"

int bsv_search_exact_query(const bsv_search *search, bsv_query *query) {
  const bsv_column *c = search->column;
  return bsv_query_init(query, search->conn->kernels, c->type, c->metric, c->normalized, search->vector, (size_t)c->dim);
}

int bsv_search_code_query(const bsv_search *search, bsv_query *query) {
  const bsv_column *c = search->column;
  size_t dim = (size_t)c->dim;
  bsv_type element = bsv_qtype_element(c->codec.qtype);
  size_t code_bytes = (size_t)bsv_vector_bytes(element, dim);
  memset(query, 0, sizeof *query);
  float *scratch = sqlite3_malloc64((uint64_t)dim * sizeof(float) + code_bytes);
  if (scratch == NULL) return SQLITE_NOMEM;
  uint8_t *code = (uint8_t *)(scratch + dim);
  bsv_encode(&c->codec, c->type, search->vector, dim, scratch, code);
  int rc = bsv_query_init(query, search->conn->kernels, element, c->metric, 0, code, dim);
  sqlite3_free(scratch);
  return rc;
}

int bsv_search_row(bsv_search *search, const bsv_query *exact, int64_t id, float *distance) {
  sqlite3_stmt *stmt = search->source->row;
  *distance = INFINITY;
  sqlite3_bind_int64(stmt, 1, id);
  int rc = sqlite3_step(stmt);
  if (rc == SQLITE_ROW && sqlite3_column_type(stmt, 0) != SQLITE_NULL) {
    const void *vector = sqlite3_column_blob(stmt, 0);
    if ((size_t)sqlite3_column_bytes(stmt, 0) >= exact->bytes) {
      if (vector == NULL) rc = SQLITE_NOMEM;
      else *distance = bsv_query_distance(exact, vector);
    }
  }
  int reset = sqlite3_reset(stmt);
  return rc == SQLITE_ROW || rc == SQLITE_DONE ? reset : rc;
}

/* ---- exact ---------------------------------------------------------------------------------- */

static int exact_over_table(bsv_search *search, const bsv_query *exact) {
  const bsv_column *c = search->column;
  sqlite3_stmt *stmt = NULL;
  int64_t id;
  const void *vector;
  int rc = bsv_prepare(search->conn->db, &stmt, "SELECT %s, \"%w\" FROM main.\"%w\" ORDER BY 1", c->rowid, c->column, c->table);
  while (rc == SQLITE_OK && (rc = bsv_next_row(stmt, exact->bytes, &id, &vector)) == SQLITE_ROW) {
    rc = vector ? bsv_topk_offer(search->top, bsv_query_distance(exact, vector), id) : SQLITE_OK;
  }
  sqlite3_finalize(stmt);
  return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static int exact_over_filter(bsv_search *search, const bsv_query *exact) {
  int rc = bsv_source_row(search->source, search->conn->db);
  for (size_t i = 0; rc == SQLITE_OK && i < search->filter->n; i++) {
    float distance;
    rc = bsv_search_row(search, exact, search->filter->ids[i], &distance);
    if (rc == SQLITE_OK) rc = bsv_topk_offer(search->top, distance, search->filter->ids[i]);
  }
  return rc;
}

int bsv_search_exact(bsv_search *search) {
  bsv_query exact;
  int rc = bsv_search_exact_query(search, &exact);
  if (rc == SQLITE_OK) rc = search->filter ? exact_over_filter(search, &exact) : exact_over_table(search, &exact);
  bsv_query_clear(&exact);
  return rc;
}

/* ---- changed rows --------------------------------------------------------------------------- */

int bsv_search_changes(bsv_search *search, const bsv_query *exact, bsv_idset *changed) {
  int64_t id;
  const void *vector;
  size_t at = 0;
  if (!search->column->codec.tracked) return SQLITE_OK;
  int rc = bsv_source_changes(search->source, search->conn->db);
  while (rc == SQLITE_OK && (rc = bsv_next_row(search->source->changes, exact->bytes, &id, &vector)) == SQLITE_ROW) {
    rc = bsv_idset_append(changed, id);
    if (rc != SQLITE_OK || vector == NULL) continue;
    if (search->filter != NULL) {
      at = bsv_idset_seek(search->filter, at, id);
      if (at == search->filter->n || search->filter->ids[at] != id) continue;
    }
    rc = bsv_topk_offer(search->top, bsv_query_distance(exact, vector), id);
  }
  sqlite3_reset(search->source->changes);
  return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

int bsv_search_fresh_records(bsv_search *search, bsv_idset *changed, bsv_chunk *records) {
  bsv_encoder encoder;
  int64_t id;
  const void *vector;
  uint64_t capacity = 0;
  memset(records, 0, sizeof *records);
  if (!search->column->codec.tracked) return SQLITE_OK;
  int rc = bsv_encoder_init(&encoder, search->conn, search->column, &search->column->codec);
  if (rc == SQLITE_OK) rc = bsv_source_changes(search->source, search->conn->db);
  while (rc == SQLITE_OK &&
         (rc = bsv_next_row(search->source->changes, bsv_column_bytes(search->column), &id, &vector)) == SQLITE_ROW) {
    rc = bsv_idset_append(changed, id);
    if (rc != SQLITE_OK || vector == NULL) continue;
    if (records->n == capacity) {
      uint64_t larger = capacity ? capacity * 2 : 16;
      uint8_t *grown = sqlite3_realloc64(records->records, larger * encoder.record_bytes);
      if (grown == NULL) {
        rc = SQLITE_NOMEM;
        break;
      }
      records->records = grown;
      capacity = larger;
    }
    bsv_encoder_put(&encoder, id, vector, records->records + records->n++ * encoder.record_bytes);
  }
  sqlite3_reset(search->source->changes);
  bsv_encoder_clear(&encoder);
  return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

/* ---- published codes ------------------------------------------------------------------------ */

typedef struct record_scan {
  const bsv_query *query;
  uint64_t record_bytes;
  const bsv_idset *filter;  /* or NULL */
  const bsv_idset *changed; /* rows to pass over */
  bsv_topk *top;
} record_scan;

static int offer_record(const record_scan *scan, const uint8_t *record) {
  float distance = bsv_query_distance(scan->query, record + BSV_RECORD_HEADER);
  if (distance > scan->top->worst) return SQLITE_OK;
  int64_t id = bsv_record_rowid(record);
  if (scan->changed->n > 0 && bsv_idset_contains(scan->changed, id)) return SQLITE_OK;
  return bsv_topk_offer(scan->top, distance, id);
}

/* Index of the first record at or after `from` whose rowid is not below `id`. */
static uint64_t seek_record(const uint8_t *records, uint64_t n, uint64_t record_bytes, uint64_t from, int64_t id) {
  uint64_t low = from, high = n;
  while (low < high) {
    uint64_t middle = low + (high - low) / 2;
    if (bsv_record_rowid(records + middle * record_bytes) < id) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

/* Asks for the bytes of a record some way ahead: hardware prefetching stops at every page. */
static void prefetch_record(const uint8_t *record, uint64_t record_bytes) {
#if defined(__GNUC__)
  for (uint64_t line = 0; line < record_bytes; line += 64) __builtin_prefetch(record + BSV_PREFETCH_BYTES + line);
#else
  (void)record, (void)record_bytes;
#endif
}

static int scan_records(const record_scan *scan, const uint8_t *records, uint64_t n) {
  int rc = SQLITE_OK;
  if (scan->filter == NULL) {
    for (uint64_t i = 0; rc == SQLITE_OK && i < n; i++) {
      const uint8_t *record = records + i * scan->record_bytes;
      prefetch_record(record, scan->record_bytes);
      rc = offer_record(scan, record);
    }
    return rc;
  }
  if (n == 0) return SQLITE_OK;
  uint64_t at = 0;
  size_t f = bsv_idset_seek(scan->filter, 0, bsv_record_rowid(records));
  for (; rc == SQLITE_OK && f < scan->filter->n && at < n; f++) {
    at = seek_record(records, n, scan->record_bytes, at, scan->filter->ids[f]);
    if (at < n && bsv_record_rowid(records + at * scan->record_bytes) == scan->filter->ids[f]) {
      rc = offer_record(scan, records + at * scan->record_bytes);
    }
  }
  return rc;
}

static int scan_stored(const bsv_search *search, const record_scan *scan) {
  sqlite3 *db = search->conn->db;
  sqlite3_stmt *stmt = NULL;
  int rc = bsv_prepare(db, &stmt, "SELECT counter, data FROM main.\"%w\"", search->column->shadow);
  while (rc == SQLITE_OK && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
    const uint8_t *records;
    uint64_t n;
    rc = bsv_chunk_from_row(stmt, scan->record_bytes, &records, &n);
    if (rc == SQLITE_OK) rc = scan_records(scan, records, n);
  }
  sqlite3_finalize(stmt);
  return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static int scan_preloaded(const bsv_codes *codes, const record_scan *scan) {
  int rc = SQLITE_OK;
  for (size_t i = 0; rc == SQLITE_OK && i < codes->n_chunks; i++) {
    rc = scan_records(scan, codes->chunks[i].records, codes->chunks[i].n);
  }
  return rc;
}

/* Gives the candidates their exact distances. */
static int rescore(bsv_search *search, const bsv_query *exact, const bsv_topk *candidates) {
  int rc = bsv_source_row(search->source, search->conn->db);
  for (uint64_t i = 0; rc == SQLITE_OK && i < candidates->n; i++) {
    float distance;
    rc = bsv_search_row(search, exact, candidates->hits[i].id, &distance);
    if (rc == SQLITE_OK) rc = bsv_topk_offer(search->top, distance, candidates->hits[i].id);
  }
  return rc;
}

#define AUTO_OVERSAMPLE 4 /* the published codes come without error bounds; INT8 needs little */

static int64_t times(int64_t k, int64_t factor) { return k > INT64_MAX / factor ? INT64_MAX : k * factor; }

int bsv_search_published(bsv_search *search) {
  bsv_column *column = search->column;
  bsv_query query, exact = {0};
  bsv_idset changed = {0};
  bsv_chunk fresh = {0};
  bsv_topk candidates = {0};
  int factor = column->codec.rescore == BSV_RESCORE_AUTO ? AUTO_OVERSAMPLE : column->codec.rescore;
  record_scan scan = {&query, bsv_record_bytes(column->codec.qtype, (uint64_t)column->dim), search->filter, &changed, search->top};
  int rc = bsv_search_code_query(search, &query);
  if (rc == SQLITE_OK && factor > 0) {
    bsv_topk_init(&candidates, times((int64_t)search->top->k, factor));
    scan.top = &candidates;
    rc = bsv_search_exact_query(search, &exact);
    if (rc == SQLITE_OK) rc = bsv_search_changes(search, &exact, &changed);
  } else if (rc == SQLITE_OK) {
    const bsv_idset none = {0};
    rc = bsv_search_fresh_records(search, &changed, &fresh);
    scan.changed = &none;
    if (rc == SQLITE_OK) rc = scan_records(&scan, fresh.records, fresh.n);
    scan.changed = &changed;
  }
  if (rc == SQLITE_OK) {
    /* Tracked codes are the snapshot's; others stay what they were when they were loaded. */
    int usable = column->preloaded && (column->preloaded->stamp == column->codec.stamp || !column->codec.tracked);
    rc = usable ? scan_preloaded(column->preloaded, &scan) : scan_stored(search, &scan);
  }
  if (rc == SQLITE_OK && factor > 0) rc = rescore(search, &exact, &candidates);
  bsv_query_clear(&query);
  bsv_query_clear(&exact);
  bsv_idset_clear(&changed);
  bsv_topk_clear(&candidates);
  sqlite3_free(fresh.records);
  return rc;
}
