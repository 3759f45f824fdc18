// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reductions and divisions of floating point, 32 bytes at a time; bit for bit what
 * the scalar kernels compute.
 *
 * Floating point instructions are used for sums, products and quotients alone.
 * Order, NaNs and signed zeros are dealt with in the integer domain, which is as
 * fast on hardware and much faster in emulators.  x86 lets a NaN through with its
 * sign and payload; the kernels note that they saw one and then go once more
 * over the result to make all NaNs the canonical one.
 */
#include "reduce_vec.h"

#define E4M3_NAN	0x7f
#define E5M2_INF	0x7c
#define E5M2_NAN	0x7e
#define FP16_INF	0x7c00
#define BF16_INF	0x7f80

/* Masks of the lanes that hold a NaN. */
static __always_inline struct vec nan_e4m3(struct vec x)
{
	return v_eq8(v_and(x, splat8(0x7f)), splat8(E4M3_NAN));
}

static __always_inline struct vec nan_e5m2(struct vec x)
{
	return v_gt_s8(v_and(x, splat8(0x7f)), splat8(E5M2_INF));
}

static __always_inline struct vec nan_fp16(struct vec x)
{
	return v_gt_s16(v_and(x, splat16(0x7fff)), splat16(FP16_INF));
}

static __always_inline struct vec nan_bf16(struct vec x)
{
	return v_gt_s16(v_and(x, splat16(0x7fff)), splat16(BF16_INF));
}

static __always_inline struct vec nan_fp32(struct vec x)
{
	return v_gt_s32(v_and(x, splat32(0x7fffffff)), splat32(0x7f800000));
}

static __always_inline struct vec nan_fp64(struct vec x)
{
	return v_gt_s64(v_and(x, splat64(~0ULL >> 1)), splat64(0x7ffULL << 52));
}

/*
 * Between the order of numbers, -0 below +0, and the order of signed integers:
 * negative numbers have all bits but the sign flipped.  Its own inverse.
 */
static __always_inline struct vec key8(struct vec x)
{
	return v_xor(x, v_and(v_gt_s8(splat64(0), x), splat8(0x7f)));
}

static __always_inline struct vec key16(struct vec x)
{
	return v_xor(x, v_shr16_1(v_sar16_15(x)));
}

static __always_inline struct vec key32(struct vec x)
{
	return v_xor(x, v_shr32_1(v_sar32_31(x)));
}

static __always_inline struct vec key64(struct vec x)
{
	return v_xor(x, v_shr64_1(v_gt_s64(splat64(0), x)));
}

/*
 * To the upper 16 bits, rounded to nearest even.  A NaN here is a quiet one
 * whose lower half is zero, so that it stays a NaN.
 */
static __always_inline struct vec round_bf16(struct vec x)
{
	struct vec lsb = v_and(v_shr32_16(x), splat32(1));

	return v_add32(x, v_add32(lsb, splat32(0x7fff)));
}

/*
 * Arithmetic of the 16 bit types, in fp32.  For fp16 the halves of a vector are
 * taken apart, for bf16 the even and the odd elements.
 */
#define ARITH16(op)							\
static __always_inline struct vec fp16_##op(struct vec a, struct vec b)	\
{									\
	struct vec low = v_##op(v_widen_fp16(a), v_widen_fp16(b));	\
	struct vec high = v_##op(v_widen_fp16(v_high128(a)),		\
				 v_widen_fp16(v_high128(b)));		\
									\
	return v_join128(v_narrow_fp16(low), v_narrow_fp16(high));	\
}									\
									\
static __always_inline struct vec bf16_##op(struct vec a, struct vec b)	\
{									\
	struct vec upper = splat32(0xffff0000);				\
	struct vec even = v_##op(v_shl32_16(a), v_shl32_16(b));		\
	struct vec odd = v_##op(v_and(a, upper), v_and(b, upper));	\
									\
	return v_odd_u16(v_shr32_16(round_bf16(even)), round_bf16(odd)); \
}

ARITH16(add_fp32)
ARITH16(mul_fp32)

/*
 * The 8 bit types in fp32, a quarter of a vector at a time, whose elements come
 * as 32 bit integers.  Exponent and fraction moved to their place make a number
 * that only the bias keeps from the right one: a multiplication by a power of
 * two mends that, of denormals too.  On the way back the same makes fp32 place
 * the denormals of the small type, exactly since sums and products of these
 * types are multiples of 2^-32 at least; rounding is left to integers.
 */
static __always_inline struct vec e4m3_to_fp32(struct vec x)
{
	struct vec a = v_and(x, splat32(0x7f));
	struct vec r = v_mul_fp32(v_shl32_20(a), splat32((127 + 120) << 23));

	r = v_or(r, v_shl32_24(v_and(x, splat32(0x80))));
	return v_or(r, v_eq32(a, splat32(E4M3_NAN)));
}

static __always_inline struct vec e4m3_from_fp32(struct vec x)
{
	struct vec a = v_and(x, splat32(0x7fffffff));

	a = v_mul_fp32(a, splat32((127 - 120) << 23));
	a = v_add32(a, v_add32(v_and(v_shr32_20(a), splat32(1)), splat32(0x7ffff)));
	a = v_min_u32(v_shr32_20(a), splat32(E4M3_NAN));
	return v_or(a, v_and(v_shr32_24(x), splat32(0x80)));
}

static __always_inline struct vec e5m2_to_fp32(struct vec x)
{
	struct vec a = v_and(x, splat32(0x7f));
	struct vec r = v_mul_fp32(v_shl32_21(a), splat32((127 + 112) << 23));

	r = v_or(r, v_shl32_24(v_and(x, splat32(0x80))));
	return v_or(r, v_and(v_gt_s32(a, splat32(E5M2_INF - 1)), splat32(0xff << 23)));
}

static __always_inline struct vec e5m2_from_fp32(struct vec x)
{
	struct vec nan = nan_fp32(x), a = v_and(x, splat32(0x7fffffff));

	a = v_mul_fp32(a, splat32((127 - 112) << 23));
	a = v_add32(a, v_add32(v_and(v_shr32_21(a), splat32(1)), splat32(0xfffff)));
	a = v_min_u32(v_shr32_21(a), splat32(E5M2_INF));
	a = pick(nan, splat32(E5M2_NAN), a);
	return v_or(a, v_and(v_shr32_24(x), splat32(0x80)));
}

/* Eight 32 bit integers of each, in order, to bytes. */
static __always_inline struct vec join_u8(struct vec a, struct vec b, struct vec c,
					  struct vec d)
{
	static const u32 order[] = { 0, 4, 1, 5, 2, 6, 3, 7 };
	struct vec halves = v_pack_u16_u8(v_pack_u32_u16(a, b), v_pack_u32_u16(c, d));

	return v_permute_u32(load((const u8 *)order), halves);
}

#define ARITH8(type, op)						\
static __always_inline struct vec type##_##op(struct vec a, struct vec b) \
{									\
	struct vec ah = v_high128(a), bh = v_high128(b), q[4];		\
									\
	q[0] = v_##op(type##_to_fp32(v_widen_u8(a)),			\
		      type##_to_fp32(v_widen_u8(b)));			\
	q[1] = v_##op(type##_to_fp32(v_widen_u8(v_shr128_64(a))),	\
		      type##_to_fp32(v_widen_u8(v_shr128_64(b))));	\
	q[2] = v_##op(type##_to_fp32(v_widen_u8(ah)),			\
		      type##_to_fp32(v_widen_u8(bh)));			\
	q[3] = v_##op(type##_to_fp32(v_widen_u8(v_shr128_64(ah))),	\
		      type##_to_fp32(v_widen_u8(v_shr128_64(bh))));	\
	return join_u8(type##_from_fp32(q[0]), type##_from_fp32(q[1]),	\
		       type##_from_fp32(q[2]), type##_from_fp32(q[3])); \
}

ARITH8(e4m3, add_fp32)
ARITH8(e4m3, mul_fp32)
ARITH8(e5m2, add_fp32)
ARITH8(e5m2, mul_fp32)

/* Make every NaN of a result the canonical one. */
#define FIX(type, canonical)						\
static __always_inline struct vec canon_##type(struct vec r)		\
{									\
	return pick(nan_##type(r), canonical, r);			\
}									\
									\
static void fix_##type(u8 *p, size_t len)				\
{									\
	size_t i;							\
									\
	for (i = 0; i + VEC_SIZE <= len; i += VEC_SIZE)			\
		store(p + i, canon_##type(load(p + i)));		\
	if (i < len)							\
		store_part(p + i, canon_##type(load_part(p + i, len - i)), \
			   len - i);					\
}

FIX(e4m3, splat8(E4M3_NAN))
FIX(e5m2, splat8(E5M2_NAN))
FIX(fp16, splat16(0x7e00))
FIX(bf16, splat16(0x7fc0))
FIX(fp32, splat32(0x7fc00000))
FIX(fp64, splat64(0x7ff8ULL << 48))

/* -------------------------------------------------------------------- kernels */

/* A sum or product is a NaN where one of the operands is one. */
#define FP_ARITH_KERNEL(name, type, size, expr)				\
static __always_inline struct vec op_##name(struct vec a, struct vec b,	\
					    struct vec *nan)		\
{									\
	struct vec r = expr;						\
									\
	*nan = v_or(*nan, nan_##type(r));				\
	return r;							\
}									\
									\
KERNEL(name, size, fix_##type)

/* A minimum or maximum has to be made one: all bits set. */
#define FP_ORDER_KERNEL(name, type, size, expr)				\
static __always_inline struct vec op_##name(struct vec a, struct vec b,	\
					    struct vec *nan)		\
{									\
	struct vec m = v_or(nan_##type(a), nan_##type(b));		\
									\
	*nan = v_or(*nan, m);						\
	return v_or(expr, m);						\
}									\
									\
KERNEL(name, size, fix_##type)

FP_ARITH_KERNEL(fp16_sum, fp16, 2, fp16_add_fp32(a, b))
FP_ARITH_KERNEL(fp16_prod, fp16, 2, fp16_mul_fp32(a, b))
FP_ORDER_KERNEL(fp16_min, fp16, 2, key16(v_min_s16(key16(a), key16(b))))
FP_ORDER_KERNEL(fp16_max, fp16, 2, key16(v_max_s16(key16(a), key16(b))))
FP_ARITH_KERNEL(bf16_sum, bf16, 2, bf16_add_fp32(a, b))
FP_ARITH_KERNEL(bf16_prod, bf16, 2, bf16_mul_fp32(a, b))
FP_ORDER_KERNEL(bf16_min, bf16, 2, key16(v_min_s16(key16(a), key16(b))))
FP_ORDER_KERNEL(bf16_max, bf16, 2, key16(v_max_s16(key16(a), key16(b))))
FP_ARITH_KERNEL(fp32_sum, fp32, 4, v_add_fp32(a, b))
FP_ARITH_KERNEL(fp32_prod, fp32, 4, v_mul_fp32(a, b))
FP_ORDER_KERNEL(fp32_min, fp32, 4, key32(v_min_s32(key32(a), key32(b))))
FP_ORDER_KERNEL(fp32_max, fp32, 4, key32(v_max_s32(key32(a), key32(b))))
FP_ARITH_KERNEL(fp64_sum, fp64, 8, v_add_fp64(a, b))
FP_ARITH_KERNEL(fp64_prod, fp64, 8, v_mul_fp64(a, b))
FP_ORDER_KERNEL(fp64_min, fp64, 8, key64(v_min_s64(key64(a), key64(b))))
FP_ORDER_KERNEL(fp64_max, fp64, 8, key64(v_max_s64(key64(a), key64(b))))

FP_ARITH_KERNEL(e4m3_sum, e4m3, 1, e4m3_add_fp32(a, b))
FP_ARITH_KERNEL(e4m3_prod, e4m3, 1, e4m3_mul_fp32(a, b))
FP_ORDER_KERNEL(e4m3_min, e4m3, 1, key8(v_min_s8(key8(a), key8(b))))
FP_ORDER_KERNEL(e4m3_max, e4m3, 1, key8(v_max_s8(key8(a), key8(b))))
FP_ARITH_KERNEL(e5m2_sum, e5m2, 1, e5m2_add_fp32(a, b))
FP_ARITH_KERNEL(e5m2_prod, e5m2, 1, e5m2_mul_fp32(a, b))
FP_ORDER_KERNEL(e5m2_min, e5m2, 1, key8(v_min_s8(key8(a), key8(b))))
FP_ORDER_KERNEL(e5m2_max, e5m2, 1, key8(v_max_s8(key8(a), key8(b))))

#define FP_ROW(type) {							\
	[HCOMM_OP_SUM] = reduce_##type##_sum,				\
	[HCOMM_OP_PROD] = reduce_##type##_prod,				\
	[HCOMM_OP_MIN] = reduce_##type##_min,				\
	[HCOMM_OP_MAX] = reduce_##type##_max,				\
}

#define FP(dtype)	((dtype) - HCOMM_DT_INT_COUNT)

const hcomm_reduce_fn
hcomm_reduce_fp_avx2[HCOMM_DT_FP_COUNT][HCOMM_OP_FP_COUNT] = {
	[FP(HCOMM_DT_FP16)] = FP_ROW(fp16),
	[FP(HCOMM_DT_BF16)] = FP_ROW(bf16),
	[FP(HCOMM_DT_FP32)] = FP_ROW(fp32),
	[FP(HCOMM_DT_FP64)] = FP_ROW(fp64),
	[FP(HCOMM_DT_FP8_E4M3)] = FP_ROW(e4m3),
	[FP(HCOMM_DT_FP8_E5M2)] = FP_ROW(e5m2),
};

/* ------------------------------------------------------------------ divisions */

/* The bits of an integer from 1 to 2^16 as a number. */
static __always_inline u64 bits_of(u32 div, u32 frac, u32 bias)
{
	u32 lead = 31 - __builtin_clz(div);

	return ((u64)(bias + lead) << frac) | ((u64)(div ^ 1u << lead) << (frac - lead));
}

/*
 * Four fp32 numbers of 16 bit types divided in fp64, and rounded to odd in fp32:
 * its last bit says whether any bit was lost.  The small type then rounds once, as
 * it has few enough bits.
 */
static __always_inline struct vec odd_quotients(struct vec x, struct vec d)
{
	struct vec q = v_div_fp64(v_widen_fp32(x), d);
	struct vec lost = v_and(q, splat64((1ULL << 29) - 1));
	struct vec last = v_andnot(v_eq64(lost, splat64(0)), splat64(1ULL << 29));

	return v_narrow_fp64(v_or(v_xor(q, lost), last));
}

static __always_inline struct vec v_div_small(struct vec x, struct vec d)
{
	return v_join128(odd_quotients(x, d), odd_quotients(v_high128(x), d));
}

static __always_inline struct vec v_div_fp16(struct vec a, struct vec d)
{
	struct vec low = v_div_small(v_widen_fp16(a), d);
	struct vec high = v_div_small(v_widen_fp16(v_high128(a)), d);

	return v_join128(v_narrow_fp16(low), v_narrow_fp16(high));
}

static __always_inline struct vec v_div_bf16(struct vec a, struct vec d)
{
	struct vec even = v_div_small(v_shl32_16(a), d);
	struct vec odd = v_div_small(v_and(a, splat32(0xffff0000)), d);

	return v_odd_u16(v_shr32_16(round_bf16(even)), round_bf16(odd));
}

#define DIV_KERNEL(type, size, divisor)					\
static void div_##type(void *dst, const void *src, u32 div, size_t n)	\
{									\
	struct vec d = divisor, r;					\
	size_t len = n * (size), i;					\
	const u8 *ps = src;						\
	u8 *pd = dst;							\
									\
	for (i = 0; i + VEC_SIZE <= len; i += VEC_SIZE) {		\
		r = v_div_##type(load(ps + i), d);			\
		store(pd + i, canon_##type(r));				\
	}								\
	if (i < len) {							\
		r = v_div_##type(load_part(ps + i, len - i), d);	\
		store_part(pd + i, canon_##type(r), len - i);		\
	}								\
}

DIV_KERNEL(fp16, 2, splat64(bits_of(div, 52, 1023)))
DIV_KERNEL(bf16, 2, splat64(bits_of(div, 52, 1023)))
DIV_KERNEL(fp32, 4, splat32((u32)bits_of(div, 23, 127)))
DIV_KERNEL(fp64, 8, splat64(bits_of(div, 52, 1023)))

const hcomm_div_fn hcomm_div_avx2[HCOMM_DT_COUNT] = {
	[HCOMM_DT_FP16] = div_fp16,
	[HCOMM_DT_BF16] = div_bf16,
	[HCOMM_DT_FP32] = div_fp32,
	[HCOMM_DT_FP64] = div_fp64,
};
