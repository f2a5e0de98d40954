/* Taking changed rows into existing codes. */
#ifndef BSV_MERGE_H
#define BSV_MERGE_H

#include "bsv_encode.h"

/*
** Codes the rows of the change log and rewrites the chunks they belong to, inside the caller's
** transaction; the log is left as it is. `codec->count` is brought up to date. `*merged` is 0 when a
** full quantization is needed instead; then the caller has to roll back or start over. Error
** convention of bsv_conn_init_column().
*/
int bsv_merge_changes(bsv_conn *conn, const bsv_column *column, bsv_codec *codec, int64_t max_memory_bytes, int *merged,
                      char **error);

/* The message for a stored value that is no vector of the column. */
char *bsv_bad_vector_message(const bsv_column *column, int64_t rowid);

#endif
