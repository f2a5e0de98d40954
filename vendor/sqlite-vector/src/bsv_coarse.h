/*
** The coarse stage's data: blocks of 32 coded rows, and what a kernel is told of a query.
**
** A row is coded after subtracting the mean of all rows and a random rotation. Its estimated
** distance to a query is
**
**     base + h - f * S,    S = the inner product of its code with the rotated query,
**
** where f and h are two factors stored with the row (bsv_rabitq.c says which), so that one kernel
** serves every metric.
**
** A block of 1-bit codes is code_bytes * 32 bytes, byte j of all rows together, then 32 factors f
** and 32 factors h in bfloat16. A row's bytes are not at its own number in a group but at
** bsv_block_position(): summing bytes in pairs parts even from odd positions, and rows 0 to 15 are
** to come out together.
**
** A block of 4-bit codes keeps each row's four bytes together: word w of all rows (128 bytes), the
** low halves of its bytes being elements 8w to 8w+3 and the high halves 8w+4 to 8w+7; then the
** factors as above.
*/
#ifndef BSV_COARSE_H
#define BSV_COARSE_H

#include <stddef.h>
#include <stdint.h>

#if defined(_MSC_VER) && !defined(__clang__)
#include <intrin.h>
#endif

#define BSV_BLOCK_ROWS 32

/* Room for the lookup tables of one byte of 1-bit code: low half, twice over, and high half. */
#define BSV_LUT_STRIDE 32

/*
** Largest entry of a table. Eight entries (four bytes of code) then add up in 8 bits without a carry,
** which saves a fifth of the kernels' instructions against entries of 127. The rounding adds 0.06 to
** the noise of S for a query of unit length; the noise of the code itself is 0.6.
*/
#define BSV_LUT_MAX 31

/* Up to this many bytes of 1-bit code the sum of all entries fits in 16 bits: 2 * 31 * 1024 < 65536. */
#define BSV_LUT_SEGMENT 1024

/*
** How far ahead of the scan the x86 kernels prefetch. Hardware prefetching stops at every page; with
** 4 KB of distance a scan of 52 MB ran at 0.99 of a plain read's speed, with 1 KB at 0.92, without at 0.87.
*/
#define BSV_PREFETCH_BYTES 4096

static inline unsigned bsv_block_position(unsigned row) { return row < 16 ? 2 * row : 2 * row - 31; }

static inline size_t bsv_block_bytes(size_t code_bytes) { return BSV_BLOCK_ROWS * (code_bytes + 4); }

/* The number of the lowest bit that is set; `word` is not 0. */
static inline unsigned bsv_lowest_bit(uint32_t word) {
#if defined(_MSC_VER) && !defined(__clang__)
  unsigned long bit;
  _BitScanForward(&bit, word);
  return (unsigned)bit;
#else
  return (unsigned)__builtin_ctz(word);
#endif
}

/* A row that passed the limit: its number (slot) and its estimated distance. */
typedef struct bsv_candidate {
  float estimate;
  uint32_t slot;
} bsv_candidate;

typedef struct bsv_coarse_query {
  size_t code_bytes; /* of a row; a multiple of 4 for 4-bit codes */
  /* S = scale * sum + bias, with the integer sum that the kernel forms */
  float scale, bias, base;
  /* 1-bit: entries of at most BSV_LUT_MAX. The table of byte j's low half is at 32 * j, given twice (16
  ** bytes each); those of the high halves follow all of the low ones. */
  const uint8_t *lut;
  /* 4-bit: the query in 8 bits, 8 elements per word of code. */
  const int8_t *weights;
} bsv_coarse_query;

/*
** Scans `n_blocks` blocks and writes the rows whose estimate is at most `limit`, in order of their
** slots; the first row of the first block has slot `first_slot`. `allowed` has a word per block,
** bit i for row i, or is NULL for all rows. `out` has room for 32 * n_blocks candidates. Returns
** how many were written. An estimate of NaN is never written.
*/
typedef size_t (*bsv_coarse_kernel)(const bsv_coarse_query *query, const uint8_t *blocks, size_t n_blocks,
                                    const uint32_t *allowed, float limit, uint32_t first_slot, bsv_candidate *out);

#endif
