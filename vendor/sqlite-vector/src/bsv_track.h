/*
** The change log of a vector column: which rows were inserted, deleted or changed since their codes
** were made.
**
** Triggers on the table write row ids into the log, in the transaction of the change itself, so every
** snapshot of the database holds rows, codes and log that belong together. They are plain SQL: a
** connection without this extension keeps the log, too.
*/
#ifndef BSV_TRACK_H
#define BSV_TRACK_H

#include "bsv_sqlite.h"

struct bsv_column;

/* Creates the log and its triggers, or empties the log when they are there. */
int bsv_track_start(sqlite3 *db, const struct bsv_column *column);

/* Drops log and triggers of a column that need not be declared. */
int bsv_track_stop(sqlite3 *db, const char *table, const char *column);

/* Whether the log and all of its triggers on the column's table exist. */
int bsv_track_intact(sqlite3 *db, const struct bsv_column *column, int *intact);

/* Name of the log, to sqlite3_free(); NULL when out of memory. */
char *bsv_log_name(const char *table, const char *column);

#endif
