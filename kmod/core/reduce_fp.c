// SPDX-License-Identifier: GPL-2.0-only
/*
 * Scalar reductions and divisions of floating point numbers, with integer
 * instructions.
 *
 * A kernel has no portable floating point: where sections for it exist at all,
 * most architectures let them run with the rounding and denormal mode that the
 * interrupted process chose, and results would depend on that.  So the scalar
 * path computes IEEE 754 sums, products and quotients itself, rounded to nearest
 * even.
 *
 * Numbers are bit patterns in a u64, of a format with FRAC fraction bits and an
 * exponent field of all ones EMAX; both are constants after inlining.
 */
#include "reduce_loop.h"

#define FP32_FRAC	23
#define FP32_EMAX	0xff
#define FP64_FRAC	52
#define FP64_EMAX	0x7ff

/* Bits below the fraction that are kept for rounding; the lowest is sticky. */
#define GUARD		4

static __always_inline u64 fp_inf(u32 frac, u32 emax)
{
	return (u64)emax << frac;
}

static __always_inline u64 fp_sign(u32 frac, u32 emax)
{
	return ((u64)emax + 1) << frac;
}

static __always_inline u64 fp_nan(u32 frac, u32 emax)
{
	return (u64)emax << frac | 1ULL << (frac - 1);
}

/* Shift right, m < 2^63 if by 63 or more; the lowest bit says whether any bit was lost. */
static __always_inline u64 shr_sticky(u64 m, u32 n)
{
	n = min_t(u32, n, 63);
	return m >> n | ((m & ((1ULL << n) - 1)) != 0);
}

/*
 * Round a significand to nearest even, with its leading bit at frac + GUARD, or
 * lower when the biased exponent e is 1, and put it together.  A carry out of
 * the significand moves on into the exponent by itself.
 */
static __always_inline u64 fp_round(u32 frac, u32 emax, s32 e, u64 m)
{
	u64 odd = (m >> GUARD) & 1;

	if (e >= (s32)emax)
		return fp_inf(frac, emax);
	m = (m + (1 << (GUARD - 1)) - 1 + odd) >> GUARD;
	return ((u64)(e - 1) << frac) + m;
}

static __always_inline u64 fp_add(u32 frac, u32 emax, u64 x, u64 y)
{
	u64 inf = fp_inf(frac, emax), sign = fp_sign(frac, emax);
	/* No branch here: random numbers would mislead its prediction. */
	u64 swap = (x ^ y) & -(u64)((x & (sign - 1)) < (y & (sign - 1)));
	u64 big = x ^ swap, small = y ^ swap;
	u64 ax = big & (sign - 1), ay = small & (sign - 1), mx, my, minus;
	s32 ex = ax >> frac, ey = ay >> frac, lead;

	if (ax >= inf) {
		if (ax > inf || (ay == inf && x != y))
			return fp_nan(frac, emax);
		return big;
	}
	mx = (ax - ((u64)ex << frac) + ((u64)!!ex << frac)) << GUARD;
	my = (ay - ((u64)ey << frac) + ((u64)!!ey << frac)) << GUARD;
	ex += !ex;
	ey += !ey;
	my = shr_sticky(my, ex - ey);
	minus = !!((x ^ y) & sign);
	mx += (my ^ -minus) + minus;
	if (!mx)
		return x & y & sign;

	/* A carry would be at frac + GUARD + 1: take that as the leading bit. */
	lead = __builtin_clzll(mx) - (62 - GUARD - (s32)frac);
	lead = min_t(s32, lead, ex);
	mx = shr_sticky(mx << lead, 1);
	return (big & sign) | fp_round(frac, emax, ex + 1 - lead, mx);
}

/* The upper half of a 128-bit product, the lowest bit sticky. */
static __always_inline u64 mul_high_sticky(u64 x, u64 y)
{
	u64 xl = (u32)x, xh = x >> 32, yl = (u32)y, yh = y >> 32;
	u64 low = xl * yl;
	u64 mid = xh * yl + (low >> 32);
	u64 mid2 = xl * yh + (u32)mid;

	return (xh * yh + (mid >> 32) + (mid2 >> 32)) |
	       ((u32)mid2 || (u32)low);
}

static __always_inline u64 fp_mul(u32 frac, u32 emax, u64 x, u64 y)
{
	u64 inf = fp_inf(frac, emax), sign = fp_sign(frac, emax);
	u64 s = (x ^ y) & sign, m;
	s32 ex, ey, e, lead;

	x &= sign - 1;
	y &= sign - 1;
	if (x >= inf || y >= inf) {
		if (x > inf || y > inf || !x || !y)
			return fp_nan(frac, emax);
		return s | inf;
	}
	if (!x || !y)
		return s;

	/* Leading bits to bit 63; denormals get an exponent of 0 or below. */
	ex = x >> frac;
	ey = y >> frac;
	x = x - ((u64)ex << frac) + ((u64)!!ex << frac);
	y = y - ((u64)ey << frac) + ((u64)!!ey << frac);
	lead = __builtin_clzll(x);
	x <<= lead;
	ex += !ex - (lead - (63 - (s32)frac));
	lead = __builtin_clzll(y);
	y <<= lead;
	ey += !ey - (lead - (63 - (s32)frac));

	/* The product has its leading bit at 63 or 62 of the upper half. */
	e = ex + ey - (s32)(emax >> 1);
	if (frac == FP32_FRAC)
		m = (x >> 32) * (y >> 32);
	else
		m = mul_high_sticky(x, y);
	lead = m >> 63;
	e += lead;
	m = shr_sticky(m, 62 - frac - GUARD + lead);
	if (e < 1) {
		m = shr_sticky(m, 1 - e);
		e = 1;
	}
	return s | fp_round(frac, emax, e, m);
}

/*
 * x divided by an integer from 1 to 2^16.  With @odd, of FP32 only, x came from a
 * format of 11 bits at most, and the result is not rounded to nearest: its last
 * bit says whether any bit was lost, so that the small format can still round once.
 */
static __always_inline u64 fp_div(u32 frac, u32 emax, u64 x, u32 div, bool odd)
{
	u64 inf = fp_inf(frac, emax), sign = fp_sign(frac, emax);
	u64 s = x & sign, m, rest;
	s32 e, lead;

	x &= sign - 1;
	if (x >= inf)
		return x > inf ? fp_nan(frac, emax) : s | inf;
	if (!x)
		return s;
	e = x >> frac;
	x = x - ((u64)e << frac) + ((u64)!!e << frac);
	lead = __builtin_clzll(x);
	x <<= lead;
	e += !e - (lead - (63 - (s32)frac));

	if (odd) {
		/* At most 24 bits, of a format of 11: 16 of the quotient do. */
		x >>= 32;
		m = (u32)x / div;
		rest = x - m * div;
		m = m << 32 | (rest != 0);
		lead = __builtin_clzll(m);
		m <<= lead;
	} else {
		/* 47 bits at least, and as many more as it lacks of 64. */
		m = div_u64(x, div);
		rest = x - m * div;
		lead = __builtin_clzll(m);
		rest <<= lead;
		x = div_u64(rest, div);
		m = m << lead | x | (rest != x * div);
	}
	e -= lead;

	m = shr_sticky(m, 63 - frac - GUARD);
	if (e < 1) {
		m = shr_sticky(m, 1 - e);
		e = 1;
	}
	if (odd)
		return s | (((u64)(e - 1) << frac) + shr_sticky(m, GUARD));
	return s | fp_round(frac, emax, e, m);
}

/* Maps the order of numbers, -0 below +0, to the order of unsigned integers. */
static __always_inline u64 fp_key(u64 x, u64 sign)
{
	return x & sign ? x ^ (sign | (sign - 1)) : x | sign;
}

static __always_inline u64 fp_pick(u32 frac, u32 emax, u64 x, u64 y, bool want_max)
{
	u64 inf = fp_inf(frac, emax), sign = fp_sign(frac, emax);

	if ((x & (sign - 1)) > inf || (y & (sign - 1)) > inf)
		return fp_nan(frac, emax);
	return (fp_key(x, sign) > fp_key(y, sign)) == want_max ? x : y;
}

/* ------------------------------------------------------------- 16 bit formats */

#define FP16_FRAC	10
#define FP16_EMAX	0x1f
#define BF16_FRAC	7
#define BF16_EMAX	0xff

#define FP16_MIN_AS_FP32	0x38800000u	/* smallest normal */
#define FP16_OVER_AS_FP32	0x47800000u	/* 65536: above all finite ones */
#define FP16_REBIAS		((127u - 15u) << FP32_FRAC)

static __always_inline u32 fp16_widen(u32 h)
{
	u32 sign = (h & 0x8000) << 16, a = h & 0x7fff;
	s32 lead;

	if (a >= fp_inf(FP16_FRAC, FP16_EMAX))
		return sign | (u32)fp_inf(FP32_FRAC, FP32_EMAX) | (a & 0x3ff) << 13;
	if (a >> FP16_FRAC)
		return sign | ((a << 13) + FP16_REBIAS);
	if (!a)
		return sign;

	/* a * 2^-24, with its leading bit moved to the implied place */
	lead = 31 - __builtin_clz(a);
	return sign | ((u32)(127 - 24 + lead) << FP32_FRAC) |
	       ((a << (FP32_FRAC - lead)) & 0x7fffff);
}

static __always_inline u32 fp16_narrow(u32 x)
{
	u32 sign = (x >> 16) & 0x8000, a = x & 0x7fffffff;
	u32 m, shift;

	if (a > fp_inf(FP32_FRAC, FP32_EMAX))
		return fp_nan(FP16_FRAC, FP16_EMAX);
	if (a >= FP16_OVER_AS_FP32)
		return sign | (u32)fp_inf(FP16_FRAC, FP16_EMAX);
	if (a >= FP16_MIN_AS_FP32) {
		a -= FP16_REBIAS;
		a += 0xfff + ((a >> 13) & 1);
		return sign | a >> 13;
	}

	/* In units of 2^-24; below half of one all is zero. */
	shift = 126 - (a >> FP32_FRAC);
	if (shift > 24)
		return sign;
	m = (a & 0x7fffff) | 0x800000;
	m += (1u << (shift - 1)) - 1 + ((m >> shift) & 1);
	return sign | m >> shift;
}

static __always_inline u32 bf16_widen(u32 h)
{
	return h << 16;
}

static __always_inline u32 bf16_narrow(u32 x)
{
	if ((x & 0x7fffffff) > fp_inf(FP32_FRAC, FP32_EMAX))
		return fp_nan(BF16_FRAC, BF16_EMAX);
	return (x + 0x7fff + ((x >> 16) & 1)) >> 16;
}

/* -------------------------------------------------------------- 8 bit formats */

#define E4M3_FRAC	3
#define E4M3_BIAS	7
#define E4M3_NAN	0x7fu
#define E5M2_FRAC	2
#define E5M2_BIAS	15
#define E5M2_INF	0x7cu
#define E5M2_NAN	0x7eu

/* Of a positive number or zero; the largest exponent is as good as any other. */
static __always_inline u32 fp8_widen(u32 frac, u32 bias, u32 a)
{
	s32 lead;

	if (a >> frac)
		return (a << (FP32_FRAC - frac)) + ((127 - bias) << FP32_FRAC);
	if (!a)
		return 0;
	lead = 31 - __builtin_clz(a);
	return ((u32)(127 + 1 - (s32)(bias + frac) + lead) << FP32_FRAC) |
	       ((a << (FP32_FRAC - lead)) & 0x7fffff);
}

/* Back, to nearest even, as if exponents had no upper end. */
static __always_inline u32 fp8_round(u32 frac, u32 bias, u32 a)
{
	u32 m, shift;

	if (a >= (127 - bias + 1) << FP32_FRAC) {
		shift = FP32_FRAC - frac;
		a -= (127 - bias) << FP32_FRAC;
		a += (1u << (shift - 1)) - 1 + ((a >> shift) & 1);
		return a >> shift;
	}

	/* In units of the smallest number; below half of one all is zero. */
	shift = 151 - bias - frac - (a >> FP32_FRAC);
	if (shift > 24)
		return 0;
	m = (a & 0x7fffff) | 0x800000;
	m += (1u << (shift - 1)) - 1 + ((m >> shift) & 1);
	return m >> shift;
}

static __always_inline u32 e4m3_widen(u32 x)
{
	u32 a = x & 0x7f;

	if (a == E4M3_NAN)
		return (u32)fp_nan(FP32_FRAC, FP32_EMAX);
	return (x & 0x80) << 24 | fp8_widen(E4M3_FRAC, E4M3_BIAS, a);
}

/* What is too large, infinity and NaN included, is a NaN. */
static __always_inline u32 e4m3_narrow(u32 x)
{
	u32 a = fp8_round(E4M3_FRAC, E4M3_BIAS, x & 0x7fffffff);

	return a >= E4M3_NAN ? E4M3_NAN : (x >> 24 & 0x80) | a;
}

static __always_inline u32 e4m3_pick(u32 x, u32 y, bool want_max)
{
	if ((x & 0x7f) == E4M3_NAN || (y & 0x7f) == E4M3_NAN)
		return E4M3_NAN;
	return (fp_key(x, 0x80) > fp_key(y, 0x80)) == want_max ? x : y;
}

static __always_inline u32 e5m2_widen(u32 x)
{
	u32 a = x & 0x7f;

	if (a >= E5M2_INF)
		return (x & 0x80) << 24 | (u32)fp_inf(FP32_FRAC, FP32_EMAX) |
		       (a & 3) << (FP32_FRAC - E5M2_FRAC);
	return (x & 0x80) << 24 | fp8_widen(E5M2_FRAC, E5M2_BIAS, a);
}

static __always_inline u32 e5m2_narrow(u32 x)
{
	u32 a = x & 0x7fffffff;

	if (a > fp_inf(FP32_FRAC, FP32_EMAX))
		return E5M2_NAN;
	a = fp8_round(E5M2_FRAC, E5M2_BIAS, a);
	return (x >> 24 & 0x80) | min_t(u32, a, E5M2_INF);
}

/* -------------------------------------------------------------------- kernels */

/* Narrow types are widened to fp32, and the result is rounded back. */
#define NARROW_FNS(name)						\
static __always_inline u32 name##_add(u32 x, u32 y)			\
{									\
	return name##_narrow(fp_add(FP32_FRAC, FP32_EMAX,		\
				    name##_widen(x), name##_widen(y)));	\
}									\
									\
static __always_inline u32 name##_mul(u32 x, u32 y)			\
{									\
	return name##_narrow(fp_mul(FP32_FRAC, FP32_EMAX,		\
				    name##_widen(x), name##_widen(y)));	\
}									\
									\
static __always_inline u32 name##_quot(u32 x, u32 div)			\
{									\
	return name##_narrow(fp_div(FP32_FRAC, FP32_EMAX,		\
				    name##_widen(x), div, true));	\
}

NARROW_FNS(fp16)
NARROW_FNS(bf16)
NARROW_FNS(e4m3)
NARROW_FNS(e5m2)

SCALAR_KERNEL(fp16_sum, u16, fp16_add(x, y))
SCALAR_KERNEL(fp16_prod, u16, fp16_mul(x, y))
SCALAR_KERNEL(fp16_min, u16, fp_pick(FP16_FRAC, FP16_EMAX, x, y, false))
SCALAR_KERNEL(fp16_max, u16, fp_pick(FP16_FRAC, FP16_EMAX, x, y, true))

SCALAR_KERNEL(bf16_sum, u16, bf16_add(x, y))
SCALAR_KERNEL(bf16_prod, u16, bf16_mul(x, y))
SCALAR_KERNEL(bf16_min, u16, fp_pick(BF16_FRAC, BF16_EMAX, x, y, false))
SCALAR_KERNEL(bf16_max, u16, fp_pick(BF16_FRAC, BF16_EMAX, x, y, true))

SCALAR_KERNEL(fp32_sum, u32, fp_add(FP32_FRAC, FP32_EMAX, x, y))
SCALAR_KERNEL(fp32_prod, u32, fp_mul(FP32_FRAC, FP32_EMAX, x, y))
SCALAR_KERNEL(fp32_min, u32, fp_pick(FP32_FRAC, FP32_EMAX, x, y, false))
SCALAR_KERNEL(fp32_max, u32, fp_pick(FP32_FRAC, FP32_EMAX, x, y, true))

SCALAR_KERNEL(fp64_sum, u64, fp_add(FP64_FRAC, FP64_EMAX, x, y))
SCALAR_KERNEL(fp64_prod, u64, fp_mul(FP64_FRAC, FP64_EMAX, x, y))
SCALAR_KERNEL(fp64_min, u64, fp_pick(FP64_FRAC, FP64_EMAX, x, y, false))
SCALAR_KERNEL(fp64_max, u64, fp_pick(FP64_FRAC, FP64_EMAX, x, y, true))

SCALAR_KERNEL(e4m3_sum, u8, e4m3_add(x, y))
SCALAR_KERNEL(e4m3_prod, u8, e4m3_mul(x, y))
SCALAR_KERNEL(e4m3_min, u8, e4m3_pick(x, y, false))
SCALAR_KERNEL(e4m3_max, u8, e4m3_pick(x, y, true))

SCALAR_KERNEL(e5m2_sum, u8, e5m2_add(x, y))
SCALAR_KERNEL(e5m2_prod, u8, e5m2_mul(x, y))
SCALAR_KERNEL(e5m2_min, u8, fp_pick(E5M2_FRAC, 0x1f, x, y, false))
SCALAR_KERNEL(e5m2_max, u8, fp_pick(E5M2_FRAC, 0x1f, x, y, true))

#define FP_ROW(name) {							\
	[HCOMM_OP_SUM] = name##_sum,					\
	[HCOMM_OP_PROD] = name##_prod,					\
	[HCOMM_OP_MIN] = name##_min,					\
	[HCOMM_OP_MAX] = name##_max,					\
}

const hcomm_reduce_fn
hcomm_reduce_fp_scalar[HCOMM_DT_FP_COUNT][HCOMM_OP_FP_COUNT] = {
	[HCOMM_DT_FP16 - HCOMM_DT_FP16] = FP_ROW(fp16),
	[HCOMM_DT_BF16 - HCOMM_DT_FP16] = FP_ROW(bf16),
	[HCOMM_DT_FP32 - HCOMM_DT_FP16] = FP_ROW(fp32),
	[HCOMM_DT_FP64 - HCOMM_DT_FP16] = FP_ROW(fp64),
	[HCOMM_DT_FP8_E4M3 - HCOMM_DT_FP16] = FP_ROW(e4m3),
	[HCOMM_DT_FP8_E5M2 - HCOMM_DT_FP16] = FP_ROW(e5m2),
};

SCALAR_DIV_KERNEL(fp16_div, u16, fp16_quot(x, div))
SCALAR_DIV_KERNEL(bf16_div, u16, bf16_quot(x, div))
SCALAR_DIV_KERNEL(fp32_div, u32, fp_div(FP32_FRAC, FP32_EMAX, x, div, false))
SCALAR_DIV_KERNEL(fp64_div, u64, fp_div(FP64_FRAC, FP64_EMAX, x, div, false))
SCALAR_DIV_KERNEL(e4m3_div, u8, e4m3_quot(x, div))
SCALAR_DIV_KERNEL(e5m2_div, u8, e5m2_quot(x, div))

const hcomm_div_fn hcomm_div_fp_scalar[HCOMM_DT_FP_COUNT] = {
	[HCOMM_DT_FP16 - HCOMM_DT_FP16] = fp16_div,
	[HCOMM_DT_BF16 - HCOMM_DT_FP16] = bf16_div,
	[HCOMM_DT_FP32 - HCOMM_DT_FP16] = fp32_div,
	[HCOMM_DT_FP64 - HCOMM_DT_FP16] = fp64_div,
	[HCOMM_DT_FP8_E4M3 - HCOMM_DT_FP16] = e4m3_div,
	[HCOMM_DT_FP8_E5M2 - HCOMM_DT_FP16] = e5m2_div,
};
