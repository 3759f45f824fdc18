/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reductions of contiguous arrays: dst[i] = a[i] (op) b[i].  The result has the
 * same bits whether the vector or the scalar path computed it, and whichever
 * operand comes first (see enum hcomm_redop for the rules).
 */
#ifndef HCOMM_CORE_REDUCE_H
#define HCOMM_CORE_REDUCE_H

#include "platform.h"

/* One kernel: n elements; dst may be a or b; no alignment is assumed. */
typedef void (*hcomm_reduce_fn)(void *dst, const void *a, const void *b, size_t n);

/**
 * hcomm_dtype_size - element size
 * @dtype: enum hcomm_dtype
 *
 * Return: bytes, 0 for an unknown type.
 */
u32 hcomm_dtype_size(u32 dtype);

/*
 * Ways to compute: scalar code always; with vector units 32 bytes at a time, or
 * but 16 where floating point is added or multiplied in its own precision.
 */
#define HCOMM_REDUCE_SCALAR	0
#define HCOMM_REDUCE_HALF	1
#define HCOMM_REDUCE_WHOLE	2
#define HCOMM_REDUCE_ANY	(HCOMM_REDUCE_HALF | HCOMM_REDUCE_WHOLE)

/**
 * hcomm_reduce_init - pick the fastest kernels that this CPU can run
 * @ways: HCOMM_REDUCE_*: those to choose from (tests compare them)
 *
 * Measures where there is a choice, in less than a millisecond.
 */
void hcomm_reduce_init(u32 ways);

/**
 * hcomm_reduce_simd - does the picked set use vector units?
 *
 * Return: true if so.
 */
bool hcomm_reduce_simd(void);

/**
 * hcomm_reduce - reduce two arrays
 * @dtype: valid enum hcomm_dtype
 * @redop: valid enum hcomm_redop
 * @dst: result; may be @a or @b, else overlaps neither
 * @a: left operand
 * @b: right operand
 * @n: elements
 *
 * Process context; enters and leaves vector-unit sections of bounded length.
 */
void hcomm_reduce(u32 dtype, u32 redop, void *dst, const void *a, const void *b,
		  size_t n);

/**
 * hcomm_scale - multiply or divide all elements of an array
 * @dtype: valid enum hcomm_dtype
 * @scale: valid enum hcomm_scale
 * @operand: valid for both
 * @dst: result; may be @src, else does not overlap
 * @src: array
 * @n: elements
 *
 * Process context; enters and leaves vector-unit sections of bounded length.
 */
void hcomm_scale(u32 dtype, u32 scale, u64 operand, void *dst, const void *src,
		 size_t n);

#endif /* HCOMM_CORE_REDUCE_H */
