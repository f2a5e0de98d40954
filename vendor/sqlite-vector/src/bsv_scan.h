/* The table-valued functions: vector_full_scan, vector_quantize_scan, and their _stream names. */
#ifndef BSV_SCAN_H
#define BSV_SCAN_H

#include "bsv_conn.h"

extern const char *const bsv_scan_names[]; /* ends with NULL */

/* Registers them; each takes its own reference to `conn`. */
int bsv_scan_register(bsv_conn *conn);

#endif
