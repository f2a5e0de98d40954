/*
** Our own codes in memory, arranged for scanning: a view is the state of one column at one stamp.
**
** A chunk never changes; a view is a list of chunks. A new view shares with the former one all chunks
** that were not rewritten, so taking in a small change costs little, and readers of older snapshots
** keep what they use. bsv_cache.c keeps views for all connections.
*/
#ifndef BSV_VIEW_H
#define BSV_VIEW_H

#include "bsv_codes.h"
#include "bsv_idset.h"
#include "bsv_pool.h"
#include "bsv_sqlite.h"
#include "sqlite-vector.h"

/* Most rows of a chunk, on disk and in memory: eight blocks. A changed row rewrites one chunk. */
#define BSV_CHUNK_ROWS 256

/* Memory that chunks are cut from; freed with the last chunk in it. */
typedef struct bsv_arena {
  int references;
  uint8_t *memory; /* as allocated; what is handed out starts at the next multiple of 64 or 2 MB */
  size_t used, size;
} bsv_arena;

/* The codes of at most BSV_CHUNK_ROWS rows. */
typedef struct bsv_view_chunk {
  int references; /* guarded by the cache's mutex */
  uint32_t n;
  int64_t version; /* random: equal versions are equal contents */
  bsv_arena *arena;
  uint8_t *blocks; /* in the arena; the next chunk's usually follow at once */
  int64_t *ids;    /* ascending; in the allocation of the chunk */
} bsv_view_chunk;

/* The exact vectors of a chunk's rows, for rescoring without the table. */
typedef struct bsv_row_set {
  int references;  /* guarded by the cache's mutex */
  int64_t version; /* of the chunk */
  uint32_t n;
  /* Rows that are missing: their vector had changed since it was coded when the others were read. */
  uint32_t missing[BSV_CHUNK_ROWS / 32];
  uint8_t *rows; /* n * row_bytes, in the same allocation */
} bsv_row_set;

/* Chunks whose blocks lie one behind the other in memory, all full but for the last. */
typedef struct bsv_run {
  const uint8_t *blocks;
  uint32_t n_blocks;
  uint32_t first_chunk;
} bsv_run;

/* Most chunks of a run: what a kernel scans before the limit is looked at again. */
#define BSV_RUN_CHUNKS 8
#define BSV_RUN_ROWS (BSV_RUN_CHUNKS * BSV_CHUNK_ROWS)

typedef struct bsv_view {
  int references; /* guarded by the cache's mutex */
  int64_t lineage, stamp, generation;
  size_t n_chunks;
  bsv_view_chunk **chunks; /* in rowid order */
  int64_t *first_ids;      /* of each chunk; one allocation with `chunks` and `runs` */
  bsv_run *runs;           /* all chunks in order, so that a scan does not have to look at each */
  size_t n_runs;
  uint64_t n_rows;
  size_t code_bytes;
  size_t row_bytes;       /* of an exact vector; 0 unless they are loaded */
  bsv_row_set **row_sets; /* of each chunk, or NULL */
} bsv_view;

/*
** Reads the view of the codec's stamp from the shadow table, as the connection's snapshot has it.
** `base` is a former view of the same lineage, or NULL; chunks of it are shared where the versions
** are equal. SQLITE_CORRUPT when the table does not hold what the codec says.
*/
int bsv_view_load(bsv_cache *cache, const bsv_kernels *kernels, sqlite3 *db, const char *shadow, const bsv_codec *codec, size_t dim, bsv_view *base,
                  bsv_view **view);

/*
** Makes a view that has the exact vectors, too, as the connection's snapshot has them; the chunks are
** shared with `view`. `changed` are the rows whose codes are out of date in this snapshot. `row` is a
** statement that reads the vector column by rowid (?1).
*/
int bsv_view_with_rows(bsv_cache *cache, sqlite3_stmt *row, size_t row_bytes, const bsv_idset *changed, bsv_view *view,
                       bsv_view *base, bsv_view **with_rows);

/* The exact vector of a slot, or NULL when it is not in memory. */
static inline const uint8_t *bsv_slot_row(const bsv_view *view, uint32_t slot, size_t row_bytes) {
  if (view->row_sets == NULL || view->row_bytes != row_bytes) return NULL;
  const bsv_row_set *set = view->row_sets[slot / BSV_CHUNK_ROWS];
  uint32_t row = slot % BSV_CHUNK_ROWS;
  return set->missing[row / 32] >> row % 32 & 1 ? NULL : set->rows + row * row_bytes;
}

/* The number of a row within a view, as the coarse kernels give it out. */
static inline uint32_t bsv_slot(size_t chunk, size_t row) { return (uint32_t)(chunk * BSV_CHUNK_ROWS + row); }
static inline const bsv_view_chunk *bsv_slot_chunk(const bsv_view *view, uint32_t slot) {
  return view->chunks[slot / BSV_CHUNK_ROWS];
}
static inline int64_t bsv_slot_id(const bsv_view *view, uint32_t slot) {
  return bsv_slot_chunk(view, slot)->ids[slot % BSV_CHUNK_ROWS];
}

/* ---- the shared cache (bsv_cache.c) --------------------------------------------------------- */

/*
** A view of this lineage and stamp, with a reference for the caller; or NULL, and then `*base` is the
** newest view of the lineage (with a reference) or NULL.
*/
bsv_view *bsv_cache_find(bsv_cache *cache, int64_t lineage, int64_t stamp, bsv_view **base);

/* Offers a view to other connections; the cache keeps the newest of each lineage. */
void bsv_cache_offer(bsv_cache *cache, bsv_view *view);

/* The helper thread of the cache's connections, started with the first call; NULL when there is none. */
bsv_pool *bsv_cache_pool(bsv_cache *cache);

void bsv_view_ref(bsv_cache *cache, bsv_view *view);
void bsv_view_unref(bsv_cache *cache, bsv_view *view); /* NULL does nothing */
/* For building views: counts more users of what `from` has at `i`; a view gives all back when freed. */
bsv_view_chunk *bsv_view_share_chunk(bsv_cache *cache, const bsv_view *from, size_t i);
bsv_row_set *bsv_view_share_rows(bsv_cache *cache, const bsv_view *from, size_t i);
/* Bytes that a view's codes and rows take. */
size_t bsv_view_bytes(const bsv_view *view);

#endif
