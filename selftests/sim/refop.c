// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reductions written a second time, one element at a time and as plainly as
 * possible, from the rules in the ABI header alone: what the engine computes
 * is compared with this.
 */
#include <math.h>
#include "sim.h"

static const struct {
	const char *name;
	u32 size;
} dtypes[] = {
	[HCOMM_DT_INT8] = { "int8", 1 }, [HCOMM_DT_UINT8] = { "uint8", 1 },
	[HCOMM_DT_INT16] = { "int16", 2 }, [HCOMM_DT_UINT16] = { "uint16", 2 },
	[HCOMM_DT_INT32] = { "int32", 4 }, [HCOMM_DT_UINT32] = { "uint32", 4 },
	[HCOMM_DT_INT64] = { "int64", 8 }, [HCOMM_DT_UINT64] = { "uint64", 8 },
	[HCOMM_DT_FP16] = { "fp16", 2 }, [HCOMM_DT_BF16] = { "bf16", 2 },
	[HCOMM_DT_FP32] = { "fp32", 4 }, [HCOMM_DT_FP64] = { "fp64", 8 },
	[HCOMM_DT_FP8_E4M3] = { "e4m3", 1 }, [HCOMM_DT_FP8_E5M2] = { "e5m2", 1 },
};

u32 ref_dtype_size(u32 dtype)
{
	return dtype < ARRAY_SIZE(dtypes) ? dtypes[dtype].size : 0;
}

const char *ref_dtype_name(u32 dtype)
{
	return dtype < ARRAY_SIZE(dtypes) ? dtypes[dtype].name : NULL;
}

const char *ref_op_name(u32 redop)
{
	static const char * const names[] = {
		[HCOMM_OP_SUM] = "sum", [HCOMM_OP_PROD] = "prod",
		[HCOMM_OP_MIN] = "min", [HCOMM_OP_MAX] = "max",
		[HCOMM_OP_BAND] = "band", [HCOMM_OP_BOR] = "bor",
		[HCOMM_OP_BXOR] = "bxor", [HCOMM_OP_LAND] = "land",
		[HCOMM_OP_LOR] = "lor", [HCOMM_OP_LXOR] = "lxor",
	};

	return redop < ARRAY_SIZE(names) ? names[redop] : NULL;
}

static double f16_to_double(u16 h)
{
	int exp = (h >> 10) & 31;
	double m = h & 1023, v;

	if (exp == 31)
		v = m != 0 ? NAN : INFINITY;
	else if (exp == 0)
		v = ldexp(m, -24);
	else
		v = ldexp(m + 1024, exp - 25);
	return h & 0x8000 ? -v : v;
}

/* Nearest even, by scaling to the grid of the result. */
static u16 double_to_f16(double d)
{
	u16 sign = signbit(d) ? 0x8000 : 0;
	double a = fabs(d), q;
	int exp;

	if (isnan(d))
		return 0x7e00;
	if (isinf(d))
		return sign | 0x7c00;
	if (a < ldexp(1, -14))
		return sign | (u16)nearbyint(ldexp(a, 24));
	frexp(a, &exp);
	q = nearbyint(ldexp(a, 11 - exp));	/* 1024 .. 2048 */
	exp += 14;
	if (q == 2048) {
		q = 1024;
		exp++;
	}
	if (exp >= 31)
		return sign | 0x7c00;
	return sign | (u16)(exp << 10) | ((u16)q & 1023);
}

static float bf16_to_float(u16 h)
{
	u32 u = (u32)h << 16;
	float f;

	memcpy(&f, &u, sizeof(f));
	return f;
}

static u16 float_to_bf16(float f)
{
	u32 u;

	if (isnan(f))
		return 0x7fc0;
	memcpy(&u, &f, sizeof(u));
	return (u16)((u + 0x7fff + ((u >> 16) & 1)) >> 16);
}

static u16 double_to_bf16(double d)
{
	float f = (float)d;
	double q;
	int exp;

	/* Round once, to 8 bits, then what is left is exact in a float. */
	if (isfinite(f) && fabs(d) >= ldexp(1, -126)) {
		q = frexp(d, &exp);
		f = (float)ldexp(nearbyint(ldexp(q, 8)), exp - 8);
	} else if (isfinite(f)) {
		f = (float)ldexp(nearbyint(ldexp(d, 133)), -133);
	}
	return float_to_bf16(f);
}

/* As if the largest exponent were an ordinary one. */
static double f8_magnitude(u32 dtype, u32 a)
{
	u32 frac = dtype == HCOMM_DT_FP8_E4M3 ? 3 : 2;
	int exp = a >> frac, bias = dtype == HCOMM_DT_FP8_E4M3 ? 7 : 15;
	double m = a & ((1u << frac) - 1);

	if (exp)
		return ldexp(m + (1u << frac), exp - bias - (int)frac);
	return ldexp(m, 1 - bias - (int)frac);
}

static double f8_to_double(u32 dtype, u8 x)
{
	u32 a = x & 0x7f;
	double v = f8_magnitude(dtype, a);

	if (dtype == HCOMM_DT_FP8_E4M3 ? a == 0x7f : a > 0x7c)
		return NAN;
	if (dtype == HCOMM_DT_FP8_E5M2 && a == 0x7c)
		v = INFINITY;
	return x & 0x80 ? -v : v;
}

/* The nearest of all numbers, an even one of two. */
static u8 double_to_f8(u32 dtype, double d)
{
	u32 top = dtype == HCOMM_DT_FP8_E4M3 ? 0x7f : 0x7c, a = 0, step;
	double v = fabs(d), low, high;

	if (isnan(d))
		return dtype == HCOMM_DT_FP8_E4M3 ? 0x7f : 0x7e;
	/* The largest that is not above it. */
	for (step = 64; step; step /= 2)
		if (a + step <= top && f8_magnitude(dtype, a + step) <= v)
			a += step;
	if (a < top) {
		low = v - f8_magnitude(dtype, a);
		high = f8_magnitude(dtype, a + 1) - v;
		a += high < low || (high == low && a & 1);
	}
	if (dtype == HCOMM_DT_FP8_E4M3 && a == top)
		return 0x7f;
	return (signbit(d) ? 0x80 : 0) | a;
}

/* The same rules in both widths; volatile, so that each result is rounded. */
#define OP_FP(name, type)						\
static type name(u32 redop, type a, type b)				\
{									\
	volatile type r;						\
									\
	if (isnan(a) || isnan(b))					\
		return NAN;						\
	switch (redop) {						\
	case HCOMM_OP_SUM:						\
		r = a + b;						\
		return r;						\
	case HCOMM_OP_PROD:						\
		r = a * b;						\
		return r;						\
	case HCOMM_OP_MIN:						\
		if (a == b)						\
			return signbit(a) ? a : b;			\
		return a < b ? a : b;					\
	default:							\
		if (a == b)						\
			return signbit(a) ? b : a;			\
		return a > b ? a : b;					\
	}								\
}

OP_FP(op_float, float)
OP_FP(op_double, double)

static u64 op_int(u32 redop, u64 a, u64 b, bool is_signed)
{
	bool less = is_signed ? (s64)a < (s64)b : a < b;

	switch (redop) {
	case HCOMM_OP_SUM:
		return a + b;
	case HCOMM_OP_PROD:
		return a * b;
	case HCOMM_OP_MIN:
		return less ? a : b;
	case HCOMM_OP_MAX:
		return less ? b : a;
	case HCOMM_OP_BAND:
		return a & b;
	case HCOMM_OP_BOR:
		return a | b;
	case HCOMM_OP_BXOR:
		return a ^ b;
	case HCOMM_OP_LAND:
		return a && b;
	case HCOMM_OP_LOR:
		return a || b;
	default:
		return !a != !b;
	}
}

static void put_float(void *dst, float f)
{
	u32 u;

	memcpy(&u, &f, sizeof(u));
	if (isnan(f))
		u = 0x7fc00000;
	memcpy(dst, &u, sizeof(u));
}

static void put_double(void *dst, double d)
{
	u64 u;

	memcpy(&u, &d, sizeof(u));
	if (isnan(d))
		u = 0x7ff8000000000000ull;
	memcpy(dst, &u, sizeof(u));
}

/* Signed types have even numbers below FP16. */
static u64 sign_extend(u32 dtype, u64 x)
{
	u32 shift = 64 - 8 * ref_dtype_size(dtype);

	return dtype & 1 ? x : (u64)((s64)(x << shift) >> shift);
}

static void ref_one(u32 dtype, u32 redop, void *dst, const void *a, const void *b)
{
	u32 size = ref_dtype_size(dtype);
	u64 x = 0, y = 0;

	memcpy(&x, a, size);
	memcpy(&y, b, size);
	switch (dtype) {
	case HCOMM_DT_FP64: {
		double p, q;

		memcpy(&p, &x, 8);
		memcpy(&q, &y, 8);
		put_double(dst, op_double(redop, p, q));
		return;
	}
	case HCOMM_DT_FP32: {
		float p, q;

		memcpy(&p, &x, 4);
		memcpy(&q, &y, 4);
		put_float(dst, op_float(redop, p, q));
		return;
	}
	case HCOMM_DT_BF16: {
		u16 r = float_to_bf16(op_float(redop, bf16_to_float(x), bf16_to_float(y)));

		memcpy(dst, &r, 2);
		return;
	}
	case HCOMM_DT_FP16: {
		u16 r = double_to_f16(op_float(redop, (float)f16_to_double(x),
					       (float)f16_to_double(y)));

		memcpy(dst, &r, 2);
		return;
	}
	case HCOMM_DT_FP8_E4M3:
	case HCOMM_DT_FP8_E5M2: {
		u8 r = double_to_f8(dtype, op_double(redop, f8_to_double(dtype, x),
						     f8_to_double(dtype, y)));

		memcpy(dst, &r, 1);
		return;
	}
	default:
		break;
	}
	x = sign_extend(dtype, x);
	y = sign_extend(dtype, y);
	x = op_int(redop, x, y, !(dtype & 1));
	memcpy(dst, &x, size);
}

void ref_reduce(u32 dtype, u32 redop, void *dst, const void *a, const void *b, size_t n)
{
	u32 size = ref_dtype_size(dtype);
	size_t i;

	for (i = 0; i < n; i++)
		ref_one(dtype, redop, (u8 *)dst + i * size, (const u8 *)a + i * size,
			(const u8 *)b + i * size);
}

static void ref_divide(u32 dtype, void *dst, const void *src, u32 n)
{
	u32 size = ref_dtype_size(dtype);
	u64 x = 0;
	double d;
	float f;

	memcpy(&x, src, size);
	switch (dtype) {
	case HCOMM_DT_FP64:
		memcpy(&d, &x, 8);
		put_double(dst, d / n);
		return;
	case HCOMM_DT_FP32:
		memcpy(&f, &x, 4);
		put_float(dst, f / (float)n);
		return;
	case HCOMM_DT_BF16:
		x = double_to_bf16((double)bf16_to_float(x) / n);
		break;
	case HCOMM_DT_FP16:
		x = double_to_f16(f16_to_double(x) / n);
		break;
	case HCOMM_DT_FP8_E4M3:
	case HCOMM_DT_FP8_E5M2:
		x = double_to_f8(dtype, f8_to_double(dtype, x) / n);
		break;
	default:
		x = sign_extend(dtype, x);
		x = dtype & 1 ? x / n : (u64)((s64)x / (s64)n);
	}
	memcpy(dst, &x, size);
}

void ref_scale(u32 dtype, u32 scale, u64 operand, void *dst, const void *src, size_t n)
{
	u32 size = ref_dtype_size(dtype);
	size_t i;

	for (i = 0; i < n; i++, dst = (u8 *)dst + size, src = (const u8 *)src + size) {
		if (scale == HCOMM_SCALE_MUL)
			ref_one(dtype, HCOMM_OP_PROD, dst, src, &operand);
		else
			ref_divide(dtype, dst, src, operand);
	}
}

void ref_from_int(u32 dtype, void *dst, s64 v)
{
	u16 h;

	switch (dtype) {
	case HCOMM_DT_FP64:
		put_double(dst, (double)v);
		return;
	case HCOMM_DT_FP32:
		put_float(dst, (float)v);
		return;
	case HCOMM_DT_BF16:
		h = float_to_bf16((float)v);
		memcpy(dst, &h, 2);
		return;
	case HCOMM_DT_FP16:
		h = double_to_f16((double)v);
		memcpy(dst, &h, 2);
		return;
	case HCOMM_DT_FP8_E4M3:
	case HCOMM_DT_FP8_E5M2:
		*(u8 *)dst = double_to_f8(dtype, (double)v);
		return;
	default:
		memcpy(dst, &v, ref_dtype_size(dtype));
	}
}
