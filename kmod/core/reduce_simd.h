/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Vector units: may they be used, and the sections that use them.  Included by
 * reduce.c and reduce_scale.c only, which are compiled without them.
 */
#ifndef HCOMM_CORE_REDUCE_SIMD_H
#define HCOMM_CORE_REDUCE_SIMD_H

#include "platform.h"

#ifdef __x86_64__

#define HCOMM_HAVE_AVX2 1

#ifdef __KERNEL__

#define HCOMM_MXCSR_INEXACT	0x20

#include <asm/cpufeature.h>
#include <asm/fpu/api.h>

static inline bool hcomm_simd_avx2(void)
{
	if (!boot_cpu_has(X86_FEATURE_AVX) || !boot_cpu_has(X86_FEATURE_AVX2) ||
	    !boot_cpu_has(X86_FEATURE_F16C))
		return false;
#ifdef CONFIG_UML
	return true;
#else
	return cpu_has_xfeatures(XFEATURE_MASK_SSE | XFEATURE_MASK_YMM, NULL);
#endif
}

/*
 * Starts with all exceptions masked, rounding to nearest, denormals kept.
 *
 * The flag that a result was inexact is set, as it soon is in each process that
 * computes, and clear in a fresh section.  Nothing reads it here.  But emulators
 * need not find out whether a result was exact once it is set, and then add two
 * to three times as fast.
 */
static inline bool hcomm_simd_begin(void)
{
#ifndef CONFIG_UML
	static const u32 mxcsr = MXCSR_DEFAULT | HCOMM_MXCSR_INEXACT;
#endif

	if (!irq_fpu_usable())
		return false;
	kernel_fpu_begin();
#ifndef CONFIG_UML
	asm volatile("ldmxcsr %0" : : "m" (mxcsr));
#endif
	return true;
}

static inline void hcomm_simd_end(void)
{
	kernel_fpu_end();
}

#else /* !__KERNEL__ */

#include <cpuid.h>

/* Not every compiler's __builtin_cpu_supports() knows F16C. */
static inline bool hcomm_simd_avx2(void)
{
	unsigned int a, b, c, d;

	return __builtin_cpu_supports("avx2") && __get_cpuid(1, &a, &b, &c, &d) &&
	       (c & bit_F16C);
}

static inline bool hcomm_simd_begin(void)
{
	return true;
}

static inline void hcomm_simd_end(void)
{
}

#endif /* __KERNEL__ */
#endif /* __x86_64__ */

#endif /* HCOMM_CORE_REDUCE_SIMD_H */
