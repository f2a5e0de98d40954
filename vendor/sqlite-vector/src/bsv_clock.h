/* A clock for measuring durations; only differences mean anything. */
#ifndef BSV_CLOCK_H
#define BSV_CLOCK_H

#include <stdint.h>

int64_t bsv_clock_ns(void);

#endif
