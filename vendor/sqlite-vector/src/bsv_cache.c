/* The code cache that connections share: a counted, locked object. */
#include <string.h>

#include "bsv_sqlite.h"
#include "sqlite-vector.h"

struct bsv_cache {
  sqlite3_mutex *mutex; /* guards everything below */
  int references;
  sqlite3_int64 bytes;
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
  sqlite3_mutex_free(cache->mutex);
  sqlite3_free(cache);
}

sqlite3_int64 bsv_cache_bytes(bsv_cache *cache) {
  sqlite3_mutex_enter(cache->mutex);
  sqlite3_int64 bytes = cache->bytes;
  sqlite3_mutex_leave(cache->mutex);
  return bytes;
}
