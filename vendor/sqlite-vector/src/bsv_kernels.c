/* Which kernel table runs: CPU detection and the choice. The loops are in bsv_kernels_*.c. */
#include "bsv_kernels.h"

#include <string.h>

#if defined(__x86_64__) || defined(_M_X64)
#define BSV_X86 1
#if defined(_MSC_VER) && !defined(__clang__)
#include <intrin.h>
#else
#include <cpuid.h>
#endif
#endif

#ifdef BSV_X86

typedef struct cpuid_regs {
  uint32_t a, b, c, d;
} cpuid_regs;

static cpuid_regs cpuid(uint32_t leaf, uint32_t subleaf) {
  cpuid_regs r = {0, 0, 0, 0};
#if defined(_MSC_VER) && !defined(__clang__)
  int out[4];
  __cpuidex(out, (int)leaf, (int)subleaf);
  r.a = (uint32_t)out[0];
  r.b = (uint32_t)out[1];
  r.c = (uint32_t)out[2];
  r.d = (uint32_t)out[3];
#else
  __cpuid_count(leaf, subleaf, r.a, r.b, r.c, r.d);
#endif
  return r;
}

/* Which register files the operating system saves on a context switch (XCR0). */
static uint64_t saved_registers(void) {
#if defined(_MSC_VER) && !defined(__clang__)
  return _xgetbv(0);
#else
  uint32_t low, high;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (uint64_t)high << 32 | low;
#endif
}

unsigned bsv_cpu_flags(void) {
  unsigned flags = 0;
  if (cpuid(0, 0).a < 7) return 0;
  cpuid_regs one = cpuid(1, 0);
  cpuid_regs seven = cpuid(7, 0);
  if (!(one.c >> 27 & 1)) return 0; /* no OSXSAVE: XCR0 cannot be read */
  uint64_t saved = saved_registers();
  int fma = one.c >> 12 & 1, f16c = one.c >> 29 & 1, avx2 = seven.b >> 5 & 1;
  if ((saved & 0x6) == 0x6 && fma && f16c && avx2) flags |= BSV_CPU_AVX2;
  uint32_t foundation = 1u << 16 | 1u << 17 | 1u << 30 | 1u << 31; /* F, DQ, BW, VL */
  uint32_t additions = 1u << 1 | 1u << 11 | 1u << 14;              /* VBMI, VNNI, VPOPCNTDQ */
  if (flags && (saved & 0xe6) == 0xe6 && (seven.b & foundation) == foundation && (seven.c & additions) == additions) {
    flags |= BSV_CPU_AVX512;
  }
  return flags;
}

#elif defined(__aarch64__) || defined(_M_ARM64)

unsigned bsv_cpu_flags(void) { return BSV_CPU_NEON; }

#else

unsigned bsv_cpu_flags(void) { return 0; }

#endif

/* The tables of this architecture, the best first, each with the flag that it needs. */
static const struct {
  const bsv_kernels *kernels;
  unsigned needs;
} tables[] = {
#ifdef BSV_X86
    {&bsv_kernels_avx512, BSV_CPU_AVX512},
    {&bsv_kernels_avx2, BSV_CPU_AVX2},
#elif defined(__aarch64__) || defined(_M_ARM64)
    {&bsv_kernels_neon, BSV_CPU_NEON},
#endif
    {&bsv_kernels_scalar, 0},
};

#define N_TABLES (sizeof tables / sizeof tables[0])

const bsv_kernels *bsv_kernels_for(unsigned cpu_flags) {
  size_t i = 0;
  while (i + 1 < N_TABLES && (tables[i].needs & cpu_flags) != tables[i].needs) i++;
  return tables[i].kernels;
}

const bsv_kernels *bsv_kernels_named(const char *name, unsigned cpu_flags) {
  for (size_t i = 0; i < N_TABLES; i++) {
    if (strcmp(name, tables[i].kernels->name) != 0) continue;
    return (tables[i].needs & cpu_flags) == tables[i].needs ? tables[i].kernels : NULL;
  }
  return NULL;
}
