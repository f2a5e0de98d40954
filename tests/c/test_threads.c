/*
** Connections in several threads share one cache: readers scan while a writer changes rows and
** quantizes, and each reader's answers fit its own snapshot. Built with the address sanitizer by
** `make test`, and with the thread sanitizer by `make test-threads`.
*/
#include <pthread.h>

#include "sql.h"

#define DIM 16
#define READERS 3
#define ROUNDS 40

static const char path[] = "build-threads.db";

typedef struct shared {
  bsv_cache *cache;
  int64_t scans;
} shared;

static sqlite3 *open_declared(bsv_cache *cache) {
  sqlite3 *db = open_with(path, cache);
  sqlite3_busy_timeout(db, 60000);
  exec(db, "SELECT vector_init('t', 'v', 'dimension=16,distance=L2')");
  return db;
}

/* Compares a quantized with an exact scan inside one read transaction. */
static void *reader(void *pointer) {
  shared *s = pointer;
  sqlite3 *db = open_declared(s->cache);
  char exact[2000], quantized[2000], sql[300];
  for (int i = 0; i < ROUNDS; i++) {
    static const char scan[] = "SELECT id, distance FROM vector_%s_scan('t', 'v', (SELECT v FROM t WHERE id = %d), 15)";
    exec(db, "BEGIN");
    sqlite3_snprintf(sizeof sql, sql, scan, "full", i);
    CHECK(query(db, sql, exact, sizeof exact) == SQLITE_OK, "%s", sqlite3_errmsg(db));
    sqlite3_snprintf(sizeof sql, sql, scan, "quantize", i);
    CHECK(query(db, sql, quantized, sizeof quantized) == SQLITE_OK, "%s", sqlite3_errmsg(db));
    CHECK(strcmp(exact, quantized) == 0, "round %d: %s instead of %s", i, quantized, exact);
    exec(db, "COMMIT");
    if (i % 7 == 0) exec(db, "SELECT vector_quantize_preload('t', 'v', 'rows=1'), vector_quantize_stats('t', 'v')");
  }
  sqlite3_close(db);
  return NULL;
}

static void *writer(void *pointer) {
  shared *s = pointer;
  sqlite3 *db = open_declared(s->cache);
  for (int i = 0; i < ROUNDS; i++) {
    char sql[200];
    sqlite3_snprintf(sizeof sql, sql, "DELETE FROM t WHERE id BETWEEN %d AND %d", 100 + 5 * i, 103 + 5 * i);
    exec(db, sql);
    fill(db, 5000 + 20 * i, 5010 + 20 * i, DIM);
    if (i % 3 == 0) exec(db, "SELECT vector_quantize('t', 'v')");
    if (i % 13 == 12) exec(db, "SELECT vector_quantize('t', 'v', 'full=1')");
  }
  sqlite3_close(db);
  return NULL;
}

static void readers_see_their_own_snapshot_while_a_writer_quantizes(void) {
  remove(path);
  shared s = {.cache = bsv_cache_new()};
  CHECK(s.cache != NULL, "out of memory");
  sqlite3 *db = open_with(path, s.cache);
  exec(db, "PRAGMA journal_mode = WAL; CREATE TABLE t(id INTEGER PRIMARY KEY, v BLOB)");
  fill(db, 0, 2000, DIM);
  exec(db, "SELECT vector_init('t', 'v', 'dimension=16,distance=L2')");
  exec(db, "SELECT vector_quantize('t', 'v', 'qtype=RABITQ,rescore=1000')");
  pthread_t threads[READERS + 1];
  for (int i = 0; i < READERS; i++) pthread_create(&threads[i], NULL, reader, &s);
  pthread_create(&threads[READERS], NULL, writer, &s);
  for (int i = 0; i <= READERS; i++) pthread_join(threads[i], NULL);
  CHECK(bsv_cache_bytes(s.cache) > 0, "nothing was shared");
  expect(db, "PRAGMA integrity_check", "ok");
  sqlite3_close(db);
  bsv_cache_unref(s.cache);
  remove(path);
}

/* Both quantize at once: one of them waits or is told that the database is busy, and both agree later. */
static void *quantizer(void *pointer) {
  shared *s = pointer;
  sqlite3 *db = open_declared(s->cache);
  for (int i = 0; i < 10; i++) {
    char out[100];
    int rc = query(db, "SELECT vector_quantize('t', 'v', 'full=1')", out, sizeof out);
    CHECK(rc == SQLITE_OK || (rc & 0xff) == SQLITE_BUSY, "code %d: %s", rc, sqlite3_errmsg(db));
    expect(db, "SELECT count(*) FROM vector_quantize_scan('t', 'v', (SELECT v FROM t WHERE id = 3), 1000)", "600");
  }
  sqlite3_close(db);
  return NULL;
}

static void two_connections_may_quantize_at_once(void) {
  remove(path);
  shared s = {.cache = bsv_cache_new()};
  sqlite3 *db = open_with(path, s.cache);
  exec(db, "PRAGMA journal_mode = WAL; CREATE TABLE t(id INTEGER PRIMARY KEY, v BLOB)");
  fill(db, 0, 600, DIM);
  exec(db, "SELECT vector_init('t', 'v', 'dimension=16,distance=L2')");
  exec(db, "SELECT vector_quantize('t', 'v', 'qtype=RABITQ,rescore=1000')");
  pthread_t threads[2];
  for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, quantizer, &s);
  for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
  expect(db, "PRAGMA integrity_check", "ok");
  expect(db, "SELECT total(counter) FROM vector1_t_v", "600.0");
  sqlite3_close(db);
  bsv_cache_unref(s.cache);
  remove(path);
}

int main(void) {
  RUN(readers_see_their_own_snapshot_while_a_writer_quantizes);
  RUN(two_connections_may_quantize_at_once);
  return 0;
}
