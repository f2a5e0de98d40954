/* Running SQL in the C tests: connections with the extension, and results as text. */
#ifndef SQL_H
#define SQL_H

#include "check.h"
#include "sqlite-vector.h"

static inline sqlite3 *open_with(const char *path, bsv_cache *cache) {
  sqlite3 *db;
  CHECK(sqlite3_open(path, &db) == SQLITE_OK, "cannot open %s", path);
  CHECK(bsv_register(db, cache) == SQLITE_OK, "cannot register: %s", sqlite3_errmsg(db));
  return db;
}

static inline void exec(sqlite3 *db, const char *sql) {
  char *error = NULL;
  CHECK(sqlite3_exec(db, sql, NULL, NULL, &error) == SQLITE_OK, "%s: %s", sql, error);
}

/* Runs SQL to its end and joins all values as text, rows parted by '|' and columns by ','. */
static inline int query(sqlite3 *db, const char *sql, char *out, size_t n) {
  sqlite3_stmt *stmt = NULL;
  out[0] = 0;
  int rc = sqlite3_prepare_v2(db, sql, -1, &stmt, NULL);
  while (rc == SQLITE_OK && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
    rc = SQLITE_OK;
    if (out[0]) strncat(out, "|", n - strlen(out) - 1);
    for (int i = 0; i < sqlite3_column_count(stmt); i++) {
      const char *text = (const char *)sqlite3_column_text(stmt, i);
      if (i) strncat(out, ",", n - strlen(out) - 1);
      strncat(out, text ? text : "NULL", n - strlen(out) - 1);
    }
  }
  int finalized = sqlite3_finalize(stmt);
  return rc == SQLITE_DONE ? finalized : rc;
}

static inline void expect(sqlite3 *db, const char *sql, const char *want) {
  char got[2000];
  int rc = query(db, sql, got, sizeof got);
  CHECK(rc == SQLITE_OK, "%s: %s", sql, sqlite3_errmsg(db));
  CHECK(strcmp(got, want) == 0, "%s gave %s, want %s", sql, got, want);
}

static inline void expect_error(sqlite3 *db, const char *sql, int code) {
  char got[2000];
  int rc = query(db, sql, got, sizeof got);
  CHECK((rc & 0xff) == code, "%s gave code %d (%s), want %d", sql, rc, sqlite3_errmsg(db), code);
}

/* Fills t(id, v) with rows from..to-1 of `dim` pseudo-random float32 elements. */
static inline void fill(sqlite3 *db, int64_t from, int64_t to, int dim) {
  sqlite3_stmt *stmt;
  float *vector = malloc((size_t)dim * sizeof *vector);
  uint64_t state = (uint64_t)from + 17;
  CHECK(sqlite3_prepare_v2(db, "INSERT INTO t(id, v) VALUES (?1, ?2)", -1, &stmt, NULL) == SQLITE_OK, "%s", sqlite3_errmsg(db));
  exec(db, "SAVEPOINT fill");
  for (int64_t id = from; id < to; id++) {
    for (int i = 0; i < dim; i++) vector[i] = next_float(&state) + 0.1f;
    sqlite3_bind_int64(stmt, 1, id);
    sqlite3_bind_blob(stmt, 2, vector, dim * (int)sizeof *vector, SQLITE_TRANSIENT);
    CHECK(sqlite3_step(stmt) == SQLITE_DONE, "%s", sqlite3_errmsg(db));
    sqlite3_reset(stmt);
  }
  exec(db, "RELEASE fill");
  sqlite3_finalize(stmt);
  free(vector);
}

#endif
