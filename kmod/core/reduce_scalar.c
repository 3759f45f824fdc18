// SPDX-License-Identifier: GPL-2.0-only
/*
 * Scalar reductions of integers.  Sums and products are taken as u64 and cut,
 * which wraps without undefined overflow for signed types.  Elements may lie at
 * any address, hence the copies, which compile to plain loads and stores where
 * the machine allows it.
 */
#include "reduce_kernels.h"

#define INT_KERNEL(name, type, expr)					\
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

#define INT_KERNELS(type)						\
	INT_KERNEL(type##_sum, type, (u64)x + (u64)y)			\
	INT_KERNEL(type##_prod, type, (u64)x * (u64)y)			\
	INT_KERNEL(type##_min, type, x < y ? x : y)			\
	INT_KERNEL(type##_max, type, x > y ? x : y)

INT_KERNELS(s8)
INT_KERNELS(u8)
INT_KERNELS(s16)
INT_KERNELS(u16)
INT_KERNELS(s32)
INT_KERNELS(u32)
INT_KERNELS(s64)
INT_KERNELS(u64)

#define INT_ROW(type) {							\
	[HCOMM_OP_SUM] = type##_sum,					\
	[HCOMM_OP_PROD] = type##_prod,					\
	[HCOMM_OP_MIN] = type##_min,					\
	[HCOMM_OP_MAX] = type##_max,					\
}

const hcomm_reduce_fn
hcomm_reduce_int_scalar[HCOMM_DT_INT_COUNT][HCOMM_OP_COUNT] = {
	[HCOMM_DT_INT8] = INT_ROW(s8),
	[HCOMM_DT_UINT8] = INT_ROW(u8),
	[HCOMM_DT_INT16] = INT_ROW(s16),
	[HCOMM_DT_UINT16] = INT_ROW(u16),
	[HCOMM_DT_INT32] = INT_ROW(s32),
	[HCOMM_DT_UINT32] = INT_ROW(u32),
	[HCOMM_DT_INT64] = INT_ROW(s64),
	[HCOMM_DT_UINT64] = INT_ROW(u64),
};
