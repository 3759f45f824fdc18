// SPDX-License-Identifier: GPL-2.0-only
/*
 * Scalar reductions and divisions of integers.  Sums and products are those of
 * unsigned integers, taken as u64 and cut, so that no signed type overflows.
 */
#include "reduce_loop.h"

SCALAR_KERNEL(u8_sum, u8, (u64)x + (u64)y)
SCALAR_KERNEL(u8_prod, u8, (u64)x * (u64)y)
SCALAR_KERNEL(u16_sum, u16, (u64)x + (u64)y)
SCALAR_KERNEL(u16_prod, u16, (u64)x * (u64)y)
SCALAR_KERNEL(u32_sum, u32, (u64)x + (u64)y)
SCALAR_KERNEL(u32_prod, u32, (u64)x * (u64)y)
SCALAR_KERNEL(u64_sum, u64, (u64)x + (u64)y)
SCALAR_KERNEL(u64_prod, u64, (u64)x * (u64)y)
SCALAR_KERNEL(s8_min, s8, x < y ? x : y)
SCALAR_KERNEL(s8_max, s8, x > y ? x : y)
SCALAR_KERNEL(u8_min, u8, x < y ? x : y)
SCALAR_KERNEL(u8_max, u8, x > y ? x : y)
SCALAR_KERNEL(s16_min, s16, x < y ? x : y)
SCALAR_KERNEL(s16_max, s16, x > y ? x : y)
SCALAR_KERNEL(u16_min, u16, x < y ? x : y)
SCALAR_KERNEL(u16_max, u16, x > y ? x : y)
SCALAR_KERNEL(s32_min, s32, x < y ? x : y)
SCALAR_KERNEL(s32_max, s32, x > y ? x : y)
SCALAR_KERNEL(u32_min, u32, x < y ? x : y)
SCALAR_KERNEL(u32_max, u32, x > y ? x : y)
SCALAR_KERNEL(s64_min, s64, x < y ? x : y)
SCALAR_KERNEL(s64_max, s64, x > y ? x : y)
SCALAR_KERNEL(u64_min, u64, x < y ? x : y)
SCALAR_KERNEL(u64_max, u64, x > y ? x : y)

/* Bits have no sign. */
SCALAR_KERNEL(u8_band, u8, x & y)
SCALAR_KERNEL(u8_bor, u8, x | y)
SCALAR_KERNEL(u8_bxor, u8, x ^ y)
SCALAR_KERNEL(u8_land, u8, x && y)
SCALAR_KERNEL(u8_lor, u8, x || y)
SCALAR_KERNEL(u8_lxor, u8, !x != !y)
SCALAR_KERNEL(u16_band, u16, x & y)
SCALAR_KERNEL(u16_bor, u16, x | y)
SCALAR_KERNEL(u16_bxor, u16, x ^ y)
SCALAR_KERNEL(u16_land, u16, x && y)
SCALAR_KERNEL(u16_lor, u16, x || y)
SCALAR_KERNEL(u16_lxor, u16, !x != !y)
SCALAR_KERNEL(u32_band, u32, x & y)
SCALAR_KERNEL(u32_bor, u32, x | y)
SCALAR_KERNEL(u32_bxor, u32, x ^ y)
SCALAR_KERNEL(u32_land, u32, x && y)
SCALAR_KERNEL(u32_lor, u32, x || y)
SCALAR_KERNEL(u32_lxor, u32, !x != !y)
SCALAR_KERNEL(u64_band, u64, x & y)
SCALAR_KERNEL(u64_bor, u64, x | y)
SCALAR_KERNEL(u64_bxor, u64, x ^ y)
SCALAR_KERNEL(u64_land, u64, x && y)
SCALAR_KERNEL(u64_lor, u64, x || y)
SCALAR_KERNEL(u64_lxor, u64, !x != !y)

#define INT_ROW(arith, order) {						\
	[HCOMM_OP_SUM] = arith##_sum,					\
	[HCOMM_OP_PROD] = arith##_prod,					\
	[HCOMM_OP_MIN] = order##_min,					\
	[HCOMM_OP_MAX] = order##_max,					\
	[HCOMM_OP_BAND] = arith##_band,					\
	[HCOMM_OP_BOR] = arith##_bor,					\
	[HCOMM_OP_BXOR] = arith##_bxor,					\
	[HCOMM_OP_LAND] = arith##_land,					\
	[HCOMM_OP_LOR] = arith##_lor,					\
	[HCOMM_OP_LXOR] = arith##_lxor,					\
}

const hcomm_reduce_fn
hcomm_reduce_int_scalar[HCOMM_DT_INT_COUNT][HCOMM_OP_COUNT] = {
	[HCOMM_DT_INT8] = INT_ROW(u8, s8),
	[HCOMM_DT_UINT8] = INT_ROW(u8, u8),
	[HCOMM_DT_INT16] = INT_ROW(u16, s16),
	[HCOMM_DT_UINT16] = INT_ROW(u16, u16),
	[HCOMM_DT_INT32] = INT_ROW(u32, s32),
	[HCOMM_DT_UINT32] = INT_ROW(u32, u32),
	[HCOMM_DT_INT64] = INT_ROW(u64, s64),
	[HCOMM_DT_UINT64] = INT_ROW(u64, u64),
};

/*
 * Divisions round toward zero.  The divisor is positive, so that nothing
 * overflows, and may be larger than what the type holds.
 */

/* The smallest number has no negative, but as an unsigned one it is right. */
static __always_inline u32 quotient32(s32 x, u32 div)
{
	return x < 0 ? -(-(u32)x / div) : (u32)x / div;
}

static __always_inline u64 quotient64(s64 x, u32 div)
{
	return x < 0 ? -div_u64(-(u64)x, div) : div_u64((u64)x, div);
}

SCALAR_DIV_KERNEL(s8_div, s8, quotient32(x, div))
SCALAR_DIV_KERNEL(u8_div, u8, x / div)
SCALAR_DIV_KERNEL(s16_div, s16, quotient32(x, div))
SCALAR_DIV_KERNEL(u16_div, u16, x / div)
SCALAR_DIV_KERNEL(s32_div, s32, quotient32(x, div))
SCALAR_DIV_KERNEL(u32_div, u32, x / div)
SCALAR_DIV_KERNEL(s64_div, s64, quotient64(x, div))
SCALAR_DIV_KERNEL(u64_div, u64, div_u64(x, div))

const hcomm_div_fn hcomm_div_int_scalar[HCOMM_DT_INT_COUNT] = {
	[HCOMM_DT_INT8] = s8_div,
	[HCOMM_DT_UINT8] = u8_div,
	[HCOMM_DT_INT16] = s16_div,
	[HCOMM_DT_UINT16] = u16_div,
	[HCOMM_DT_INT32] = s32_div,
	[HCOMM_DT_UINT32] = u32_div,
	[HCOMM_DT_INT64] = s64_div,
	[HCOMM_DT_UINT64] = u64_div,
};
