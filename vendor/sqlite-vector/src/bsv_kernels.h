/*
** The kernel table: the inner loops over vectors, one const table per instruction set.
**
** Kernels know bytes and numbers only: no SQLite, no allocation, no errors. Pointers to stored
** vectors have any alignment, and exactly the stated bytes are read. Integer kernels return the
** same number in every table. Float kernels add up in another order per table: for n terms they
** differ from the scalar table by at most (n / 8 + 8) * 2^-24 * (sum of the terms' magnitudes).
*/
#ifndef BSV_KERNELS_H
#define BSV_KERNELS_H

#include <stddef.h>
#include <stdint.h>

#include "bsv_coarse.h"

/*
** Largest n of the 8-bit kernels. Their int32 sums hold at most 255 * 255 * 32768 = 2130739200,
** which is below 2^31; longer vectors are cut into pieces of this length by the caller.
*/
#define BSV_INT_BLOCK 32768

/* A float query against one stored vector: query (n floats), stored bytes, n. */
typedef float (*bsv_float_kernel)(const float *query, const void *row, size_t n);
/* Two vectors of n bytes each, n <= BSV_INT_BLOCK. */
typedef int32_t (*bsv_int_kernel)(const void *a, const void *b, size_t n);

typedef struct bsv_float_kernels {
  bsv_float_kernel dot;  /* sum of q*x */
  bsv_float_kernel l2sq; /* sum of (q-x)^2 */
  bsv_float_kernel l1;   /* sum of |q-x| */
  /* Returns the sum of q*x and writes the sum of x*x. */
  float (*dot_sq)(const float *query, const void *row, size_t n, float *sq);
} bsv_float_kernels;

typedef struct bsv_int_kernels {
  bsv_int_kernel dot;
  bsv_int_kernel l2sq;
  bsv_int_kernel l1;
  /* Returns the sum of a*b and writes the sum of b*b. */
  int32_t (*dot_sq)(const void *a, const void *b, size_t n, int32_t *sq);
} bsv_int_kernels;

typedef struct bsv_kernels {
  const char *name;       /* what vector_backend() answers */
  bsv_float_kernels f32;  /* stored as IEEE single precision */
  bsv_float_kernels f16;  /* stored as IEEE half precision */
  bsv_float_kernels bf16; /* stored as the upper half of a single */
  bsv_int_kernels i8;
  bsv_int_kernels u8;
  /* Number of differing bits in n bytes. */
  uint64_t (*hamming)(const void *a, const void *b, size_t n);
  /* The integer sums are exact in every table, the estimates are within 4 units in the last place
  ** of the largest of base, h and f * S. */
  bsv_coarse_kernel coarse1; /* blocks of 1-bit codes */
  bsv_coarse_kernel coarse4; /* blocks of 4-bit codes */
  /* Sign codes of n floats, a multiple of 8, the lowest bit first (set at 0 and above); returns the sum of
  ** magnitudes. */
  float (*signs)(const float *z, size_t n, uint8_t *code);
  /* For levels c = z * inverse + 8, cut off to whole numbers in 0..15, and y = c - 7.5: returns the sum of
  ** y*z and writes the sum of y*y. n is a multiple of 8. */
  float (*levels)(const float *z, size_t n, float inverse, float *yy);
  /* Puts the 1-bit codes of 32 rows into a block; row i's code is at payloads + i * stride. */
  void (*arrange1)(const uint8_t *payloads, size_t stride, size_t code_bytes, uint8_t *block);
  /* Reads n bytes and does nearly nothing with them: the yardstick for the speed of a scan. */
  uint64_t (*read)(const void *p, size_t n);
  /* In-place Walsh-Hadamard transform of n = 2^log2n floats, not normalized. */
  void (*hadamard)(float *x, unsigned log2n);
} bsv_kernels;

extern const bsv_kernels bsv_kernels_scalar; /* the reference for every other table */
#if defined(__x86_64__) || defined(_M_X64)
extern const bsv_kernels bsv_kernels_avx2;
extern const bsv_kernels bsv_kernels_avx512;
#elif defined(__aarch64__) || defined(_M_ARM64)
extern const bsv_kernels bsv_kernels_neon;
#endif

/* What bsv_cpu_flags() reports; a flag means that the system saves the registers, too. */
#define BSV_CPU_AVX2 1u   /* AVX2, FMA and F16C */
#define BSV_CPU_AVX512 2u /* AVX-512 F, BW, DQ, VL, VNNI, VBMI and VPOPCNTDQ, beside the above */
#define BSV_CPU_NEON 4u   /* part of every AArch64 processor */

unsigned bsv_cpu_flags(void);
/* Pure: the best table for these flags. */
const bsv_kernels *bsv_kernels_for(unsigned cpu_flags);
/* The table of that name, or NULL when it does not exist here or `cpu_flags` cannot run it. */
const bsv_kernels *bsv_kernels_named(const char *name, unsigned cpu_flags);

#endif
