// SPDX-License-Identifier: GPL-2.0-only
/* Reductions of integers, 32 bytes at a time; bit for bit what the scalar kernels compute. */
#include "reduce_vec.h"

static __always_inline struct vec v_mul8(struct vec a, struct vec b)
{
	struct vec even = v_and(v_mul16(a, b), splat16(0xff));
	struct vec odd = v_shl16_8(v_mul16(v_shr16_8(a), v_shr16_8(b)));

	return v_or(even, odd);
}

static __always_inline struct vec v_mul64(struct vec a, struct vec b)
{
	struct vec cross = v_mul32(a, v_swap_u32(b));

	cross = v_shl64_32(v_add32(cross, v_shr64_32(cross)));
	return v_add64(v_mul_u32_u64(a, b), cross);
}

static __always_inline struct vec v_gt_u64(struct vec a, struct vec b)
{
	struct vec top = splat64(1ULL << 63);

	return v_gt_s64(v_xor(a, top), v_xor(b, top));
}

static __always_inline struct vec v_min_u64(struct vec a, struct vec b)
{
	return pick(v_gt_u64(a, b), b, a);
}

static __always_inline struct vec v_max_u64(struct vec a, struct vec b)
{
	return pick(v_gt_u64(a, b), a, b);
}

/* ---------------------------------------------------------------------- logic */

/* From the masks of the elements that are zero to 1 where the result is true. */
#define LOGIC(bits)							\
static __always_inline struct vec land##bits(struct vec a, struct vec b) \
{									\
	struct vec zero = {};						\
									\
	return v_andnot(v_or(v_eq##bits(a, zero), v_eq##bits(b, zero)),	\
			splat##bits(1));				\
}									\
									\
static __always_inline struct vec lor##bits(struct vec a, struct vec b)	\
{									\
	return v_andnot(v_eq##bits(v_or(a, b), splat64(0)), splat##bits(1)); \
}									\
									\
static __always_inline struct vec lxor##bits(struct vec a, struct vec b) \
{									\
	struct vec zero = {};						\
									\
	return v_and(v_xor(v_eq##bits(a, zero), v_eq##bits(b, zero)),	\
		     splat##bits(1));					\
}

LOGIC(8)
LOGIC(16)
LOGIC(32)
LOGIC(64)

/* -------------------------------------------------------------------- kernels */

/* Integers have no NaN, and the compiler sees that this is never called. */
static __always_inline void fix_none(u8 *p, size_t len)
{
	(void)p;
	(void)len;
}

#define INT_KERNEL(name, size, expr)					\
static __always_inline struct vec op_##name(struct vec a, struct vec b,	\
					    struct vec *nan)		\
{									\
	(void)nan;							\
	return expr;							\
}									\
									\
KERNEL(name, size, fix_none)

INT_KERNEL(s8_sum, 1, v_add8(a, b))
INT_KERNEL(s8_prod, 1, v_mul8(a, b))
INT_KERNEL(s8_min, 1, v_min_s8(a, b))
INT_KERNEL(s8_max, 1, v_max_s8(a, b))
INT_KERNEL(u8_min, 1, v_min_u8(a, b))
INT_KERNEL(u8_max, 1, v_max_u8(a, b))
INT_KERNEL(s16_sum, 2, v_add16(a, b))
INT_KERNEL(s16_prod, 2, v_mul16(a, b))
INT_KERNEL(s16_min, 2, v_min_s16(a, b))
INT_KERNEL(s16_max, 2, v_max_s16(a, b))
INT_KERNEL(u16_min, 2, v_min_u16(a, b))
INT_KERNEL(u16_max, 2, v_max_u16(a, b))
INT_KERNEL(s32_sum, 4, v_add32(a, b))
INT_KERNEL(s32_prod, 4, v_mul32(a, b))
INT_KERNEL(s32_min, 4, v_min_s32(a, b))
INT_KERNEL(s32_max, 4, v_max_s32(a, b))
INT_KERNEL(u32_min, 4, v_min_u32(a, b))
INT_KERNEL(u32_max, 4, v_max_u32(a, b))
INT_KERNEL(s64_sum, 8, v_add64(a, b))
INT_KERNEL(s64_prod, 8, v_mul64(a, b))
INT_KERNEL(s64_min, 8, v_min_s64(a, b))
INT_KERNEL(s64_max, 8, v_max_s64(a, b))
INT_KERNEL(u64_min, 8, v_min_u64(a, b))
INT_KERNEL(u64_max, 8, v_max_u64(a, b))

INT_KERNEL(band8, 1, v_and(a, b))
INT_KERNEL(bor8, 1, v_or(a, b))
INT_KERNEL(bxor8, 1, v_xor(a, b))
INT_KERNEL(land8, 1, land8(a, b))
INT_KERNEL(lor8, 1, lor8(a, b))
INT_KERNEL(lxor8, 1, lxor8(a, b))
INT_KERNEL(band16, 2, v_and(a, b))
INT_KERNEL(bor16, 2, v_or(a, b))
INT_KERNEL(bxor16, 2, v_xor(a, b))
INT_KERNEL(land16, 2, land16(a, b))
INT_KERNEL(lor16, 2, lor16(a, b))
INT_KERNEL(lxor16, 2, lxor16(a, b))
INT_KERNEL(band32, 4, v_and(a, b))
INT_KERNEL(bor32, 4, v_or(a, b))
INT_KERNEL(bxor32, 4, v_xor(a, b))
INT_KERNEL(land32, 4, land32(a, b))
INT_KERNEL(lor32, 4, lor32(a, b))
INT_KERNEL(lxor32, 4, lxor32(a, b))
INT_KERNEL(band64, 8, v_and(a, b))
INT_KERNEL(bor64, 8, v_or(a, b))
INT_KERNEL(bxor64, 8, v_xor(a, b))
INT_KERNEL(land64, 8, land64(a, b))
INT_KERNEL(lor64, 8, lor64(a, b))
INT_KERNEL(lxor64, 8, lxor64(a, b))

/* Sums and products of unsigned integers are those of signed ones. */
#define INT_ROW(arith, order, bits) {					\
	[HCOMM_OP_SUM] = reduce_##arith##_sum,				\
	[HCOMM_OP_PROD] = reduce_##arith##_prod,			\
	[HCOMM_OP_MIN] = reduce_##order##_min,				\
	[HCOMM_OP_MAX] = reduce_##order##_max,				\
	[HCOMM_OP_BAND] = reduce_band##bits,				\
	[HCOMM_OP_BOR] = reduce_bor##bits,				\
	[HCOMM_OP_BXOR] = reduce_bxor##bits,				\
	[HCOMM_OP_LAND] = reduce_land##bits,				\
	[HCOMM_OP_LOR] = reduce_lor##bits,				\
	[HCOMM_OP_LXOR] = reduce_lxor##bits,				\
}

const hcomm_reduce_fn
hcomm_reduce_int_avx2[HCOMM_DT_INT_COUNT][HCOMM_OP_COUNT] = {
	[HCOMM_DT_INT8] = INT_ROW(s8, s8, 8),
	[HCOMM_DT_UINT8] = INT_ROW(s8, u8, 8),
	[HCOMM_DT_INT16] = INT_ROW(s16, s16, 16),
	[HCOMM_DT_UINT16] = INT_ROW(s16, u16, 16),
	[HCOMM_DT_INT32] = INT_ROW(s32, s32, 32),
	[HCOMM_DT_UINT32] = INT_ROW(s32, u32, 32),
	[HCOMM_DT_INT64] = INT_ROW(s64, s64, 64),
	[HCOMM_DT_UINT64] = INT_ROW(s64, u64, 64),
};
