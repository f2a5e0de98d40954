/*
** Search in two stages: a scan of all codes estimates every distance, and the rows that may be among
** the nearest are measured exactly.
**
** The coarse kernels are told to subtract a margin from each estimate, so that what they report is a
** lower bound of the distance, up to a small chance. Candidates are rescored in the order of their
** bounds, and it ends when the next bound is above the k-th exact distance: how many rows are read
** depends on the query, not on a constant.
**
** A scan is fastest when few rows pass its limit. A sample of the codes shows what limit a hundred or
** so will pass; should the exact distances then ask for more, the codes are scanned again for those
** between the old limit and the k-th exact distance.
*/
#include <float.h>
#include <math.h>
#include <string.h>

#include "bsv_clock.h"
#include "bsv_quantize.h"
#include "bsv_search.h"

/*
** The margin in standard deviations. A row that belongs to the k nearest is missed when its estimate
** is worse than the truth by more than this (and its true distance is not better than the k-th by the
** rest), which happens to fewer than 1 in 100.
*/
#define MARGIN 2.0f

/*
** How many rows the limit of the first scan should let pass: more than are usually rescored, for a
** scan of all codes costs more than a few hundred candidates. Real embeddings of 10,000 texts asked for
** 59 in the median and 153 in the 95th percentile with k = 10, for 228 and 789 with k = 64. In the sample
** (one chunk of 16 at 100,000 rows, of 50 at 1,000,000) at least 8 have to pass, to mean anything.
*/
#define SAMPLE_TARGET(k) (160 + 6 * (k))
#define SAMPLE_PASSES 8

/* Candidates kept beyond those that an option asks for. */
#define MOST_CANDIDATES 4096

/*
** Codes of this size are worth waking the helper for, which costs some ten microseconds: they take a
** millisecond to scan. (Tests set it low.)
*/
#ifndef SHARED_SCAN_BYTES
#define SHARED_SCAN_BYTES ((size_t)16 << 20)
#endif

/* Up to this many rows reading them all is as fast. */
#define SMALL_TABLE 256

typedef struct two_stage {
  bsv_search *search;
  bsv_view *view;
  bsv_query exact;
  bsv_rabitq_query coarse;
  bsv_coarse_kernel kernel;
  bsv_idset changed;
  uint32_t *allowed; /* a word per block, or NULL: all rows */
  /* Candidates in no order: all rows seen so far with an estimate above `floor` and up to `limit`. When
  ** they become too many, the best `keep` stay and the limit goes down. */
  bsv_candidate *candidates;
  size_t n, keep, capacity;
  float floor, limit;
  int adaptive; /* the number of candidates follows from their bounds, not from an option */
  bsv_pool *pool; /* a helper for the scan, or NULL */
  struct shared_scan *shared; /* made when the helper was offered one; owns the tables of `coarse`, and `allowed` */
} two_stage;

/* ---- distances ------------------------------------------------------------------------------ */

/* An exact distance in the terms of the coarse estimates: L2 is estimated as its square. */
static float coarse_distance(const two_stage *s, float distance) {
  return s->search->column->metric == BSV_L2 ? distance * distance : distance;
}

/*
** Rows estimated above this cannot be hits: the k-th exact distance, with some slack for float32
** rounding in either stage. FLT_MAX before there are k.
*/
static float needed_limit(const two_stage *s) {
  if (s->search->top->n < s->search->top->k) return FLT_MAX;
  float worst = coarse_distance(s, s->search->top->worst);
  return worst + 1e-5f * (fabsf(worst) + fabsf(s->coarse.coarse.base));
}

static int rescore_slot(two_stage *s, uint32_t slot) {
  float distance;
  int64_t id = bsv_slot_id(s->view, slot);
  const uint8_t *row = bsv_slot_row(s->view, slot, s->exact.bytes);
  int rc = SQLITE_OK;
  if (row != NULL) {
    distance = bsv_query_distance(&s->exact, row);
  } else {
    rc = bsv_search_row(s->search, &s->exact, id, &distance);
  }
  return rc == SQLITE_OK ? bsv_topk_offer(s->search->top, distance, id) : rc;
}

/* ---- candidates ----------------------------------------------------------------------------- */

static void swap(bsv_candidate *a, bsv_candidate *b) {
  bsv_candidate t = *a;
  *a = *b;
  *b = t;
}

/* Moves the `keep` lowest estimates to the front (Hoare's selection). */
static void select_lowest(bsv_candidate *c, size_t n, size_t keep) {
  size_t low = 0, high = n - 1;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (c[middle].estimate < c[low].estimate) swap(&c[middle], &c[low]);
    if (c[high].estimate < c[low].estimate) swap(&c[high], &c[low]);
    if (c[high].estimate < c[middle].estimate) swap(&c[high], &c[middle]);
    float pivot = c[middle].estimate;
    size_t i = low, j = high;
    while (i <= j) {
      while (c[i].estimate < pivot) i++;
      while (c[j].estimate > pivot) j--;
      if (i > j) break;
      swap(&c[i], &c[j]);
      i++;
      if (j == 0) break;
      j--;
    }
    if (keep <= j) {
      high = j;
    } else if (keep >= i) {
      low = i;
    } else {
      return;
    }
  }
}

/* Forgets all but the best `keep` candidates, and lowers the limit to the worst of these. */
static void compact(two_stage *s) {
  if (s->n <= s->keep) return;
  select_lowest(s->candidates, s->n, s->keep);
  s->n = s->keep;
  float worst = -INFINITY;
  for (size_t i = 0; i < s->n; i++) worst = fmaxf(worst, s->candidates[i].estimate);
  s->limit = worst;
}

/* Forgets candidates that a former scan has found. */
static void drop_known(two_stage *s, size_t from) {
  size_t kept = from;
  if (s->floor == -INFINITY) return;
  for (size_t i = from; i < s->n; i++) {
    if (s->candidates[i].estimate > s->floor) s->candidates[kept++] = s->candidates[i];
  }
  s->n = kept;
}

static void sift_down(bsv_candidate *heap, size_t n, size_t i) {
  bsv_candidate moved = heap[i];
  for (;;) {
    size_t child = 2 * i + 1;
    if (child >= n) break;
    if (child + 1 < n && heap[child + 1].estimate < heap[child].estimate) child++;
    if (heap[child].estimate >= moved.estimate) break;
    heap[i] = heap[child];
    i = child;
  }
  heap[i] = moved;
}

/*
** Rescores candidates from the lowest bound up, until the next one cannot be a hit. A heap, because
** often far fewer are taken than there are.
*/
static int rescore_best(two_stage *s) {
  bsv_candidate *heap = s->candidates;
  bsv_search_stats *stats = &s->search->conn->stats;
  int64_t start = bsv_clock_ns();
  int rc = SQLITE_OK;
  stats->candidates += (int64_t)s->n;
  for (size_t i = s->n / 2; i-- > 0;) sift_down(heap, s->n, i);
  while (rc == SQLITE_OK && s->n > 0 && !(s->adaptive && heap[0].estimate > needed_limit(s))) {
    uint32_t slot = heap[0].slot;
    heap[0] = heap[--s->n];
    sift_down(heap, s->n, 0);
    rc = rescore_slot(s, slot);
    stats->rescored++;
  }
  stats->rescore_ns += bsv_clock_ns() - start;
  return rc;
}

/* ---- rows that may be found ----------------------------------------------------------------- */

/* Allows or forbids the rows of `set` that the view has. */
static void mark_rows(const bsv_view *view, const bsv_idset *set, uint32_t *allowed, int allow) {
  bsv_idset firsts = {view->first_ids, view->n_chunks, 0};
  size_t c = 0;
  for (size_t i = 0; i < set->n;) {
    /* The last chunk that starts at or before the id. */
    c = bsv_idset_seek(&firsts, c, set->ids[i]);
    if (c == firsts.n || firsts.ids[c] > set->ids[i]) {
      if (c == 0) {
        i = bsv_idset_seek(set, i, firsts.ids[0]);
        continue;
      }
      c--;
    }
    size_t end = c + 1 < firsts.n ? bsv_idset_seek(set, i, firsts.ids[c + 1]) : set->n, row = 0;
    bsv_idset ids = {view->chunks[c]->ids, view->chunks[c]->n, 0};
    for (; i < end; i++) {
      row = bsv_idset_seek(&ids, row, set->ids[i]);
      if (row == ids.n) break; /* the rest is not coded */
      if (ids.ids[row] != set->ids[i]) continue;
      uint32_t *word = &allowed[(c * BSV_CHUNK_ROWS + row) / BSV_BLOCK_ROWS], bit = 1u << row % BSV_BLOCK_ROWS;
      *word = allow ? *word | bit : *word & ~bit;
    }
    i = end;
  }
}

static int mark_allowed(two_stage *s) {
  const bsv_idset *filter = s->search->filter;
  if (filter == NULL && s->changed.n == 0) return SQLITE_OK;
  size_t words = s->view->n_chunks * (BSV_CHUNK_ROWS / BSV_BLOCK_ROWS);
  s->allowed = sqlite3_malloc64((words + 1) * sizeof *s->allowed);
  if (s->allowed == NULL) return SQLITE_NOMEM;
  memset(s->allowed, filter ? 0 : 0xff, words * sizeof *s->allowed);
  if (filter != NULL && s->view->n_chunks > 0) mark_rows(s->view, filter, s->allowed, 1);
  if (s->view->n_chunks > 0) mark_rows(s->view, &s->changed, s->allowed, 0);
  return SQLITE_OK;
}

/* ---- the scan ------------------------------------------------------------------------------- */

static void scan_blocks(two_stage *s, const uint8_t *blocks, size_t n_blocks, size_t chunk) {
  size_t before = s->n;
  s->n += s->kernel(&s->coarse.coarse, blocks, n_blocks,
                    s->allowed ? s->allowed + chunk * (BSV_CHUNK_ROWS / BSV_BLOCK_ROWS) : NULL, s->limit, bsv_slot(chunk, 0),
                    s->candidates + s->n);
  drop_known(s, before);
  if (s->n > 2 * s->keep) compact(s);
}

static int is_interrupted(const two_stage *s) {
  return sqlite3_libversion_number() >= 3041000 && sqlite3_is_interrupted(s->search->conn->db);
}

/*
** A scan that the helper thread takes part in. Runs are handed out one by one. What the helper has
** not finished when the caller is done with all others, because it was put to sleep, the caller scans
** itself: a shared scan is never slower than one alone but for the handing out.
*/
typedef struct shared_scan {
  bsv_job job;
  bsv_cache *cache;
  sqlite3_mutex *mutex; /* guards everything below, and the candidates and the limit of `stage` */
  two_stage *stage;     /* the caller's; not to be touched once `closed` */
  int closed;
  size_t next;   /* the run to be handed out */
  uint8_t *done; /* for each run: its candidates are in */
  /* What the helper reads without the mutex; owned, because it may outlive the caller. */
  bsv_view *view;
  bsv_coarse_query coarse;
  bsv_coarse_kernel kernel;
  void *coarse_memory;
  uint32_t *allowed;
} shared_scan;

static void shared_destroy(bsv_job *job) {
  shared_scan *shared = (shared_scan *)(void *)job;
  bsv_view_unref(shared->cache, shared->view);
  sqlite3_mutex_free(shared->mutex);
  sqlite3_free(shared->coarse_memory);
  sqlite3_free(shared->allowed);
  sqlite3_free(shared);
}

/* Scans one run into `found`. */
static size_t shared_run(const shared_scan *shared, size_t i, float limit, bsv_candidate *found) {
  const bsv_run *run = &shared->view->runs[i];
  return shared->kernel(&shared->coarse, run->blocks, run->n_blocks,
                        shared->allowed ? shared->allowed + run->first_chunk * (BSV_CHUNK_ROWS / BSV_BLOCK_ROWS) : NULL, limit,
                        bsv_slot(run->first_chunk, 0), found);
}

/* Puts the candidates of a run to the others, unless it was scanned twice. The mutex is held. */
static void shared_put(shared_scan *shared, size_t i, const bsv_candidate *found, size_t n) {
  two_stage *s = shared->stage;
  if (shared->closed || shared->done[i]) return;
  shared->done[i] = 1;
  if (n == 0) return;
  size_t before = s->n;
  memcpy(s->candidates + s->n, found, n * sizeof *found);
  s->n += n;
  drop_known(s, before);
  if (s->n > 2 * s->keep) compact(s);
}

/* Takes runs until none is left. The caller also looks for an interruption; the helper may not. */
static int shared_take(shared_scan *shared, int is_caller) {
  bsv_candidate found[BSV_RUN_ROWS];
  sqlite3_mutex_enter(shared->mutex);
  while (!shared->closed && shared->next < shared->view->n_runs) {
    size_t i = shared->next++;
    float limit = shared->stage->limit;
    sqlite3_mutex_leave(shared->mutex);
    size_t n = shared_run(shared, i, limit, found);
    if (is_caller && i % 64 < 2 && is_interrupted(shared->stage)) return SQLITE_INTERRUPT;
    sqlite3_mutex_enter(shared->mutex);
    shared_put(shared, i, found, n);
  }
  sqlite3_mutex_leave(shared->mutex);
  return SQLITE_OK;
}

static void shared_help(bsv_job *job) { shared_take((shared_scan *)(void *)job, 0); }

/* Sets up a shared scan, which takes over the tables of the query; NULL when memory is short. */
static shared_scan *shared_begin(two_stage *s) {
  shared_scan *shared = sqlite3_malloc64(sizeof *shared + s->view->n_runs);
  if (shared == NULL) return NULL;
  memset(shared, 0, sizeof *shared + s->view->n_runs);
  shared->mutex = sqlite3_mutex_alloc(SQLITE_MUTEX_FAST);
  if (shared->mutex == NULL) {
    sqlite3_free(shared);
    return NULL;
  }
  shared->job.references = 1;
  shared->job.work = shared_help;
  shared->job.destroy = shared_destroy;
  shared->cache = s->search->conn->cache;
  shared->stage = s;
  shared->done = (uint8_t *)(shared + 1);
  shared->view = s->view;
  bsv_view_ref(shared->cache, shared->view);
  shared->coarse = s->coarse.coarse;
  shared->kernel = s->kernel;
  shared->coarse_memory = s->coarse.memory;
  shared->allowed = s->allowed;
  return shared;
}

static int scan_shared(two_stage *s) {
  bsv_candidate found[BSV_RUN_ROWS];
  shared_scan *shared = s->shared;
  bsv_pool_offer(s->pool, &shared->job);
  int rc = shared_take(shared, 1);
  for (size_t i = 0; rc == SQLITE_OK && i < shared->view->n_runs; i++) {
    sqlite3_mutex_enter(shared->mutex);
    int done = shared->done[i];
    float limit = s->limit;
    sqlite3_mutex_leave(shared->mutex);
    if (done) continue;
    size_t n = shared_run(shared, i, limit, found);
    sqlite3_mutex_enter(shared->mutex);
    shared_put(shared, i, found, n);
    sqlite3_mutex_leave(shared->mutex);
  }
  sqlite3_mutex_enter(shared->mutex);
  shared->closed = 1;
  sqlite3_mutex_leave(shared->mutex);
  return rc;
}

static int scan_alone(two_stage *s) {
  for (size_t i = 0; i < s->view->n_runs; i++) {
    const bsv_run *run = &s->view->runs[i];
    scan_blocks(s, run->blocks, run->n_blocks, run->first_chunk);
    if (i % 64 == 63 && is_interrupted(s)) return SQLITE_INTERRUPT;
  }
  return SQLITE_OK;
}

/* Collects all rows with an estimate above `floor` and up to `limit`, or the best of them. */
static int scan_codes(two_stage *s) {
  int64_t start = bsv_clock_ns();
  int rc;
  if (s->pool != NULL && s->shared == NULL && (s->shared = shared_begin(s)) != NULL) {
    rc = scan_shared(s);
  } else {
    rc = scan_alone(s); /* a second scan, too: the helper may still be in the first */
  }
  compact(s);
  s->search->conn->stats.scan_ns += bsv_clock_ns() - start;
  s->search->conn->stats.passes++;
  return rc;
}

/* Lowers the limit to what a small share of the rows will pass; leaves it where there are few. */
static void sample_limit(two_stage *s) {
  size_t n_chunks = s->view->n_chunks, stride = (size_t)sqrt((double)n_chunks) * 4 / 5;
  size_t keep = s->keep, share;
  int64_t start = bsv_clock_ns();
  if (stride < 2) return;
  share = (size_t)(SAMPLE_TARGET(s->search->top->k) / stride);
  if (share < SAMPLE_PASSES) share = SAMPLE_PASSES;
  if (share >= keep) return;
  s->keep = share;
  for (size_t c = stride / 2; c < n_chunks; c += stride) {
    const bsv_view_chunk *chunk = s->view->chunks[c];
    scan_blocks(s, chunk->blocks, (chunk->n + BSV_BLOCK_ROWS - 1) / BSV_BLOCK_ROWS, c);
  }
  compact(s);
  if (s->n < share) s->limit = FLT_MAX; /* a filter left too little to judge by */
  s->n = 0;
  s->keep = keep;
  s->search->conn->stats.scan_ns += bsv_clock_ns() - start;
}

/* Scans and rescores until no row that was not rescored can be a hit. */
static int search_adaptive(two_stage *s) {
  int rc = SQLITE_OK;
  sample_limit(s);
  s->limit = fminf(s->limit, needed_limit(s));
  while (rc == SQLITE_OK) {
    rc = scan_codes(s);
    float scanned = s->limit;
    if (rc == SQLITE_OK) rc = rescore_best(s);
    s->limit = needed_limit(s);
    if (s->limit <= scanned || scanned == FLT_MAX) break;
    s->floor = scanned;
    s->n = 0;
  }
  return rc;
}

/* Without rescoring the estimates are the answer. */
static int take_estimates(two_stage *s) {
  int rc = SQLITE_OK;
  for (size_t i = 0; rc == SQLITE_OK && i < s->n; i++) {
    float distance = s->candidates[i].estimate;
    if (s->search->column->metric == BSV_L2) distance = sqrtf(fmaxf(distance, 0));
    rc = bsv_topk_offer(s->search->top, distance, bsv_slot_id(s->view, s->candidates[i].slot));
  }
  return rc;
}

/* How many candidates one scan keeps. */
static size_t candidates_kept(const two_stage *s) {
  uint64_t k = s->search->top->k, rows = s->view->n_rows, keep;
  int rescore = s->search->column->codec.rescore;
  if (k >= rows) return (size_t)rows;
  if (rescore == BSV_RESCORE_AUTO) {
    keep = MOST_CANDIDATES + 16 * k;
  } else {
    keep = rescore > 0 ? k * (uint64_t)rescore : k;
  }
  return (size_t)(keep < rows ? keep : rows);
}

static int prepare_coarse(two_stage *s) {
  bsv_column *column = s->search->column;
  int rc = bsv_column_rabitq(s->search->conn, column);
  if (rc != SQLITE_OK) return rc;
  s->adaptive = column->codec.rescore == BSV_RESCORE_AUTO;
  float margin = s->adaptive ? MARGIN : 0;
  rc = bsv_rabitq_query_init(&s->coarse, &column->rabitq, s->exact.f32, margin, column->codec.noise);
  /* Cosine of rows promised to be of unit length is coded as an inner product, which is less by 1. */
  if (column->metric == BSV_COSINE && column->codec.coding == BSV_CODING_DOT) s->coarse.coarse.base += 1;
  s->kernel = column->rabitq.bits == 1 ? s->search->conn->kernels->coarse1 : s->search->conn->kernels->coarse4;
  s->keep = candidates_kept(s);
  s->capacity = 2 * s->keep + BSV_RUN_ROWS;
  s->floor = -INFINITY;
  s->limit = FLT_MAX;
  s->candidates = rc == SQLITE_OK ? sqlite3_malloc64(s->capacity * sizeof *s->candidates) : NULL;
  return rc == SQLITE_OK && s->candidates == NULL ? SQLITE_NOMEM : rc;
}

/* ---- the whole ------------------------------------------------------------------------------ */

/* Whether the query says anything that codes could estimate. */
static int is_estimable(const bsv_query *query) {
  if (query->metric == BSV_COSINE && query->norm == 0) return 0; /* every row is as near */
  return isfinite(query->norm);
}

/* Whether reading the rows outright beats two stages: there are few, or nearly all are asked for. */
static int exact_is_cheaper(const two_stage *s) {
  uint64_t rows = s->view->n_rows, k = s->search->top->k;
  if (s->search->filter != NULL && s->search->filter->n <= 64 + 4 * k) return 1;
  if (s->search->column->codec.rescore == 0) return 0;
  return k >= rows / 8 || rows <= SMALL_TABLE;
}

int bsv_search_own(bsv_search *search) {
  two_stage s = {.search = search};
  bsv_view *view = NULL;
  memset(&search->conn->stats, 0, sizeof search->conn->stats);
  int rc = bsv_search_exact_query(search, &s.exact);
  if (rc == SQLITE_OK) rc = bsv_open_view(search->conn, search->column, &view);
  if (rc != SQLITE_OK) goto done;
  s.view = view;
  if (!is_estimable(&s.exact) || exact_is_cheaper(&s)) {
    rc = bsv_search_exact(search);
    goto done;
  }
  rc = bsv_source_row(search->source, search->conn->db);
  if (rc == SQLITE_OK) rc = prepare_coarse(&s);
  if (rc == SQLITE_OK) rc = bsv_search_changes(search, &s.exact, &s.changed);
  if (rc == SQLITE_OK) rc = mark_allowed(&s);
  if (rc != SQLITE_OK) goto done;
  if (view->n_rows * (s.coarse.coarse.code_bytes + 4) >= SHARED_SCAN_BYTES) s.pool = bsv_cache_pool(search->conn->cache);
  if (s.adaptive) {
    rc = search_adaptive(&s);
  } else {
    rc = scan_codes(&s);
    if (rc == SQLITE_OK) rc = search->column->codec.rescore == 0 ? take_estimates(&s) : rescore_best(&s);
  }

done:
  bsv_query_clear(&s.exact);
  if (s.shared != NULL) {
    bsv_job_unref(s.pool, &s.shared->job);
  } else {
    bsv_rabitq_query_clear(&s.coarse);
    sqlite3_free(s.allowed);
  }
  bsv_view_unref(search->conn->cache, view);
  bsv_idset_clear(&s.changed);
  sqlite3_free(s.candidates);
  return rc;
}
