/*
** Every allocation and every write may fail: each scenario is run with the first, the second, ... of
** them failing, until it gets through. Each failure has to be an SQLite error of the right kind, leave no
** memory behind, and leave a database that is intact and gives right answers.
*/
#include "sql.h"

/* ---- failing memory ------------------------------------------------------------------------- */

static sqlite3_mem_methods real_memory;
static int64_t allocations_left = -1; /* -1: no failure */

static int must_fail(void) {
  if (allocations_left < 0) return 0;
  if (allocations_left == 0) return 1; /* and so do all that follow, as in a real shortage */
  allocations_left--;
  return 0;
}

static void *failing_malloc(int n) { return must_fail() ? NULL : real_memory.xMalloc(n); }
static void *failing_realloc(void *p, int n) { return must_fail() ? NULL : real_memory.xRealloc(p, n); }

/* ---- failing files -------------------------------------------------------------------------- */

static sqlite3_vfs *real_vfs;
static int64_t writes_left = -1;

typedef struct failing_file {
  sqlite3_file base;
  sqlite3_file *real;
} failing_file;

#define REAL(file) (((failing_file *)(file))->real)

static int io_fails(void) { return writes_left >= 0 && writes_left-- <= 0 ? (writes_left = 0, 1) : 0; }

static int file_close(sqlite3_file *f) { return REAL(f)->pMethods->xClose(REAL(f)); }
static int file_read(sqlite3_file *f, void *p, int n, sqlite3_int64 at) { return REAL(f)->pMethods->xRead(REAL(f), p, n, at); }
static int file_write(sqlite3_file *f, const void *p, int n, sqlite3_int64 at) {
  return io_fails() ? SQLITE_FULL : REAL(f)->pMethods->xWrite(REAL(f), p, n, at);
}
static int file_truncate(sqlite3_file *f, sqlite3_int64 n) { return REAL(f)->pMethods->xTruncate(REAL(f), n); }
static int file_sync(sqlite3_file *f, int flags) { return io_fails() ? SQLITE_IOERR_FSYNC : REAL(f)->pMethods->xSync(REAL(f), flags); }
static int file_size(sqlite3_file *f, sqlite3_int64 *n) { return REAL(f)->pMethods->xFileSize(REAL(f), n); }
static int file_lock(sqlite3_file *f, int level) { return REAL(f)->pMethods->xLock(REAL(f), level); }
static int file_unlock(sqlite3_file *f, int level) { return REAL(f)->pMethods->xUnlock(REAL(f), level); }
static int file_reserved(sqlite3_file *f, int *out) { return REAL(f)->pMethods->xCheckReservedLock(REAL(f), out); }
static int file_control(sqlite3_file *f, int op, void *p) { return REAL(f)->pMethods->xFileControl(REAL(f), op, p); }
static int file_sector(sqlite3_file *f) { return REAL(f)->pMethods->xSectorSize(REAL(f)); }
static int file_device(sqlite3_file *f) { return REAL(f)->pMethods->xDeviceCharacteristics(REAL(f)); }

static const sqlite3_io_methods failing_methods = {1, file_close, file_read, file_write, file_truncate, file_sync, file_size,
                                                   file_lock, file_unlock, file_reserved, file_control, file_sector,
                                                   file_device, 0, 0, 0, 0, 0, 0};

static int vfs_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *out) {
  failing_file *f = (failing_file *)file;
  (void)vfs;
  f->real = (sqlite3_file *)(f + 1);
  f->base.pMethods = NULL;
  int rc = real_vfs->xOpen(real_vfs, name, f->real, flags, out);
  if (f->real->pMethods) f->base.pMethods = &failing_methods;
  return rc;
}

/* ---- scenarios ------------------------------------------------------------------------------ */

#define DIM 16
static const char path[] = "build-faults.db";

/* The file as it is before the scenario; plain malloc, so that SQLite's own count stays at 0. */
static unsigned char *image;
static size_t image_bytes;

/* A database with 330 rows; quantized with `options` unless they are NULL, and then changed a little. */
static void make_image(const char *options) {
  remove(path);
  sqlite3 *db = open_with(path, NULL);
  exec(db, "CREATE TABLE t(id INTEGER PRIMARY KEY, v BLOB)");
  fill(db, 0, 330, DIM);
  /* A filter of the rows 0 to 199, packed. */
  exec(db, "CREATE TABLE f(ids BLOB)");
  unsigned char ids[200 * 8] = {0};
  for (int i = 0; i < 200; i++) ids[8 * i] = (unsigned char)i;
  sqlite3_stmt *stmt;
  CHECK(sqlite3_prepare_v2(db, "INSERT INTO f VALUES (?1)", -1, &stmt, NULL) == SQLITE_OK, "%s", sqlite3_errmsg(db));
  sqlite3_bind_blob(stmt, 1, ids, sizeof ids, SQLITE_STATIC);
  CHECK(sqlite3_step(stmt) == SQLITE_DONE, "%s", sqlite3_errmsg(db));
  sqlite3_finalize(stmt);
  if (options) {
    char sql[200];
    exec(db, "SELECT vector_init('t', 'v', 'dimension=16,distance=L2')");
    sqlite3_snprintf(sizeof sql, sql, "SELECT vector_quantize('t', 'v', '%s')", options);
    exec(db, sql);
    fill(db, 700, 710, DIM);
    exec(db, "DELETE FROM t WHERE id = 5; UPDATE t SET v = (SELECT v FROM t WHERE id = 9) WHERE id = 300");
  }
  sqlite3_close(db);
  FILE *file = fopen(path, "rb");
  CHECK(file != NULL, "cannot read %s", path);
  fseek(file, 0, SEEK_END);
  image_bytes = (size_t)ftell(file);
  rewind(file);
  free(image);
  image = malloc(image_bytes);
  CHECK(fread(image, 1, image_bytes, file) == image_bytes, "cannot read %s", path);
  fclose(file);
}

static void restore_image(void) {
  FILE *file = fopen(path, "wb");
  CHECK(file != NULL && fwrite(image, 1, image_bytes, file) == image_bytes, "cannot write %s", path);
  fclose(file);
  remove("build-faults.db-journal");
}

/* After a failure the file is sound, and a fresh connection's quantized scan equals the exact one. */
static void check_database(const char *context) {
  char exact[4000], quantized[4000];
  static const char scan[] = "SELECT id FROM vector_%s_scan('t', 'v', (SELECT v FROM t WHERE id = 77), 20) ORDER BY id";
  char sql[300];
  sqlite3 *db = open_with(path, NULL);
  expect(db, "PRAGMA integrity_check", "ok");
  exec(db, "SELECT vector_init('t', 'v', 'dimension=16,distance=L2')");
  sqlite3_snprintf(sizeof sql, sql, scan, "full");
  CHECK(query(db, sql, exact, sizeof exact) == SQLITE_OK, "%s: %s", context, sqlite3_errmsg(db));
  sqlite3_snprintf(sizeof sql, sql, scan, "quantize");
  int rc = query(db, sql, quantized, sizeof quantized);
  if (rc == SQLITE_OK) {
    CHECK(strcmp(exact, quantized) == 0, "%s: %s instead of %s", context, quantized, exact);
  } else { /* then nothing is quantized, and that is said */
    CHECK(rc == SQLITE_ERROR && strstr(sqlite3_errmsg(db), "no codes"), "%s: %s", context, sqlite3_errmsg(db));
  }
  exec(db, "SELECT vector_quantize('t', 'v', 'qtype=RABITQ,rescore=1000')");
  CHECK(query(db, sql, quantized, sizeof quantized) == SQLITE_OK && strcmp(exact, quantized) == 0, "%s: after healing", context);
  sqlite3_close(db);
}

typedef struct scenario {
  const char *options; /* of a quantization beforehand, or NULL */
  const char *sql;     /* statements to survive */
} scenario;

static const scenario scenarios[] = {
    {NULL, "SELECT vector_as_f32('[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20]')"},
    {NULL, "SELECT vector_quantize('t', 'v', 'qtype=INT8')"},
    {NULL, "SELECT vector_quantize('t', 'v', 'qtype=UINT8,track=0,max_memory=1KB')"},
    {NULL, "SELECT vector_quantize('t', 'v', 'qtype=RABITQ')"},
    {NULL, "SELECT vector_quantize('t', 'v', 'qtype=RABITQ4')"},
    {NULL, "SELECT id FROM vector_full_scan('t', 'v', zeroblob(64), 30)"},
    {NULL, "SELECT id FROM vector_full_scan('t', 'v', zeroblob(64), 30, x'05000000000000000300000000000000')"},
    {NULL, "SELECT sum(distance) FROM vector_full_scan('t', 'v', '[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]')"},
    {NULL, "SELECT sum(vector_distance_l2(v, '[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]')) FROM t"},
    {"qtype=INT8", "SELECT vector_quantize('t', 'v')"},
    {"qtype=RABITQ,rescore=1000", "SELECT vector_quantize('t', 'v')"},
    {"qtype=RABITQ,rescore=1000", "SELECT vector_quantize('t', 'v', 'qtype=INT8')"},
    {"qtype=INT8", "SELECT id FROM vector_quantize_scan('t', 'v', zeroblob(64), 30)"},
    {"qtype=INT8,rescore=3", "SELECT id FROM vector_quantize_scan('t', 'v', zeroblob(64), 30)"},
    {"qtype=INT8", "SELECT sum(distance) FROM vector_quantize_scan('t', 'v', zeroblob(64))"},
    {"qtype=RABITQ,rescore=1000", "SELECT id FROM vector_quantize_scan('t', 'v', (SELECT v FROM t WHERE id = 1), 30)"},
    {"qtype=RABITQ4,rescore=1000", "SELECT id FROM vector_quantize_scan('t', 'v', (SELECT v FROM t WHERE id = 1), 30)"},
    {"qtype=RABITQ,rescore=1000",
     "SELECT id FROM vector_quantize_scan('t', 'v', (SELECT v FROM t WHERE id = 1), 2, (SELECT ids FROM f))"},
    {"qtype=RABITQ,rescore=1000", "SELECT vector_quantize_preload('t', 'v', 'rows=1');"
                                  "SELECT id FROM vector_quantize_scan('t', 'v', (SELECT v FROM t WHERE id = 1), 30)"},
    {"qtype=INT8", "SELECT vector_quantize_preload('t', 'v'); SELECT id FROM vector_quantize_scan('t', 'v', zeroblob(64), 3)"},
    {"qtype=RABITQ,rescore=1000", "SELECT vector_quantize_cleanup('t', 'v')"},
    {"qtype=RABITQ,rescore=1000", "SELECT vector_quantize_memory('t', 'v'), vector_quantize_stats('t', 'v')"},
};

#define N_SCENARIOS (sizeof scenarios / sizeof scenarios[0])

/* Opens, registers, declares and runs the scenario; the first error ends it. */
static int run_scenario(const scenario *s) {
  sqlite3 *db = NULL;
  int rc = sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, "failing");
  if (rc == SQLITE_OK) rc = bsv_register(db, NULL);
  if (rc == SQLITE_OK) rc = sqlite3_exec(db, "SELECT vector_init('t', 'v', 'dimension=16,distance=L2')", NULL, NULL, NULL);
  if (rc == SQLITE_OK) rc = sqlite3_exec(db, s->sql, NULL, NULL, NULL);
  int64_t memory = allocations_left, writes = writes_left;
  allocations_left = writes_left = -1; /* closing may not fail */
  CHECK(sqlite3_close(db) == SQLITE_OK, "'%s' left something open", s->sql);
  allocations_left = memory;
  writes_left = writes;
  return rc;
}

static void failures_leave_a_sound_database(int64_t *counter, const char *kind, int first_code, int second_code) {
  for (size_t i = 0; i < N_SCENARIOS; i++) {
    const scenario *s = &scenarios[i];
    int rc = -1, writes = strstr(s->sql, "vector_quantize(") || strstr(s->sql, "cleanup");
    make_image(s->options);
    /* The first failures one by one; of the many that follow, which are alike, every fifth, tenth, ... */
    for (int64_t n = 0; rc != SQLITE_OK; n += 1 + n / 40) {
      CHECK(n < 200000, "'%s' never gets through", s->sql);
      if (writes) restore_image();
      *counter = n;
      rc = run_scenario(s);
      *counter = -1;
      int code = rc & 0xff;
      CHECK(rc == SQLITE_OK || code == first_code || code == second_code, "'%s', %s %lld: code %d", s->sql, kind, (long long)n, rc);
      if (writes || rc == SQLITE_OK) check_database(s->sql);
      CHECK(sqlite3_memory_used() == 0, "'%s', %s %lld: %lld bytes leaked", s->sql, kind, (long long)n, sqlite3_memory_used());
    }
  }
}

static void running_out_of_memory_is_survived_everywhere(void) {
  failures_leave_a_sound_database(&allocations_left, "allocation", SQLITE_NOMEM, SQLITE_NOMEM);
}

static void failing_writes_are_survived_everywhere(void) {
  failures_leave_a_sound_database(&writes_left, "write", SQLITE_FULL, SQLITE_IOERR);
}

int main(void) {
  sqlite3_config(SQLITE_CONFIG_GETMALLOC, &real_memory);
  sqlite3_mem_methods methods = real_memory;
  methods.xMalloc = failing_malloc;
  methods.xRealloc = failing_realloc;
  sqlite3_config(SQLITE_CONFIG_MALLOC, &methods);
  sqlite3_config(SQLITE_CONFIG_LOOKASIDE, 0, 0); /* every allocation counts */
  sqlite3_initialize();
  real_vfs = sqlite3_vfs_find(NULL);
  sqlite3_vfs vfs = *real_vfs;
  vfs.zName = "failing";
  vfs.szOsFile = (int)sizeof(failing_file) + real_vfs->szOsFile;
  vfs.xOpen = vfs_open;
  vfs.pNext = NULL;
  sqlite3_vfs_register(&vfs, 0);
  RUN(running_out_of_memory_is_survived_everywhere);
  RUN(failing_writes_are_survived_everywhere);
  remove(path);
  free(image);
  return 0;
}
