/* Loading of views: chunks from the shadow table, arranged for scanning. */
#if defined(__linux__) && !defined(_DEFAULT_SOURCE)
#define _DEFAULT_SOURCE 1 /* madvise() beside strict C */
#endif

#include "bsv_view.h"

#include <string.h>

#include "bsv_conn.h"

#if defined(__linux__)
#include <sys/mman.h>
#endif

/* ---- arenas --------------------------------------------------------------------------------- */

#define HUGE_PAGE ((size_t)2 << 20)

/*
** One allocation for many chunks, so that a scan runs through memory in one direction. Large ones
** start at a huge page and ask for huge pages: a scan of 52 MB touches 13000 small pages otherwise.
*/
static bsv_arena *arena_new(size_t size) {
  size_t alignment = size >= HUGE_PAGE ? HUGE_PAGE : 64;
  bsv_arena *arena = sqlite3_malloc64(sizeof *arena);
  if (arena == NULL) return NULL;
  arena->references = 0;
  arena->memory = sqlite3_malloc64((sqlite3_uint64)size + alignment);
  if (arena->memory == NULL) {
    sqlite3_free(arena);
    return NULL;
  }
  arena->used = (size_t)(-(uintptr_t)arena->memory & (alignment - 1));
  arena->size = arena->used + size;
#if defined(__linux__) && defined(MADV_HUGEPAGE)
  if (size >= HUGE_PAGE) madvise(arena->memory + arena->used, size / HUGE_PAGE * HUGE_PAGE, MADV_HUGEPAGE);
#endif
  return arena;
}

static void arena_free(bsv_arena *arena) {
  if (arena == NULL) return;
  sqlite3_free(arena->memory);
  sqlite3_free(arena);
}

/* ---- building ------------------------------------------------------------------------------- */

/* One row of the shadow table, without its codes. */
typedef struct chunk_header {
  int64_t first_id, version;
  bsv_view_chunk *shared; /* from the base view, or NULL: to be read */
} chunk_header;

typedef struct view_builder {
  bsv_cache *cache;
  const bsv_kernels *kernels;
  sqlite3 *db;
  const char *shadow;
  unsigned bits;
  size_t code_bytes, record_bytes;
  chunk_header *headers;
  size_t n_headers, capacity;
  size_t n_shared;
  bsv_arena *arena; /* being filled; held by its chunks and, until the end, by the builder */
  size_t to_read;   /* bytes that the rest of the chunks need at most */
  bsv_view *view;
} view_builder;

static int add_header(view_builder *builder, int64_t first_id, int64_t version) {
  if (builder->n_headers == builder->capacity) {
    size_t larger = builder->capacity ? builder->capacity * 2 : 64;
    chunk_header *headers = sqlite3_realloc64(builder->headers, larger * sizeof *headers);
    if (headers == NULL) return SQLITE_NOMEM;
    builder->headers = headers;
    builder->capacity = larger;
  }
  if (builder->n_headers > 0 && first_id <= builder->headers[builder->n_headers - 1].first_id) return SQLITE_CORRUPT;
  chunk_header header = {first_id, version, NULL};
  builder->headers[builder->n_headers++] = header;
  return SQLITE_OK;
}

static int read_headers(view_builder *builder) {
  sqlite3_stmt *stmt = NULL;
  int rc = bsv_prepare(builder->db, &stmt, "SELECT rowid1, version FROM main.\"%w\" ORDER BY rowid1", builder->shadow);
  while (rc == SQLITE_OK && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
    rc = add_header(builder, sqlite3_column_int64(stmt, 0), sqlite3_column_int64(stmt, 1));
  }
  sqlite3_finalize(stmt);
  return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

/* Both lists are in rowid order, and a chunk that kept its version kept its first id. */
static void share_with(view_builder *builder, const bsv_view *base) {
  size_t b = 0;
  if (base == NULL) return;
  for (size_t i = 0; i < builder->n_headers; i++) {
    chunk_header *header = &builder->headers[i];
    while (b < base->n_chunks && base->first_ids[b] < header->first_id) b++;
    if (b < base->n_chunks && base->first_ids[b] == header->first_id && base->chunks[b]->version == header->version) {
      header->shared = bsv_view_share_chunk(builder->cache, base, b);
      builder->n_shared++;
    }
  }
}

/* Memory of a chunk's blocks: a multiple of a cache line as every block is. */
static size_t chunk_memory(const view_builder *builder, size_t n) {
  return (n + BSV_BLOCK_ROWS - 1) / BSV_BLOCK_ROWS * bsv_block_bytes(builder->code_bytes);
}

static uint8_t *chunk_allocate(view_builder *builder, size_t bytes) {
  if (builder->arena == NULL || builder->arena->size - builder->arena->used < bytes) {
    const size_t most = (size_t)64 << 20;
    size_t size = builder->to_read < most ? builder->to_read : most;
    if (builder->arena && builder->arena->references == 0) arena_free(builder->arena);
    builder->arena = arena_new(size > bytes ? size : bytes);
    if (builder->arena == NULL) return NULL;
  }
  uint8_t *memory = builder->arena->memory + builder->arena->used;
  builder->arena->used += bytes;
  return memory;
}

/* Makes a chunk of one row of `SELECT rowid1, version, counter, data`. */
static int build_chunk(view_builder *builder, sqlite3_stmt *stmt, bsv_view_chunk **out) {
  sqlite3_int64 counter = sqlite3_column_int64(stmt, 2);
  if (sqlite3_column_type(stmt, 3) != SQLITE_BLOB || counter <= 0 || counter > BSV_CHUNK_ROWS) return SQLITE_CORRUPT;
  const uint8_t *records = sqlite3_column_blob(stmt, 3);
  if (records == NULL) return SQLITE_NOMEM;
  size_t n = (size_t)counter;
  if ((size_t)sqlite3_column_bytes(stmt, 3) != n * builder->record_bytes) return SQLITE_CORRUPT;
  if (bsv_record_rowid(records) != sqlite3_column_int64(stmt, 0)) return SQLITE_CORRUPT;

  bsv_view_chunk *chunk = sqlite3_malloc64(sizeof *chunk + n * sizeof *chunk->ids);
  uint8_t *memory = chunk ? chunk_allocate(builder, chunk_memory(builder, n)) : NULL;
  if (memory == NULL) {
    sqlite3_free(chunk);
    return SQLITE_NOMEM;
  }
  chunk->references = 1;
  chunk->n = (uint32_t)n;
  chunk->version = sqlite3_column_int64(stmt, 1);
  chunk->arena = builder->arena;
  chunk->arena->references++;
  chunk->blocks = memory;
  chunk->ids = (int64_t *)(void *)(chunk + 1);
  bsv_rabitq_arrange(builder->kernels, builder->bits, builder->code_bytes, records + BSV_RECORD_HEADER, builder->record_bytes, n,
                     chunk->blocks);
  *out = chunk;
  for (size_t i = 0; i < n; i++) {
    chunk->ids[i] = bsv_record_rowid(records + i * builder->record_bytes);
    if (i > 0 && chunk->ids[i] <= chunk->ids[i - 1]) return SQLITE_CORRUPT; /* the caller frees the chunk */
  }
  return SQLITE_OK;
}

/* Appends a chunk, whose reference goes to the view. */
static int append_chunk(view_builder *builder, bsv_view_chunk *chunk) {
  bsv_view *view = builder->view;
  size_t i = view->n_chunks++;
  view->chunks[i] = chunk;
  if (i > 0 && view->chunks[i - 1]->ids[view->chunks[i - 1]->n - 1] >= chunk->ids[0]) return SQLITE_CORRUPT;
  return SQLITE_OK;
}

/* Reads every chunk in one pass, or, when most are shared, the others one by one. */
static int read_chunks(view_builder *builder) {
  sqlite3_stmt *stmt = NULL;
  int one_pass = builder->n_shared * 2 < builder->n_headers;
  int rc = bsv_prepare(builder->db, &stmt, "SELECT rowid1, version, counter, data FROM main.\"%w\" %s", builder->shadow,
                       one_pass ? "ORDER BY rowid1" : "WHERE rowid1 = ?1");
  for (size_t i = 0; rc == SQLITE_OK && i < builder->n_headers; i++) {
    chunk_header *header = &builder->headers[i];
    bsv_view_chunk *chunk = header->shared;
    if (chunk == NULL || one_pass) {
      if (!one_pass) sqlite3_bind_int64(stmt, 1, header->first_id);
      int step = sqlite3_step(stmt);
      if (step != SQLITE_ROW || sqlite3_column_int64(stmt, 0) != header->first_id) {
        rc = step == SQLITE_ROW || step == SQLITE_DONE ? SQLITE_CORRUPT : step;
        break;
      }
    }
    header->shared = NULL; /* from here on the view owns it */
    if (chunk == NULL) {
      builder->to_read = (builder->n_headers - i) * chunk_memory(builder, BSV_CHUNK_ROWS);
      rc = build_chunk(builder, stmt, &chunk);
      if (!one_pass) sqlite3_reset(stmt);
    }
    if (chunk != NULL) {
      int order = append_chunk(builder, chunk);
      if (rc == SQLITE_OK) rc = order;
    }
  }
  sqlite3_finalize(stmt);
  return rc;
}

static bsv_view *view_new(size_t n_chunks) {
  bsv_view *view = sqlite3_malloc64(sizeof *view);
  if (view == NULL) return NULL;
  memset(view, 0, sizeof *view);
  view->references = 1;
  view->chunks = sqlite3_malloc64((n_chunks + 1) * (sizeof *view->chunks + sizeof *view->first_ids + sizeof *view->runs));
  if (view->chunks == NULL) {
    sqlite3_free(view);
    return NULL;
  }
  view->first_ids = (int64_t *)(void *)(view->chunks + n_chunks);
  view->runs = (bsv_run *)(void *)(view->first_ids + n_chunks);
  return view;
}

/* Fills in what follows from the chunks. */
static void view_complete(bsv_view *view) {
  size_t full_bytes = BSV_CHUNK_ROWS / BSV_BLOCK_ROWS * bsv_block_bytes(view->code_bytes);
  bsv_run *run = NULL;
  for (size_t i = 0; i < view->n_chunks; i++) {
    const bsv_view_chunk *chunk = view->chunks[i];
    uint32_t n_blocks = (chunk->n + BSV_BLOCK_ROWS - 1) / BSV_BLOCK_ROWS;
    view->first_ids[i] = chunk->ids[0];
    view->n_rows += chunk->n;
    if (run != NULL && i - run->first_chunk < BSV_RUN_CHUNKS && view->chunks[i - 1]->n == BSV_CHUNK_ROWS &&
        chunk->blocks == view->chunks[i - 1]->blocks + full_bytes) {
      run->n_blocks += n_blocks;
    } else {
      run = &view->runs[view->n_runs++];
      run->blocks = chunk->blocks;
      run->n_blocks = n_blocks;
      run->first_chunk = (uint32_t)i;
    }
  }
}

int bsv_view_load(bsv_cache *cache, const bsv_kernels *kernels, sqlite3 *db, const char *shadow, const bsv_codec *codec, size_t dim,
                  bsv_view *base, bsv_view **view) {
  view_builder builder = {.cache = cache, .kernels = kernels, .db = db, .shadow = shadow};
  *view = NULL;
  builder.bits = bsv_qtype_bits(codec->qtype);
  builder.record_bytes = (size_t)bsv_record_bytes(codec->qtype, dim);
  builder.code_bytes = (dim + 7) / 8 * builder.bits;
  int rc = read_headers(&builder);
  if (rc == SQLITE_OK && builder.n_headers > UINT32_MAX / BSV_CHUNK_ROWS) rc = SQLITE_TOOBIG; /* slots have 32 bits */
  if (rc == SQLITE_OK && (builder.view = view_new(builder.n_headers)) == NULL) rc = SQLITE_NOMEM;
  if (rc == SQLITE_OK) {
    builder.view->lineage = codec->lineage;
    builder.view->stamp = codec->stamp;
    builder.view->generation = codec->generation;
    builder.view->code_bytes = builder.code_bytes;
    share_with(&builder, base);
    rc = read_chunks(&builder);
  }
  if (builder.arena && builder.arena->references == 0) arena_free(builder.arena);
  if (rc == SQLITE_OK) {
    view_complete(builder.view);
    *view = builder.view;
  } else if (builder.view != NULL) {
    for (size_t i = 0; i < builder.n_headers; i++) { /* shared chunks that did not get into the view */
      if (builder.headers[i].shared) builder.view->chunks[builder.view->n_chunks++] = builder.headers[i].shared;
    }
    bsv_view_unref(cache, builder.view);
  }
  sqlite3_free(builder.headers);
  return rc;
}

/* ---- exact vectors -------------------------------------------------------------------------- */

static int read_rows(sqlite3_stmt *stmt, size_t row_bytes, const bsv_idset *changed, const bsv_view_chunk *chunk,
                     bsv_row_set **out) {
  bsv_row_set *set = sqlite3_malloc64(sizeof *set + chunk->n * row_bytes);
  size_t at = 0;
  int rc = SQLITE_OK;
  *out = set;
  if (set == NULL) return SQLITE_NOMEM;
  memset(set, 0, sizeof *set);
  set->references = 1;
  set->version = chunk->version;
  set->n = chunk->n;
  set->rows = (uint8_t *)(set + 1);
  for (uint32_t i = 0; rc == SQLITE_OK && i < chunk->n; i++) {
    at = bsv_idset_seek(changed, at, chunk->ids[i]);
    int missing = at < changed->n && changed->ids[at] == chunk->ids[i];
    if (!missing) {
      sqlite3_bind_int64(stmt, 1, chunk->ids[i]);
      rc = sqlite3_step(stmt);
      const void *row = rc == SQLITE_ROW ? sqlite3_column_blob(stmt, 0) : NULL;
      missing = row == NULL || (size_t)sqlite3_column_bytes(stmt, 0) < row_bytes;
      if (!missing) memcpy(set->rows + i * row_bytes, row, row_bytes);
      rc = rc == SQLITE_ROW || rc == SQLITE_DONE ? sqlite3_reset(stmt) : rc;
    }
    if (missing) set->missing[i / 32] |= 1u << i % 32;
  }
  return rc;
}

int bsv_view_with_rows(bsv_cache *cache, sqlite3_stmt *row, size_t row_bytes, const bsv_idset *changed, bsv_view *view,
                       bsv_view *base, bsv_view **with_rows) {
  int rc = SQLITE_OK;
  size_t b = 0;
  bsv_view *copy = view_new(view->n_chunks);
  *with_rows = NULL;
  if (copy == NULL) return SQLITE_NOMEM;
  copy->lineage = view->lineage;
  copy->stamp = view->stamp;
  copy->generation = view->generation;
  copy->code_bytes = view->code_bytes;
  copy->row_bytes = row_bytes;
  copy->row_sets = sqlite3_malloc64((view->n_chunks + 1) * sizeof *copy->row_sets);
  if (copy->row_sets == NULL) rc = SQLITE_NOMEM;
  for (size_t i = 0; rc == SQLITE_OK && i < view->n_chunks; i++) {
    copy->chunks[i] = bsv_view_share_chunk(cache, view, i);
    copy->row_sets[i] = NULL;
    copy->n_chunks = i + 1;
    if (base != NULL && base->row_sets != NULL && base->row_bytes == row_bytes) {
      while (b < base->n_chunks && base->first_ids[b] < view->first_ids[i]) b++;
      if (b < base->n_chunks && base->row_sets[b]->version == view->chunks[i]->version) {
        copy->row_sets[i] = bsv_view_share_rows(cache, base, b);
      }
    }
    if (copy->row_sets[i] == NULL) rc = read_rows(row, row_bytes, changed, view->chunks[i], &copy->row_sets[i]);
  }
  if (rc != SQLITE_OK) {
    bsv_view_unref(cache, copy);
    return rc;
  }
  view_complete(copy);
  *with_rows = copy;
  return SQLITE_OK;
}

size_t bsv_view_bytes(const bsv_view *view) {
  size_t bytes = sizeof *view + view->n_chunks * (sizeof(bsv_view_chunk) + sizeof *view->chunks + sizeof *view->first_ids);
  for (size_t i = 0; i < view->n_chunks; i++) {
    size_t n = view->chunks[i]->n;
    bytes += (n + BSV_BLOCK_ROWS - 1) / BSV_BLOCK_ROWS * bsv_block_bytes(view->code_bytes) + n * sizeof(int64_t);
    if (view->row_sets != NULL) bytes += sizeof(bsv_row_set) + n * view->row_bytes;
  }
  return bytes;
}
