/* The extension through SQL, in its static build: registration, lifetime, errors, transactions. */
#include "sql.h"

static const char three_rows[] =
    "CREATE TABLE t(id INTEGER PRIMARY KEY, v BLOB);"
    "INSERT INTO t VALUES (1, vector_as_f32('[0,0]')), (2, vector_as_f32('[3,4]')), (3, vector_as_f32('[-6,8]'));"
    "SELECT vector_init('t', 'v', 'dimension=2')";

static void registering_writes_nothing(void) {
  sqlite3 *db = open_with(":memory:", NULL);
  expect(db, "SELECT count(*) FROM sqlite_schema", "0");
  expect(db, "PRAGMA page_count", "0");
  exec(db, three_rows);
  expect(db, "SELECT name FROM sqlite_schema", "t");
  sqlite3_close(db);
}

static void scans_find_the_nearest_rows(void) {
  sqlite3 *db = open_with(":memory:", NULL);
  exec(db, three_rows);
  expect(db, "SELECT id, distance FROM vector_full_scan('t', 'v', '[0,0]', 2)", "1,0.0|2,5.0");
  expect(db, "SELECT vector_quantize('t', 'v', 'qtype=INT8')", "3");
  expect(db, "SELECT id FROM vector_quantize_scan('t', 'v', '[0,0]', 2)", "1|2");
  sqlite3_close(db);
}

static void a_scan_may_take_its_query_from_a_joined_row(void) {
  sqlite3 *db = open_with(":memory:", NULL);
  exec(db, three_rows);
  expect(db, "SELECT t.id, s.id FROM t, vector_full_scan('t', 'v', t.v, 1) AS s ORDER BY t.id", "1,1|2,2|3,3");
  expect(db, "SELECT (SELECT id FROM vector_full_scan('t', 'v', t.v, 1)) FROM t", "1|2|3");
  sqlite3_close(db);
}

static void a_shared_cache_outlives_its_owner(void) {
  bsv_cache *cache = bsv_cache_new();
  CHECK(cache != NULL, "no cache");
  sqlite3 *a = open_with(":memory:", cache), *b = open_with(":memory:", cache);
  bsv_cache_unref(cache);
  exec(a, three_rows);
  sqlite3_close(a);
  exec(b, three_rows);
  sqlite3_close(b);
  bsv_cache_unref(NULL);
}

static void closing_is_possible_right_after_any_scan(void) {
  sqlite3 *db = open_with(":memory:", NULL);
  exec(db, three_rows);
  exec(db, "SELECT vector_quantize('t', 'v')");
  expect(db, "SELECT id FROM vector_quantize_scan('t', 'v', '[0,0]', 1)", "1");
  expect(db, "SELECT id FROM vector_full_scan('t', 'v', '[0,0]', 1)", "1");
  expect_error(db, "SELECT id FROM vector_full_scan('t', 'v', '[0]', 1)", SQLITE_ERROR);
  CHECK(sqlite3_close(db) == SQLITE_OK, "the connection is still busy");
}

static void an_open_cursor_outlives_requantization_and_cleanup(void) {
  sqlite3 *db = open_with(":memory:", NULL);
  sqlite3_stmt *stmt;
  exec(db, three_rows);
  exec(db, "SELECT vector_quantize('t', 'v'); SELECT vector_quantize_preload('t', 'v')");
  CHECK(sqlite3_prepare_v2(db, "SELECT id FROM vector_quantize_scan('t', 'v', '[0,0]')", -1, &stmt, NULL) == SQLITE_OK, "prepare");
  CHECK(sqlite3_step(stmt) == SQLITE_ROW, "no first row");
  exec(db, "INSERT INTO t VALUES (4, vector_as_f32('[1,1]'))");
  expect(db, "SELECT vector_quantize('t', 'v')", "4");
  CHECK(sqlite3_step(stmt) == SQLITE_ROW && sqlite3_column_int(stmt, 0) == 2, "no second row");
  CHECK(sqlite3_step(stmt) == SQLITE_ROW && sqlite3_step(stmt) == SQLITE_DONE, "the cursor did not end with its own rows");
  sqlite3_finalize(stmt);
  expect(db, "SELECT count(*) FROM vector_quantize_scan('t', 'v', '[0,0]')", "4");
  sqlite3_close(db);
}

static void a_refused_quantization_leaves_the_former_codes(void) {
  sqlite3 *db = open_with(":memory:", NULL);
  exec(db, three_rows);
  exec(db, "SELECT vector_quantize('t', 'v', 'qtype=INT8')");
  exec(db, "INSERT INTO t VALUES (9, x'00')");
  expect_error(db, "SELECT vector_quantize('t', 'v', 'qtype=UINT8')", SQLITE_ERROR);
  expect(db, "SELECT count(*) FROM vector_quantize_scan('t', 'v', '[0,0]', 10)", "3");
  expect(db, "SELECT value FROM _sqliteai_vector WHERE key = 'qtype'", "2");
  sqlite3_close(db);
}

static void damaged_codes_are_reported(void) {
  static const char *const damage[] = {
      "UPDATE vector0_t_v SET data = x'00'",       "UPDATE vector0_t_v SET data = NULL",   "UPDATE vector0_t_v SET data = zeroblob(1000)",
      "UPDATE vector0_t_v SET counter = 1000000",  "UPDATE vector0_t_v SET counter = -1", "UPDATE vector0_t_v SET counter = 'x'",
      "UPDATE vector0_t_v SET data = 'text'",      "UPDATE vector0_t_v SET counter = 1 << 62",
  };
  for (size_t i = 0; i < sizeof damage / sizeof damage[0]; i++) {
    sqlite3 *db = open_with(":memory:", NULL);
    exec(db, three_rows);
    exec(db, "SELECT vector_quantize('t', 'v')");
    exec(db, damage[i]);
    expect_error(db, "SELECT * FROM vector_quantize_scan('t', 'v', '[0,0]', 3)", SQLITE_CORRUPT);
    expect_error(db, "SELECT * FROM vector_quantize_scan('t', 'v', '[0,0]')", SQLITE_CORRUPT);
    expect_error(db, "SELECT vector_quantize_preload('t', 'v')", SQLITE_CORRUPT);
    expect(db, "SELECT vector_quantize('t', 'v')", "3");
    expect(db, "SELECT count(*) FROM vector_quantize_scan('t', 'v', '[0,0]', 3)", "3");
    sqlite3_close(db);
  }
}

static void a_giant_k_or_dimension_takes_no_giant_memory(void) {
  sqlite3 *db = open_with(":memory:", NULL);
  exec(db, three_rows);
  expect(db, "SELECT count(*) FROM vector_full_scan('t', 'v', '[0,0]', 9223372036854775807)", "3");
  exec(db, "CREATE TABLE u(v BLOB); INSERT INTO u VALUES (x'00'); SELECT vector_init('u', 'v', 'dimension=1099511627776')");
  expect_error(db, "SELECT vector_quantize('u', 'v')", SQLITE_TOOBIG);
  expect_error(db, "SELECT * FROM vector_full_scan('u', 'v', '[1]', 1)", SQLITE_ERROR);
  expect_error(db, "SELECT vector_init('u', 'v', 'dimension=4611686018427387904')", SQLITE_ERROR);
  sqlite3_close(db);
}

static void a_table_may_be_dropped_under_an_open_cursor(void) {
  static const char *const scans[] = {"vector_full_scan('t', 'v', '[0,0]')", "vector_full_scan('t', 'v', '[0,0]', 3)",
                                      "vector_quantize_scan('t', 'v', '[0,0]')", "vector_quantize_scan('t', 'v', '[0,0]', 3)"};
  static const char *const drops[] = {"DROP TABLE t", "DROP TABLE vector0_t_v", "DROP TABLE vectorlog_t_v", "DROP TABLE _sqliteai_vector",
                                      "DELETE FROM t", "ALTER TABLE t RENAME TO u", "ALTER TABLE t DROP COLUMN v"};
  for (size_t s = 0; s < 4; s++) {
    for (size_t d = 0; d < sizeof drops / sizeof drops[0]; d++) {
      char sql[200];
      sqlite3 *db = open_with(":memory:", NULL);
      sqlite3_stmt *stmt;
      exec(db, three_rows);
      exec(db, "SELECT vector_quantize('t', 'v', 'qtype=INT8')");
      sqlite3_snprintf(sizeof sql, sql, "SELECT id FROM %s", scans[s]);
      CHECK(sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) == SQLITE_OK, "%s: %s", sql, sqlite3_errmsg(db));
      CHECK(sqlite3_step(stmt) == SQLITE_ROW, "%s: %s", sql, sqlite3_errmsg(db));
      sqlite3_exec(db, drops[d], NULL, NULL, NULL); /* SQLite may well refuse it: locked */
      int rc;
      while ((rc = sqlite3_step(stmt)) == SQLITE_ROW) {
      }
      sqlite3_finalize(stmt);
      sqlite3_exec(db, drops[d], NULL, NULL, NULL);
      sqlite3_exec(db, sql, NULL, NULL, NULL); /* an error or an answer, no crash */
      sqlite3_exec(db, "SELECT vector_quantize('t', 'v')", NULL, NULL, NULL);
      sqlite3_exec(db, "SELECT vector_quantize_preload('t', 'v')", NULL, NULL, NULL);
      expect(db, "PRAGMA integrity_check", "ok");
      CHECK(sqlite3_close(db) == SQLITE_OK, "still busy");
    }
  }
}

static void damaged_own_codes_are_reported_and_healed(void) {
  static const char *const damage[] = {
      "UPDATE vector1_t_v SET data = x'00'",
      "UPDATE vector1_t_v SET data = NULL",
      "UPDATE vector1_t_v SET data = zeroblob(length(data))",
      "UPDATE vector1_t_v SET counter = 257",
      "UPDATE vector1_t_v SET counter = 0",
      "UPDATE vector1_t_v SET rowid1 = rowid1 - 1",
      "UPDATE vector1_t_v SET data = zeroblob(200000000)",
      "INSERT INTO vector1_t_v SELECT rowid1 + 1, rowid2, counter, version + 1, data FROM vector1_t_v LIMIT 1",
  };
  for (size_t i = 0; i < sizeof damage / sizeof damage[0]; i++) {
    sqlite3 *db = open_with(":memory:", NULL);
    exec(db, "CREATE TABLE t(id INTEGER PRIMARY KEY, v BLOB)");
    fill(db, 1, 400, 8);
    exec(db, "SELECT vector_init('t', 'v', 'dimension=8'); SELECT vector_quantize('t', 'v', 'qtype=RABITQ')");
    exec(db, damage[i]);
    expect_error(db, "SELECT * FROM vector_quantize_scan('t', 'v', '[1,2,3,4,5,6,7,8]', 3)", SQLITE_CORRUPT);
    expect_error(db, "SELECT vector_quantize_preload('t', 'v')", SQLITE_CORRUPT);
    expect_error(db, "SELECT vector_quantize_stats('t', 'v')", SQLITE_CORRUPT);
    expect(db, "SELECT vector_quantize('t', 'v')", "399");
    expect(db, "SELECT count(*) FROM vector_quantize_scan('t', 'v', '[1,2,3,4,5,6,7,8]', 3)", "3");
    sqlite3_close(db);
  }
}

static void damaged_metadata_is_as_good_as_none(void) {
  static const char *const damage[] = {
      "UPDATE _sqliteai_vector SET value = x'00' WHERE key = 'mean'",
      "DELETE FROM _sqliteai_vector WHERE key = 'mean'",
      "UPDATE _sqliteai_vector SET value = 7 WHERE key = 'coding'",
      "UPDATE _sqliteai_vector SET value = 'x' WHERE key = 'qtype'",
      "UPDATE _sqliteai_vector SET value = -1 WHERE key = 'lineage'",
  };
  for (size_t i = 0; i < sizeof damage / sizeof damage[0]; i++) {
    sqlite3 *db = open_with(":memory:", NULL);
    exec(db, "CREATE TABLE t(id INTEGER PRIMARY KEY, v BLOB)");
    fill(db, 1, 400, 8);
    exec(db, "SELECT vector_init('t', 'v', 'dimension=8'); SELECT vector_quantize('t', 'v', 'qtype=RABITQ')");
    exec(db, damage[i]);
    exec(db, "UPDATE _sqliteai_vector SET value = 12345 WHERE key = 'stamp'"); /* another program's doing: read it again */
    expect_error(db, "SELECT * FROM vector_quantize_scan('t', 'v', '[1,2,3,4,5,6,7,8]', 3)", SQLITE_ERROR);
    expect(db, "SELECT vector_quantize('t', 'v', 'qtype=RABITQ')", "399");
    expect(db, "SELECT count(*) FROM vector_quantize_scan('t', 'v', '[1,2,3,4,5,6,7,8]', 3)", "3");
    sqlite3_close(db);
  }
}

int main(void) {
  RUN(registering_writes_nothing);
  RUN(scans_find_the_nearest_rows);
  RUN(a_scan_may_take_its_query_from_a_joined_row);
  RUN(a_shared_cache_outlives_its_owner);
  RUN(closing_is_possible_right_after_any_scan);
  RUN(an_open_cursor_outlives_requantization_and_cleanup);
  RUN(a_refused_quantization_leaves_the_former_codes);
  RUN(damaged_codes_are_reported);
  RUN(a_table_may_be_dropped_under_an_open_cursor);
  RUN(damaged_own_codes_are_reported_and_healed);
  RUN(damaged_metadata_is_as_good_as_none);
  RUN(a_giant_k_or_dimension_takes_no_giant_memory);
  return 0;
}
