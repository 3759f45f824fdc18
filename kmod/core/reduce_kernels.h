/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The tables of reduction kernels, private to reduce*.c and their tests.
 *
 * Scalar kernels use integer instructions only, floating point included: they
 * run in any context on any architecture and depend on no rounding mode that a
 * process may have left behind.  AVX2 kernels run between hcomm_simd_begin()
 * and hcomm_simd_end().
 */
#ifndef HCOMM_CORE_REDUCE_KERNELS_H
#define HCOMM_CORE_REDUCE_KERNELS_H

#include "reduce.h"

#define HCOMM_DT_INT_COUNT	HCOMM_DT_FP16
#define HCOMM_DT_FP_COUNT	(HCOMM_DT_COUNT - HCOMM_DT_FP16)
#define HCOMM_OP_FP_COUNT	HCOMM_OP_BAND

/* Integers, by dtype. */
extern const hcomm_reduce_fn
hcomm_reduce_int_scalar[HCOMM_DT_INT_COUNT][HCOMM_OP_COUNT];

/* Floating point, by dtype - HCOMM_DT_FP16. */
extern const hcomm_reduce_fn
hcomm_reduce_fp_scalar[HCOMM_DT_FP_COUNT][HCOMM_OP_FP_COUNT];

/* The same with vector units, on x86-64 only. */
extern const hcomm_reduce_fn
hcomm_reduce_int_avx2[HCOMM_DT_INT_COUNT][HCOMM_OP_COUNT];
extern const hcomm_reduce_fn
hcomm_reduce_fp_avx2[HCOMM_DT_FP_COUNT][HCOMM_OP_FP_COUNT];

/* The last table by halves of vectors; NULL where there is none. */
extern const hcomm_reduce_fn
hcomm_reduce_fp_half[HCOMM_DT_FP_COUNT][HCOMM_OP_FP_COUNT];

/* dst[i] = src[i] / div; div is from 1 to HCOMM_MAX_RANKS; dst may be src. */
typedef void (*hcomm_div_fn)(void *dst, const void *src, u32 div, size_t n);

/* Integers, by dtype. */
extern const hcomm_div_fn hcomm_div_int_scalar[HCOMM_DT_INT_COUNT];

/* Floating point, by dtype - HCOMM_DT_FP16. */
extern const hcomm_div_fn hcomm_div_fp_scalar[HCOMM_DT_FP_COUNT];

/* By dtype; NULL where there is none; on x86-64 only. */
extern const hcomm_div_fn hcomm_div_avx2[HCOMM_DT_COUNT];

#endif /* HCOMM_CORE_REDUCE_KERNELS_H */
