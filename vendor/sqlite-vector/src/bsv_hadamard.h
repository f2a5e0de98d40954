/*
** The Walsh-Hadamard transform in plain C. Each kernel file includes it and so compiles it for its
** own instruction set: the compiler turns the inner loop into vector instructions.
*/
#ifndef BSV_HADAMARD_H
#define BSV_HADAMARD_H

#include <stddef.h>

static void bsv_hadamard(float *x, unsigned log2n) {
  size_t n = (size_t)1 << log2n, width = 1;
  if (log2n >= 3) { /* the three narrowest stages at once, within eight neighbours */
    for (float *p = x; p < x + n; p += 8) {
      float a0 = p[0] + p[1], a1 = p[0] - p[1], a2 = p[2] + p[3], a3 = p[2] - p[3];
      float a4 = p[4] + p[5], a5 = p[4] - p[5], a6 = p[6] + p[7], a7 = p[6] - p[7];
      float b0 = a0 + a2, b1 = a1 + a3, b2 = a0 - a2, b3 = a1 - a3;
      float b4 = a4 + a6, b5 = a5 + a7, b6 = a4 - a6, b7 = a5 - a7;
      p[0] = b0 + b4, p[1] = b1 + b5, p[2] = b2 + b6, p[3] = b3 + b7;
      p[4] = b0 - b4, p[5] = b1 - b5, p[6] = b2 - b6, p[7] = b3 - b7;
    }
    width = 8;
  }
  for (; width < n; width *= 2) {
    for (size_t start = 0; start < n; start += 2 * width) {
      float *low = x + start, *high = x + start + width;
      for (size_t i = 0; i < width; i++) {
        float a = low[i], b = high[i];
        low[i] = a + b;
        high[i] = a - b;
      }
    }
  }
}

#endif
