/* The change log and its triggers. */
#include "bsv_track.h"

#include "bsv_conn.h"

char *bsv_log_name(const char *table, const char *column) { return sqlite3_mprintf("vectorlog_%s_%s", table, column); }

/*
** Adds a row to the log. Not INSERT OR IGNORE: inside a trigger the conflict clause of the statement
** that fired it wins, and OR FAIL would fail.
*/
#define LOG_ID "INSERT INTO \"%w\"(id) SELECT %s.%s WHERE NOT EXISTS (SELECT 1 FROM \"%w\" WHERE id = %s.%s);"

int bsv_track_start(sqlite3 *db, const bsv_column *column) {
  const char *log = column->log, *table = column->table, *id = column->rowid;
  int rc = bsv_exec(db, "CREATE TABLE IF NOT EXISTS main.\"%w\" (id INTEGER PRIMARY KEY)", log);
  if (rc == SQLITE_OK) rc = bsv_exec(db, "DELETE FROM main.\"%w\"", log);
  if (rc == SQLITE_OK) {
    rc = bsv_exec(db, "CREATE TRIGGER IF NOT EXISTS main.\"%w_insert\" AFTER INSERT ON \"%w\" BEGIN " LOG_ID " END", log, table, log,
                  "new", id, log, "new", id);
  }
  if (rc == SQLITE_OK) {
    rc = bsv_exec(db, "CREATE TRIGGER IF NOT EXISTS main.\"%w_delete\" AFTER DELETE ON \"%w\" BEGIN " LOG_ID " END", log, table, log,
                  "old", id, log, "old", id);
  }
  if (rc == SQLITE_OK) {
    rc = bsv_exec(db,
                  "CREATE TRIGGER IF NOT EXISTS main.\"%w_update\" AFTER UPDATE ON \"%w\""
                  " WHEN old.%s IS NOT new.%s OR old.\"%w\" IS NOT new.\"%w\" BEGIN " LOG_ID LOG_ID " END",
                  log, table, id, id, column->column, column->column, log, "old", id, log, "old", id, log, "new", id, log, "new",
                  id);
  }
  return rc;
}

int bsv_track_stop(sqlite3 *db, const char *table, const char *column) {
  static const char *const suffixes[] = {"insert", "delete", "update"};
  char *log = bsv_log_name(table, column);
  int rc = log ? SQLITE_OK : SQLITE_NOMEM;
  for (int i = 0; rc == SQLITE_OK && i < 3; i++) {
    rc = bsv_exec(db, "DROP TRIGGER IF EXISTS main.\"%w_%s\"", log, suffixes[i]);
  }
  if (rc == SQLITE_OK) rc = bsv_exec(db, "DROP TABLE IF EXISTS main.\"%w\"", log);
  sqlite3_free(log);
  return rc;
}

int bsv_track_intact(sqlite3 *db, const bsv_column *column, int *intact) {
  sqlite3_stmt *stmt = NULL;
  *intact = 0;
  int rc = bsv_prepare(db, &stmt,
                       "SELECT count(*) FROM main.sqlite_schema WHERE (type = 'table' AND name = %Q)"
                       " OR (type = 'trigger' AND tbl_name = %Q COLLATE NOCASE"
                       " AND name IN (%Q || '_insert', %Q || '_delete', %Q || '_update'))",
                       column->log, column->table, column->log, column->log, column->log);
  if (rc == SQLITE_OK && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
    *intact = sqlite3_column_int(stmt, 0) == 4;
    rc = SQLITE_OK;
  }
  sqlite3_finalize(stmt);
  return rc;
}
