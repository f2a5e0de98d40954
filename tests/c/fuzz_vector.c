/*
** Fuzz target: text, option strings, BLOBs and damaged shadow tables from arbitrary bytes.
**
** The first byte says what the rest is. Nothing has to succeed; nothing may crash, read out of bounds,
** leak, or damage the database. With libFuzzer: `make fuzz` (clang). Without: test_fuzz.c feeds it
** pseudo-random bytes and mutations of good inputs.
*/
#include "fuzz_vector.h"

#include "bsv_text.h"
#include "sql.h"

#define DIM 8

/* Binds `bytes` (as a BLOB, or as text) to every parameter and runs the statement to its end. */
static void run_with(sqlite3 *db, const char *sql, const uint8_t *bytes, size_t n, int as_text) {
  sqlite3_stmt *stmt;
  CHECK(sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) == SQLITE_OK, "%s: %s", sql, sqlite3_errmsg(db));
  for (int i = 1; i <= sqlite3_bind_parameter_count(stmt); i++) {
    if (as_text) {
      sqlite3_bind_text(stmt, i, (const char *)bytes, (int)n, SQLITE_TRANSIENT);
    } else {
      sqlite3_bind_blob(stmt, i, bytes, (int)n, SQLITE_TRANSIENT);
    }
  }
  while (sqlite3_step(stmt) == SQLITE_ROW) {
  }
  sqlite3_finalize(stmt);
}

static void parse_text(const uint8_t *bytes, size_t n) {
  for (int type = BSV_F32; type <= BSV_BIT; type++) {
    void *vector;
    size_t dim;
    char *error;
    bsv_parse_vector((const char *)bytes, n, (bsv_type)type, &vector, &dim, &error);
    sqlite3_free(vector);
    sqlite3_free(error);
  }
}

/* A fresh copy of a quantized table; each kind is made once and kept as the image of its file. */
static sqlite3 *table_with(const char *options) {
  static struct {
    const char *options;
    unsigned char *image;
    sqlite3_int64 bytes;
  } kept[4];
  size_t i = 0;
  while (i < 3 && kept[i].options && strcmp(kept[i].options, options) != 0) i++;
  if (kept[i].options == NULL) {
    char sql[200];
    sqlite3 *made = open_with(":memory:", NULL);
    exec(made, "CREATE TABLE t(id INTEGER PRIMARY KEY, v BLOB)");
    fill(made, 0, 300, DIM);
    exec(made, "SELECT vector_init('t', 'v', 'dimension=8')");
    sqlite3_snprintf(sizeof sql, sql, "SELECT vector_quantize('t', 'v', '%s')", options);
    exec(made, sql);
    kept[i].options = options;
    kept[i].image = sqlite3_serialize(made, "main", &kept[i].bytes, 0);
    sqlite3_close(made);
  }
  sqlite3 *db = open_with(":memory:", NULL);
  unsigned char *copy = sqlite3_malloc64((sqlite3_uint64)kept[i].bytes);
  CHECK(copy != NULL && kept[i].image != NULL, "out of memory");
  memcpy(copy, kept[i].image, (size_t)kept[i].bytes);
  int rc = sqlite3_deserialize(db, "main", copy, kept[i].bytes, kept[i].bytes,
                               SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_RESIZEABLE);
  CHECK(rc == SQLITE_OK, "code %d", rc);
  exec(db, "SELECT vector_init('t', 'v', 'dimension=8')");
  return db;
}

static void scan_everything(sqlite3 *db) {
  static const char *const statements[] = {
      "SELECT * FROM vector_quantize_scan('t', 'v', '[1,2,3,4,5,6,7,8]', 7)",
      "SELECT * FROM vector_quantize_scan('t', 'v', '[1,2,3,4,5,6,7,8]')",
      "SELECT vector_quantize_preload('t', 'v', 'rows=1')",
      "SELECT vector_quantize_memory('t', 'v')",
      "SELECT * FROM vector_quantize_scan('t', 'v', '[1,2,3,4,5,6,7,8]', 299)",
      "UPDATE t SET v = (SELECT v FROM t WHERE id = 3) WHERE id % 50 = 0",
      "SELECT vector_quantize('t', 'v')",
      "SELECT * FROM vector_quantize_scan('t', 'v', '[1,2,3,4,5,6,7,8]', 7)",
  };
  for (size_t i = 0; i < sizeof statements / sizeof statements[0]; i++) sqlite3_exec(db, statements[i], NULL, NULL, NULL);
}

/* Writes bytes over a shadow table: where to, from the first of them. */
static void damage(const char *options, const char *shadow, const uint8_t *bytes, size_t n) {
  static const char *const columns[] = {"data", "counter", "rowid1", "rowid2"};
  char sql[300];
  if (n < 3) return;
  sqlite3 *db = table_with(options);
  unsigned where = bytes[0] % 4, at = bytes[1];
  if (where == 0) { /* in the middle of the records, or instead of them */
    sqlite3_snprintf(sizeof sql, sql,
                     at % 2 ? "UPDATE %s SET data = ?1" : "UPDATE %s SET data = substr(data, 1, %u) || ?1 || substr(data, %u)", shadow,
                     at * 4, at * 4 + (unsigned)n);
    run_with(db, sql, bytes + 2, n - 2, 0);
    sqlite3_exec(db, "UPDATE vector1_t_v SET data = CAST(data AS BLOB)", NULL, NULL, NULL);
    sqlite3_exec(db, "UPDATE vector0_t_v SET data = CAST(data AS BLOB)", NULL, NULL, NULL);
  } else {
    sqlite3_int64 value = 0;
    memcpy(&value, bytes + 2, n - 2 < sizeof value ? n - 2 : sizeof value);
    sqlite3_snprintf(sizeof sql, sql, "UPDATE OR IGNORE %s SET %s = %lld", shadow, columns[where], value);
    sqlite3_exec(db, sql, NULL, NULL, NULL);
  }
  scan_everything(db);
  exec(db, "SELECT vector_quantize('t', 'v', 'full=1')"); /* always heals */
  expect(db, "SELECT count(*) FROM vector_quantize_scan('t', 'v', '[1,2,3,4,5,6,7,8]', 7)", "7");
  expect(db, "PRAGMA integrity_check", "ok");
  sqlite3_close(db);
}

static void damage_metadata(const uint8_t *bytes, size_t n) {
  static const char *const keys[] = {"qtype",  "qscale",  "qoffset",    "rescore", "track", "stamp",
                                     "lineage", "generation", "count", "built",   "coding", "noise", "mean"};
  char sql[300];
  if (n < 2) return;
  sqlite3 *db = table_with(bytes[0] & 1 ? "qtype=RABITQ" : "qtype=INT8");
  sqlite3_snprintf(sizeof sql, sql, "UPDATE _sqliteai_vector SET value = ?1 WHERE key = '%s'", keys[bytes[0] / 2 % 13]);
  run_with(db, sql, bytes + 1, n - 1, bytes[0] & 128);
  exec(db, "UPDATE _sqliteai_vector SET value = value + 1 WHERE key = 'stamp'"); /* so that it is read again */
  scan_everything(db);
  exec(db, "SELECT vector_quantize('t', 'v', 'qtype=RABITQ,full=1')");
  expect(db, "SELECT count(*) FROM vector_quantize_scan('t', 'v', '[1,2,3,4,5,6,7,8]', 7)", "7");
  sqlite3_close(db);
}

static void use_values(const uint8_t *bytes, size_t n) {
  static const char *const statements[] = {
      "SELECT vector_as_f32(?1), vector_as_i8(?1, 3)",
      "SELECT vector_as_bit(?1, 9)",
      "SELECT * FROM vector_full_scan('t', 'v', ?1, 3)",
      "SELECT * FROM vector_quantize_scan('t', 'v', ?1, 3)",
      "SELECT * FROM vector_quantize_scan('t', 'v', '[1,2,3,4,5,6,7,8]', 3, ?1)",
      "SELECT * FROM vector_full_scan('t', 'v', '[1,2,3,4,5,6,7,8]', 3, ?1)",
      "SELECT vector_distance_cosine(v, ?1) FROM t LIMIT 2",
      "SELECT vector_distance_l2(?1, ?1, 'INT8')",
      "INSERT INTO t VALUES (1000, ?1)",
      "SELECT * FROM vector_quantize_scan('t', 'v', '[1,2,3,4,5,6,7,8]', 3)",
      "SELECT vector_quantize('t', 'v')",
      "SELECT vector_init(?1, 'v', 'dimension=3')",
      "SELECT vector_quantize_memory(?1, ?1), vector_quantize_cleanup(?1, ?1)",
  };
  sqlite3 *db = table_with("qtype=RABITQ");
  for (int as_text = 0; as_text < 2; as_text++) {
    for (size_t i = 0; i < sizeof statements / sizeof statements[0]; i++) run_with(db, statements[i], bytes, n, as_text);
  }
  expect(db, "PRAGMA integrity_check", "ok");
  sqlite3_close(db);
}

static void use_options(const uint8_t *bytes, size_t n) {
  static const char *const statements[] = {
      "SELECT vector_quantize('t', 'v', ?1)",
      "SELECT * FROM vector_quantize_scan('t', 'v', '[1,2,3,4,5,6,7,8]', 3)",
      "SELECT vector_quantize_preload('t', 'v', ?1)",
      "SELECT vector_init('u', 'v', ?1)",
      "SELECT * FROM vector_full_scan('u', 'v', '[1]', 3)",
      "SELECT vector_quantize('u', 'v', ?1)",
  };
  sqlite3 *db = table_with("qtype=INT8");
  exec(db, "CREATE TABLE u(v BLOB); INSERT INTO u VALUES (zeroblob(32)), (zeroblob(4)), (NULL)");
  for (size_t i = 0; i < sizeof statements / sizeof statements[0]; i++) run_with(db, statements[i], bytes, n, 1);
  sqlite3_close(db);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n) {
  if (n == 0) return 0;
  switch (bytes[0] % 8) {
    case 0:
    case 1:
      parse_text(bytes + 1, n - 1);
      break;
    case 2:
      use_options(bytes + 1, n - 1);
      break;
    case 3:
      use_values(bytes + 1, n - 1);
      break;
    case 4:
      damage("qtype=RABITQ", "vector1_t_v", bytes + 1, n - 1);
      break;
    case 5:
      damage("qtype=RABITQ4", "vector1_t_v", bytes + 1, n - 1);
      break;
    case 6:
      damage("qtype=INT8", "vector0_t_v", bytes + 1, n - 1);
      break;
    default:
      damage_metadata(bytes + 1, n - 1);
      break;
  }
  return 0;
}
