/*
** Turning 32 rows of 1-bit code into a block (bsv_coarse.h), with 16-byte registers. Each kernel file
** that has them includes this after defining
**
**     BSV_V16                 a register of 16 bytes
**     BSV_LOAD16(p), BSV_STORE16(p, v)
**     BSV_ZIP_LOW(a, b), BSV_ZIP_HIGH(a, b)   bytes of a and b in turn, of their first or last halves
**
** Four rounds of zipping register i with register i + 8 turn 16 rows of 16 bytes into their columns; a
** fifth one puts rows 16 to 31 between rows 0 to 15, where bsv_block_position() wants them.
*/
#ifndef BSV_ARRANGE_H
#define BSV_ARRANGE_H

#include <stddef.h>
#include <stdint.h>

#include "bsv_coarse.h"

static inline void bsv_columns16(const uint8_t *rows, size_t stride, BSV_V16 *columns) {
  BSV_V16 a[16], b[16];
  for (int i = 0; i < 16; i++) a[i] = BSV_LOAD16(rows + (size_t)i * stride);
  for (int round = 0; round < 2; round++) {
    for (int i = 0; i < 8; i++) {
      b[2 * i] = BSV_ZIP_LOW(a[i], a[i + 8]);
      b[2 * i + 1] = BSV_ZIP_HIGH(a[i], a[i + 8]);
    }
    for (int i = 0; i < 8; i++) {
      a[2 * i] = BSV_ZIP_LOW(b[i], b[i + 8]);
      a[2 * i + 1] = BSV_ZIP_HIGH(b[i], b[i + 8]);
    }
  }
  for (int i = 0; i < 16; i++) columns[i] = a[i];
}

static void bsv_arrange32(const uint8_t *payloads, size_t stride, size_t code_bytes, uint8_t *block) {
  size_t j = 0;
  for (; j + 16 <= code_bytes; j += 16) {
    BSV_V16 low[16], high[16];
    bsv_columns16(payloads + j, stride, low);
    bsv_columns16(payloads + 16 * stride + j, stride, high);
    for (size_t c = 0; c < 16; c++) {
      BSV_STORE16(block + BSV_BLOCK_ROWS * (j + c), BSV_ZIP_LOW(low[c], high[c]));
      BSV_STORE16(block + BSV_BLOCK_ROWS * (j + c) + 16, BSV_ZIP_HIGH(low[c], high[c]));
    }
  }
  for (; j < code_bytes; j++) {
    for (unsigned i = 0; i < BSV_BLOCK_ROWS; i++) block[BSV_BLOCK_ROWS * j + bsv_block_position(i)] = payloads[i * stride + j];
  }
}

#endif
