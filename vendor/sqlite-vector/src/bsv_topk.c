/* A bounded heap of hits. */
#include "bsv_topk.h"

#include <float.h>
#include <stdlib.h>
#include <string.h>

#include "bsv_sqlite.h"

static int is_worse(const bsv_hit *a, const bsv_hit *b) {
  if (a->distance != b->distance) return a->distance > b->distance;
  return a->id > b->id;
}

void bsv_topk_init(bsv_topk *top, int64_t k) {
  memset(top, 0, sizeof *top);
  top->k = k > 0 ? (uint64_t)k : 0;
  /* FLT_MAX, so that one comparison refuses infinity and NaN too. */
  top->worst = k > 0 ? FLT_MAX : -INFINITY;
}

void bsv_topk_clear(bsv_topk *top) {
  sqlite3_free(top->hits);
  memset(top, 0, sizeof *top);
}

static void sift_down(bsv_hit *hits, uint64_t n, bsv_hit hit) {
  uint64_t i = 0;
  for (;;) {
    uint64_t child = 2 * i + 1;
    if (child >= n) break;
    if (child + 1 < n && is_worse(&hits[child + 1], &hits[child])) child++;
    if (!is_worse(&hits[child], &hit)) break;
    hits[i] = hits[child];
    i = child;
  }
  hits[i] = hit;
}

int bsv_topk_insert(bsv_topk *top, float distance, int64_t id) {
  bsv_hit hit = {distance, id};
  if (top->n == top->k) { /* full: replaces the root, if better */
    if (top->k == 0 || !is_worse(&top->hits[0], &hit)) return SQLITE_OK;
    sift_down(top->hits, top->n, hit);
    top->worst = top->hits[0].distance;
    return SQLITE_OK;
  }
  if (top->n == top->capacity) {
    uint64_t larger = top->capacity ? top->capacity * 2 : 32;
    if (larger > top->k) larger = top->k;
    bsv_hit *hits = sqlite3_realloc64(top->hits, larger * sizeof *hits);
    if (hits == NULL) return SQLITE_NOMEM;
    top->hits = hits;
    top->capacity = larger;
  }
  uint64_t i = top->n++;
  while (i > 0 && is_worse(&hit, &top->hits[(i - 1) / 2])) {
    top->hits[i] = top->hits[(i - 1) / 2];
    i = (i - 1) / 2;
  }
  top->hits[i] = hit;
  if (top->n == top->k) top->worst = top->hits[0].distance;
  return SQLITE_OK;
}

static int compare_hits(const void *a, const void *b) {
  if (is_worse(a, b)) return 1;
  return is_worse(b, a) ? -1 : 0;
}

void bsv_topk_sort(bsv_topk *top) {
  if (top->n > 1) qsort(top->hits, (size_t)top->n, sizeof *top->hits, compare_hits);
}
