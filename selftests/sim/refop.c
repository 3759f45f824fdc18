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
	default:
		return less ? b : a;
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
	default:
		break;
	}
	/* Signed types have even numbers below FP16. */
	if (!(dtype & 1)) {
		u32 shift = 64 - 8 * size;

		x = (u64)((s64)(x << shift) >> shift);
		y = (u64)((s64)(y << shift) >> shift);
	}
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
	default:
		memcpy(dst, &v, ref_dtype_size(dtype));
	}
}
