/*
** The code cache that connections share: a counted, locked object that keeps the newest view of each
** lineage. Reading from the database happens outside the lock.
*/
#include <string.h>

#include "bsv_sqlite.h"
#include "bsv_view.h"
#include "sqlite-vector.h"

/* Lineages kept; the one that was not asked for longest gives way. More live columns than this in one
** program reload their codes when they take turns. */
#define MAX_LINEAGES 8

struct bsv_cache {
  sqlite3_mutex *mutex; /* guards everything below, and the references of views, chunks and rows */
  int references;
  size_t n_views;
  bsv_view *views[MAX_LINEAGES]; /* the most recently used first; one reference each */
  bsv_pool *pool;
  int pool_tried;
};

bsv_cache *bsv_cache_new(void) {
#ifdef SQLITE_CORE
  /* A cache may be made before the first connection is, and mutexes need a running library. */
  if (sqlite3_initialize() != SQLITE_OK) return NULL;
#endif
  bsv_cache *cache = sqlite3_malloc64(sizeof *cache);
  if (cache == NULL) return NULL;
  memset(cache, 0, sizeof *cache);
  cache->references = 1;
  cache->mutex = sqlite3_mutex_alloc(SQLITE_MUTEX_FAST); /* NULL in a single-threaded SQLite: then no lock is needed */
  if (cache->mutex == NULL && sqlite3_threadsafe()) {
    sqlite3_free(cache);
    return NULL;
  }
  return cache;
}

void bsv_cache_ref(bsv_cache *cache) {
  sqlite3_mutex_enter(cache->mutex);
  cache->references++;
  sqlite3_mutex_leave(cache->mutex);
}

void bsv_cache_unref(bsv_cache *cache) {
  if (cache == NULL) return;
  sqlite3_mutex_enter(cache->mutex);
  int left = --cache->references;
  sqlite3_mutex_leave(cache->mutex);
  if (left > 0) return;
  bsv_pool_free(cache->pool); /* before the views: the helper may still be reading one */
  for (size_t i = 0; i < cache->n_views; i++) bsv_view_unref(cache, cache->views[i]);
  sqlite3_mutex_free(cache->mutex);
  sqlite3_free(cache);
}

sqlite3_int64 bsv_cache_bytes(bsv_cache *cache) {
  sqlite3_int64 bytes = 0;
  sqlite3_mutex_enter(cache->mutex);
  for (size_t i = 0; i < cache->n_views; i++) bytes += (sqlite3_int64)bsv_view_bytes(cache->views[i]);
  sqlite3_mutex_leave(cache->mutex);
  return bytes;
}

bsv_pool *bsv_cache_pool(bsv_cache *cache) {
  sqlite3_mutex_enter(cache->mutex);
  if (!cache->pool_tried) cache->pool = bsv_pool_new();
  cache->pool_tried = 1;
  bsv_pool *pool = cache->pool;
  sqlite3_mutex_leave(cache->mutex);
  return pool;
}

bsv_view *bsv_cache_find(bsv_cache *cache, int64_t lineage, int64_t stamp, bsv_view **base) {
  bsv_view *found = NULL;
  *base = NULL;
  sqlite3_mutex_enter(cache->mutex);
  for (size_t i = 0; i < cache->n_views; i++) {
    bsv_view *view = cache->views[i];
    if (view->lineage != lineage) continue;
    memmove(cache->views + 1, cache->views, i * sizeof *cache->views);
    cache->views[0] = view;
    view->references++;
    if (view->stamp == stamp) {
      found = view;
    } else {
      *base = view;
    }
    break;
  }
  sqlite3_mutex_leave(cache->mutex);
  return found;
}

void bsv_cache_offer(bsv_cache *cache, bsv_view *view) {
  bsv_view *old = NULL;
  sqlite3_mutex_enter(cache->mutex);
  size_t i = 0;
  while (i < cache->n_views && cache->views[i]->lineage != view->lineage) i++;
  if (i < cache->n_views) {
    /* A reader of an older snapshot must not displace what the others are going to need. */
    bsv_view *kept = cache->views[i];
    int newer = view->generation > kept->generation || (view->generation == kept->generation && view->stamp != kept->stamp);
    int richer = view->stamp == kept->stamp && view->row_sets != NULL && kept->row_sets == NULL;
    if (newer || richer) {
      old = kept;
      cache->views[i] = view;
      view->references++;
    }
  } else {
    if (cache->n_views == MAX_LINEAGES) old = cache->views[--cache->n_views];
    memmove(cache->views + 1, cache->views, cache->n_views * sizeof *cache->views);
    cache->views[0] = view;
    cache->n_views++;
    view->references++;
  }
  sqlite3_mutex_leave(cache->mutex);
  bsv_view_unref(cache, old);
}

void bsv_view_ref(bsv_cache *cache, bsv_view *view) {
  sqlite3_mutex_enter(cache->mutex);
  view->references++;
  sqlite3_mutex_leave(cache->mutex);
}

bsv_view_chunk *bsv_view_share_chunk(bsv_cache *cache, const bsv_view *from, size_t i) {
  sqlite3_mutex_enter(cache->mutex);
  from->chunks[i]->references++;
  sqlite3_mutex_leave(cache->mutex);
  return from->chunks[i];
}

bsv_row_set *bsv_view_share_rows(bsv_cache *cache, const bsv_view *from, size_t i) {
  sqlite3_mutex_enter(cache->mutex);
  from->row_sets[i]->references++;
  sqlite3_mutex_leave(cache->mutex);
  return from->row_sets[i];
}

/* Frees a chunk that nobody uses; its arena goes with the last chunk. The lock is held: it guards the
** arena's count, too. */
static void free_chunk(bsv_view_chunk *chunk) {
  if (--chunk->arena->references == 0) {
    sqlite3_free(chunk->arena->memory);
    sqlite3_free(chunk->arena);
  }
  sqlite3_free(chunk);
}

void bsv_view_unref(bsv_cache *cache, bsv_view *view) {
  if (view == NULL) return;
  sqlite3_mutex_enter(cache->mutex);
  int left = --view->references;
  for (size_t i = 0; left == 0 && i < view->n_chunks; i++) {
    if (--view->chunks[i]->references == 0) free_chunk(view->chunks[i]);
    if (view->row_sets == NULL || view->row_sets[i] == NULL) continue;
    if (--view->row_sets[i]->references == 0) sqlite3_free(view->row_sets[i]);
  }
  sqlite3_mutex_leave(cache->mutex);
  if (left > 0) return;
  sqlite3_free(view->chunks);
  sqlite3_free(view->row_sets);
  sqlite3_free(view);
}
