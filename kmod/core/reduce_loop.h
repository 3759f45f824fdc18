/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The loops of scalar kernels, of integers and of floating point alike.  Elements
 * may lie at any address, hence the copies, which compile to plain loads and
 * stores where the machine allows it.
 */
#ifndef HCOMM_CORE_REDUCE_LOOP_H
#define HCOMM_CORE_REDUCE_LOOP_H

#include "reduce_kernels.h"

/* dst[i] = expr of x = a[i] and y = b[i]; a hcomm_reduce_fn. */
#define SCALAR_KERNEL(name, type, expr)					\
static void name(void *dst, const void *a, const void *b, size_t n)	\
{									\
	const u8 *pa = a, *pb = b;					\
	u8 *pd = dst;							\
	size_t i;							\
									\
	for (i = 0; i < n * sizeof(type); i += sizeof(type)) {		\
		type x, y, r;						\
									\
		__builtin_memcpy(&x, pa + i, sizeof(x));		\
		__builtin_memcpy(&y, pb + i, sizeof(y));		\
		r = (type)(expr);					\
		__builtin_memcpy(pd + i, &r, sizeof(r));		\
	}								\
}

/* dst[i] = expr of x = src[i] and div; a hcomm_div_fn. */
#define SCALAR_DIV_KERNEL(name, type, expr)				\
static void name(void *dst, const void *src, u32 div, size_t n)		\
{									\
	const u8 *ps = src;						\
	u8 *pd = dst;							\
	size_t i;							\
									\
	for (i = 0; i < n * sizeof(type); i += sizeof(type)) {		\
		type x;							\
									\
		__builtin_memcpy(&x, ps + i, sizeof(x));		\
		x = (type)(expr);					\
		__builtin_memcpy(pd + i, &x, sizeof(x));		\
	}								\
}

#endif /* HCOMM_CORE_REDUCE_LOOP_H */
