/* The scalar distance functions: vector_distance_cosine(a, b) and its siblings. */
#ifndef BSV_DISTANCE_H
#define BSV_DISTANCE_H

#include "bsv_conn.h"

/* Registers them; each takes its own reference to `conn`. */
int bsv_distance_register(bsv_conn *conn);

#endif
