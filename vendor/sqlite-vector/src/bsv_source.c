/* Statements and snapshot of a scan. */
#include "bsv_source.h"

#include <string.h>

#include "bsv_track.h"

int bsv_source_of(bsv_source **list, bsv_column *column, bsv_source **source) {
  for (*source = *list; *source; *source = (*source)->next) {
    if ((*source)->column == column) return SQLITE_OK;
  }
  *source = sqlite3_malloc64(sizeof **source);
  if (*source == NULL) return SQLITE_NOMEM;
  memset(*source, 0, sizeof **source);
  (*source)->column = column;
  (*source)->reprepared = -1;
  (*source)->next = *list;
  *list = *source;
  return SQLITE_OK;
}

void bsv_source_free_all(bsv_source **list) {
  while (*list) {
    bsv_source *source = *list;
    *list = source->next;
    sqlite3_finalize(source->stamp);
    sqlite3_finalize(source->changes);
    sqlite3_finalize(source->row);
    sqlite3_free(source);
  }
}

/* Prepares a statement that is kept. */
static int prepare_kept(sqlite3 *db, sqlite3_stmt **stmt, char *sql) {
  if (sql == NULL) return SQLITE_NOMEM;
  int rc = sqlite3_prepare_v3(db, sql, -1, SQLITE_PREPARE_PERSISTENT, stmt, NULL);
  sqlite3_free(sql);
  return rc;
}

int bsv_source_changes(bsv_source *source, sqlite3 *db) {
  const bsv_column *c = source->column;
  if (source->changes != NULL) return SQLITE_OK;
  return prepare_kept(db, &source->changes,
                      sqlite3_mprintf("SELECT l.id, t.\"%w\" FROM main.\"%w\" AS l LEFT JOIN main.\"%w\" AS t ON t.%s = l.id"
                                      " ORDER BY l.id",
                                      c->column, c->log, c->table, c->rowid));
}

int bsv_source_row(bsv_source *source, sqlite3 *db) {
  const bsv_column *c = source->column;
  if (source->row != NULL) return SQLITE_OK;
  return prepare_kept(db, &source->row,
                      sqlite3_mprintf("SELECT \"%w\" FROM main.\"%w\" WHERE %s = ?1", c->column, c->table, c->rowid));
}

/* Steps the statement of the stamp; it stays at its row. No metadata table: no statement, no stamp. */
static int read_stamp(bsv_source *source, sqlite3 *db, int64_t *stamp) {
  const bsv_column *c = source->column;
  int found = 0, rc = SQLITE_OK;
  *stamp = 0;
  if (source->stamp == NULL) {
    rc = bsv_table_exists(db, BSV_METADATA_TABLE, &found);
    if (rc != SQLITE_OK || !found) return rc;
    rc = prepare_kept(db, &source->stamp,
                      sqlite3_mprintf("SELECT value FROM main." BSV_METADATA_TABLE
                                      " WHERE tblname = %Q AND colname = %Q AND key = 'stamp'",
                                      c->table, c->column));
    if (rc != SQLITE_OK) return rc;
  }
  rc = sqlite3_step(source->stamp);
  if (rc == SQLITE_ROW) *stamp = sqlite3_column_int64(source->stamp, 0);
  if (rc == SQLITE_ROW || rc == SQLITE_DONE) return SQLITE_OK;
  bsv_table_exists(db, BSV_METADATA_TABLE, &found);
  if (found) return rc;
  bsv_source_end(source); /* the metadata table was dropped */
  return SQLITE_OK;
}

int bsv_source_begin(bsv_source *source, sqlite3 *db, bsv_state *state) {
  bsv_column *column = source->column;
  int64_t stamp;
  int found = 0;
  *state = BSV_STATE_NO_CODES;
  int rc = read_stamp(source, db, &stamp);
  if (rc != SQLITE_OK || source->stamp == NULL) return rc;

  /* Published codes without a stamp may have been rewritten by another program at any time. */
  if (stamp == 0 || stamp != column->codec.stamp) {
    rc = bsv_read_codec(db, column->table, column->column, column->dim, &column->codec);
    source->reprepared = -1;
    if (rc != SQLITE_OK) return rc;
  }
  if (column->codec.qtype == BSV_QTYPE_NONE) return SQLITE_OK;

  int reprepared = sqlite3_stmt_status(source->stamp, SQLITE_STMTSTATUS_REPREPARE, 0);
  if (stamp == 0 || reprepared != source->reprepared) {
    rc = bsv_table_exists(db, bsv_column_shadow(column, column->codec.qtype), &found);
    if (rc != SQLITE_OK || !found) return rc;
    if (column->codec.tracked) {
      rc = bsv_track_intact(db, column, &source->intact);
      if (rc != SQLITE_OK) return rc;
    }
    source->reprepared = reprepared;
  }
  *state = column->codec.tracked && !source->intact ? BSV_STATE_LOST : BSV_STATE_CODES;
  return SQLITE_OK;
}

void bsv_source_end(bsv_source *source) {
  /* The results of these were taken when they were stepped. */
  sqlite3_reset(source->stamp);
  sqlite3_reset(source->changes);
  sqlite3_reset(source->row);
}

int bsv_next_row(sqlite3_stmt *stmt, uint64_t bytes, int64_t *id, const void **vector) {
  int rc = sqlite3_step(stmt);
  if (rc != SQLITE_ROW) return rc;
  *id = sqlite3_column_int64(stmt, 0);
  *vector = NULL;
  if (sqlite3_column_type(stmt, 1) == SQLITE_NULL) return SQLITE_ROW;
  const void *blob = sqlite3_column_blob(stmt, 1);
  if ((uint64_t)sqlite3_column_bytes(stmt, 1) < bytes) return SQLITE_ROW;
  *vector = blob;
  return blob ? SQLITE_ROW : SQLITE_NOMEM;
}

int bsv_source_changed_ids(bsv_source *source, sqlite3 *db, bsv_idset *ids) {
  sqlite3_stmt *stmt = NULL;
  int rc = bsv_prepare(db, &stmt, "SELECT id FROM main.\"%w\" ORDER BY id", source->column->log);
  while (rc == SQLITE_OK && (rc = sqlite3_step(stmt)) == SQLITE_ROW) rc = bsv_idset_append(ids, sqlite3_column_int64(stmt, 0));
  sqlite3_finalize(stmt);
  return rc == SQLITE_DONE ? SQLITE_OK : rc;
}
