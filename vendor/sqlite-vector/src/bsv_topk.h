/* The k nearest of a stream of (distance, id), with room for no more than were offered. */
#ifndef BSV_TOPK_H
#define BSV_TOPK_H

#include <math.h>
#include <stdint.h>

typedef struct bsv_hit {
  float distance;
  int64_t id;
} bsv_hit;

typedef struct bsv_topk {
  bsv_hit *hits; /* a heap whose root is the worst kept hit, until bsv_topk_sort() */
  uint64_t n, capacity, k;
  float worst; /* offers at or above it are certainly refused; infinity until k are kept */
} bsv_topk;

void bsv_topk_init(bsv_topk *top, int64_t k); /* k <= 0 keeps nothing */
void bsv_topk_clear(bsv_topk *top);

int bsv_topk_insert(bsv_topk *top, float distance, int64_t id); /* use bsv_topk_offer() */

/*
** Keeps the hit when it is among the k nearest so far; equal distances are ordered by id. Distances
** that are NaN or infinite are never kept. SQLITE_OK or SQLITE_NOMEM.
*/
static inline int bsv_topk_offer(bsv_topk *top, float distance, int64_t id) {
  return distance <= top->worst ? bsv_topk_insert(top, distance, id) : 0;
}

/* Orders the kept hits, nearest first. The heap is used up. */
void bsv_topk_sort(bsv_topk *top);

#endif
