/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the unit tests of reductions and span memory share: TAP, random elements
 * that hit the corners of every type, and a reference for what a reduction is.
 *
 * The reference has nothing in common with the code under test: fp32 and fp64
 * come from the processor, smaller types from scaling with ldexp() and rint().
 */
#ifndef HCOMM_SIM_REDUCE_REF_H
#define HCOMM_SIM_REDUCE_REF_H

#include <math.h>
#include <stdio.h>

#include "reduce.h"
#include "reduce_kernels.h"

static const char *const dtype_name[HCOMM_DT_COUNT] = {
	"int8", "uint8", "int16", "uint16", "int32", "uint32",
	"int64", "uint64", "fp16", "bf16", "fp32", "fp64", "e4m3", "e5m2",
};

static const char *const redop_name[HCOMM_OP_COUNT] = {
	"sum", "prod", "min", "max", "band", "bor", "bxor", "land", "lor", "lxor",
};

static const u32 dtype_bytes[HCOMM_DT_COUNT] = { 1, 1, 2, 2, 4, 4, 8, 8, 2, 2, 4, 8, 1, 1 };

/* ------------------------------------------------------------------ reporting */

static unsigned int tests_run, tests_failed, checks_failed;

#define check(cond, ...) ({						\
	bool ok_ = !!(cond);						\
									\
	if (!ok_ && checks_failed++ < 5) {				\
		printf("# line %d: ", __LINE__);			\
		printf(__VA_ARGS__);					\
		printf("\n");						\
	}								\
	ok_;								\
})

static inline void report(const char *what, const char *name, const char *name2)
{
	tests_run++;
	tests_failed += !!checks_failed;
	printf("%sok %u - %s %s%s%s\n", checks_failed ? "not " : "", tests_run, what,
	       name, *name2 ? " " : "", name2);
	fflush(stdout);
	checks_failed = 0;
}

/* -------------------------------------------------------------- random numbers */

static u64 rnd_state = 1;

static inline u64 rnd(void)
{
	u64 z = rnd_state += 0x9e3779b97f4a7c15ULL;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

static inline u64 rnd_below(u64 n)
{
	return rnd() % n;
}

/* Formats by fraction bits and exponent bits. */
static const struct fp_format {
	u32 frac;
	u32 exp;
} fp_format[HCOMM_DT_COUNT] = {
	[HCOMM_DT_FP16] = { 10, 5 },
	[HCOMM_DT_BF16] = { 7, 8 },
	[HCOMM_DT_FP32] = { 23, 8 },
	[HCOMM_DT_FP64] = { 52, 11 },
	[HCOMM_DT_FP8_E4M3] = { 3, 4 },
	[HCOMM_DT_FP8_E5M2] = { 2, 5 },
};

static inline bool is_fp(u32 dtype)
{
	return dtype >= HCOMM_DT_FP16;
}

/* How many of the operations a type has. */
static inline u32 redop_count(u32 dtype)
{
	return is_fp(dtype) ? (u32)HCOMM_OP_FP_COUNT : (u32)HCOMM_OP_COUNT;
}

/* What is above all finite numbers: a NaN where there is no infinity. */
static inline u64 fp_inf(u32 dtype)
{
	if (dtype == HCOMM_DT_FP8_E4M3)
		return 0x7f;
	const struct fp_format *f = &fp_format[dtype];

	return ((1ULL << f->exp) - 1) << f->frac;
}

static inline u64 fp_sign_bit(u32 dtype)
{
	return 1ULL << (fp_format[dtype].frac + fp_format[dtype].exp);
}

static inline u64 fp_canonical_nan(u32 dtype)
{
	if (dtype == HCOMM_DT_FP8_E4M3)
		return 0x7f;
	return fp_inf(dtype) | 1ULL << (fp_format[dtype].frac - 1);
}

static inline bool fp_is_nan(u32 dtype, u64 x)
{
	x &= fp_sign_bit(dtype) - 1;
	return dtype == HCOMM_DT_FP8_E4M3 ? x == 0x7f : x > fp_inf(dtype);
}

/* Bit patterns at which something changes, of either sign. */
static inline size_t special_values(u32 dtype, u64 *out)
{
	u32 bits = dtype_bytes[dtype] * 8, i;
	u64 mask = bits == 64 ? U64_MAX : (1ULL << bits) - 1;
	u64 sign = 1ULL << (bits - 1), inf, one;
	size_t n = 0, half;

	if (!is_fp(dtype)) {
		for (i = 0; i < bits; i++) {
			out[n++] = 1ULL << i;
			out[n++] = (1ULL << i) - 1;
			out[n++] = ~(1ULL << i) & mask;
		}
		out[n++] = mask;
		out[n++] = 0x5555555555555555ULL & mask;
		return n;
	}
	inf = fp_inf(dtype);
	one = ((1ULL << (fp_format[dtype].exp - 1)) - 1) << fp_format[dtype].frac;
	sign = fp_sign_bit(dtype);
	out[n++] = 0;
	out[n++] = 1;
	out[n++] = 2;
	out[n++] = 3;
	out[n++] = (1ULL << fp_format[dtype].frac) - 1;	/* largest denormal */
	out[n++] = 1ULL << fp_format[dtype].frac;	/* smallest normal */
	out[n++] = (1ULL << fp_format[dtype].frac) + 1;
	out[n++] = 2ULL << fp_format[dtype].frac;
	out[n++] = one;
	out[n++] = one - 1;
	out[n++] = one + 1;
	out[n++] = one - (1ULL << fp_format[dtype].frac);
	out[n++] = one + (1ULL << fp_format[dtype].frac);
	out[n++] = one + ((u64)(fp_format[dtype].frac + 1) << fp_format[dtype].frac);
	out[n++] = one - ((u64)(fp_format[dtype].frac + 1) << fp_format[dtype].frac);
	out[n++] = one - ((u64)(fp_format[dtype].frac + 1) << fp_format[dtype].frac) + 1;
	out[n++] = one / 2;
	out[n++] = one / 2 + 1;
	out[n++] = inf - 1;				/* largest finite */
	out[n++] = inf - 2;
	out[n++] = inf - (1ULL << fp_format[dtype].frac);
	out[n++] = inf;
	out[n++] = inf + 1;				/* signalling NaNs */
	out[n++] = inf + 2;
	out[n++] = fp_canonical_nan(dtype) - 1;
	out[n++] = fp_canonical_nan(dtype);
	out[n++] = fp_canonical_nan(dtype) + 1;
	out[n++] = sign - 1;				/* all of the payload */
	half = n;
	for (i = 0; i < half; i++)
		out[n++] = out[i] | sign;
	return n;
}

#define MAX_SPECIAL	256

/* An element: any pattern, a special one, or a number near to the last one. */
static inline u64 rnd_element(u32 dtype, u64 last)
{
	u32 bits = dtype_bytes[dtype] * 8;
	u64 mask = bits == 64 ? U64_MAX : (1ULL << bits) - 1;
	u64 special[MAX_SPECIAL];
	u64 x = rnd() & mask;

	switch (rnd_below(8)) {
	case 0:
		return special[rnd_below(special_values(dtype, special))];
	case 1:
		return (last + rnd_below(5) - 2) & mask;
	case 2:
		return ((last ^ 1ULL << (bits - 1)) + rnd_below(5) - 2) & mask;
	case 3:
		/* few significant bits: exact results and ties */
		return x & ~(mask >> rnd_below(bits));
	case 4:
		/* exponent near to the last one's, of another sign maybe */
		if (is_fp(dtype))
			return (x & (1ULL << fp_format[dtype].frac | fp_sign_bit(dtype) |
				     ((1ULL << fp_format[dtype].frac) - 1))) ^
			       (last & fp_inf(dtype));
		return x;
	default:
		return x;
	}
}

static inline u64 get(u32 dtype, const void *p, size_t i)
{
	u64 x = 0;

	memcpy(&x, (const u8 *)p + i * dtype_bytes[dtype], dtype_bytes[dtype]);
	return x;
}

static inline void put(u32 dtype, void *p, size_t i, u64 x)
{
	memcpy((u8 *)p + i * dtype_bytes[dtype], &x, dtype_bytes[dtype]);
}

static inline void rnd_fill(u32 dtype, void *a, void *b, size_t n)
{
	size_t i;
	u64 x = 0;

	for (i = 0; i < n; i++) {
		x = rnd_element(dtype, x);
		put(dtype, a, i, x);
		x = rnd_element(dtype, x);
		put(dtype, b, i, x);
	}
}

static inline void rnd_bytes(u8 *p, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		p[i] = (u8)rnd();
}

/* ------------------------------------------------------------------- reference */

static inline float as_float(u64 x)
{
	u32 u = (u32)x;
	float f;

	memcpy(&f, &u, sizeof(f));
	return f;
}

static inline double as_double(u64 x)
{
	double d;

	memcpy(&d, &x, sizeof(d));
	return d;
}

/* The number that a bit pattern of 8 or 16 bits stands for. */
static inline double small_value(u32 dtype, u64 x)
{
	const struct fp_format *f = &fp_format[dtype];
	u64 frac = x & ((1ULL << f->frac) - 1), e = (x >> f->frac) & ((1ULL << f->exp) - 1);
	s32 bias = (1 << (f->exp - 1)) - 1;
	double v;

	if (fp_is_nan(dtype, x))
		v = NAN;
	else if ((x & (fp_sign_bit(dtype) - 1)) == fp_inf(dtype))
		v = INFINITY;
	else if (!e)
		v = ldexp((double)frac, 1 - bias - (s32)f->frac);
	else
		v = ldexp((double)(frac + (1ULL << f->frac)), (s32)e - bias - (s32)f->frac);
	return x & fp_sign_bit(dtype) ? -v : v;
}

/* The bit pattern of 8 or 16 bits that is nearest to a number. */
static inline u64 small_infinity(u32 dtype, u64 sign)
{
	return dtype == HCOMM_DT_FP8_E4M3 ? 0x7f : sign | fp_inf(dtype);
}

static inline u64 small_pattern(u32 dtype, double v)
{
	const struct fp_format *f = &fp_format[dtype];
	s32 bias = (1 << (f->exp - 1)) - 1, e;
	u64 sign = signbit(v) ? fp_sign_bit(dtype) : 0;
	double q;

	if (isnan(v))
		return fp_canonical_nan(dtype);
	v = fabs(v);
	if (isinf(v))
		return small_infinity(dtype, sign);
	if (v == 0)
		return sign;
	e = ilogb(v);
	if (e < 1 - bias)
		e = 1 - bias;
	q = rint(ldexp(v, (s32)f->frac - e));
	if (q == ldexp(1, (s32)f->frac + 1)) {
		q /= 2;
		e++;
	}
	if (dtype == HCOMM_DT_FP8_E4M3 ? ldexp(q, e - 3) > 448 : e > bias)
		return small_infinity(dtype, sign);
	if (q < ldexp(1, (s32)f->frac))
		return sign | (u64)q;
	return sign | (u64)(e + bias) << f->frac | ((u64)q - (1ULL << f->frac));
}

static inline u64 reference_fp(u32 dtype, u32 redop, u64 x, u64 y)
{
	double dx, dy;
	float f;
	u64 r = 0;

	if (fp_is_nan(dtype, x) || fp_is_nan(dtype, y))
		return fp_canonical_nan(dtype);
	if (dtype == HCOMM_DT_FP64) {
		dx = as_double(x);
		dy = as_double(y);
	} else if (dtype == HCOMM_DT_FP32) {
		dx = as_float(x);
		dy = as_float(y);
	} else {
		dx = small_value(dtype, x);
		dy = small_value(dtype, y);
	}
	if (redop == HCOMM_OP_MIN || redop == HCOMM_OP_MAX) {
		bool x_less = dx < dy || (dx == dy && signbit(dx) && !signbit(dy));

		return x_less == (redop == HCOMM_OP_MIN) ? x : y;
	}
	if (dtype == HCOMM_DT_FP64) {
		dx = redop == HCOMM_OP_SUM ? dx + dy : dx * dy;
		if (isnan(dx))
			return fp_canonical_nan(dtype);
		memcpy(&r, &dx, sizeof(dx));
		return r;
	}
	/* Exact in double: rounded once, not by way of fp32. */
	if (dtype_bytes[dtype] == 1)
		return small_pattern(dtype, redop == HCOMM_OP_SUM ? dx + dy : dx * dy);
	f = redop == HCOMM_OP_SUM ? (float)dx + (float)dy : (float)dx * (float)dy;
	if (dtype != HCOMM_DT_FP32)
		return small_pattern(dtype, f);
	if (isnan(f))
		return fp_canonical_nan(dtype);
	memcpy(&r, &f, sizeof(f));
	return r;
}

static inline u64 reference_int(u32 dtype, u32 redop, u64 x, u64 y)
{
	u32 bits = dtype_bytes[dtype] * 8;
	u64 mask = bits == 64 ? U64_MAX : (1ULL << bits) - 1;
	bool is_signed = dtype % 2 == 0;
	bool x_less;

	switch (redop) {
	case HCOMM_OP_SUM:
		return (x + y) & mask;
	case HCOMM_OP_PROD:
		return (x * y) & mask;
	case HCOMM_OP_BAND:
		return x & y;
	case HCOMM_OP_BOR:
		return x | y;
	case HCOMM_OP_BXOR:
		return x ^ y;
	case HCOMM_OP_LAND:
		return x != 0 && y != 0;
	case HCOMM_OP_LOR:
		return x != 0 || y != 0;
	case HCOMM_OP_LXOR:
		return (x != 0) != (y != 0);
	}
	if (is_signed)
		x_less = (x ^ 1ULL << (bits - 1)) < (y ^ 1ULL << (bits - 1));
	else
		x_less = x < y;
	return x_less == (redop == HCOMM_OP_MIN) ? x : y;
}

static inline u64 reference(u32 dtype, u32 redop, u64 x, u64 y)
{
	return is_fp(dtype) ? reference_fp(dtype, redop, x, y) :
			      reference_int(dtype, redop, x, y);
}

/* x divided by n, which is at most 2^16: double is exact enough to round it once. */
static inline u64 reference_div(u32 dtype, u64 x, u32 n)
{
	u32 bits = dtype_bytes[dtype] * 8;
	u64 mask = bits == 64 ? U64_MAX : (1ULL << bits) - 1, r = 0;
	__int128 v = x;
	double d;
	float f;

	if (!is_fp(dtype)) {
		if (dtype % 2 == 0 && x >> (bits - 1))
			v -= (__int128)1 << bits;
		return (u64)(v / n) & mask;
	}
	if (fp_is_nan(dtype, x))
		return fp_canonical_nan(dtype);
	if (dtype == HCOMM_DT_FP64) {
		d = as_double(x) / n;
		memcpy(&r, &d, sizeof(d));
	} else if (dtype == HCOMM_DT_FP32) {
		f = as_float(x) / (float)n;
		memcpy(&r, &f, sizeof(f));
	} else {
		r = small_pattern(dtype, small_value(dtype, x) / n);
	}
	return r;
}

static inline u64 reference_scale(u32 dtype, u32 scale, u64 operand, u64 x)
{
	return scale == HCOMM_SCALE_MUL ? reference(dtype, HCOMM_OP_PROD, x, operand) :
					  reference_div(dtype, x, (u32)operand);
}

#define CANARY		0xa5

static inline bool all_canary(const u8 *p, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++)
		if (p[i] != CANARY)
			return false;
	return true;
}

/* The scalar kernel of a type and operation. */
static inline hcomm_reduce_fn scalar_fn(u32 dtype, u32 redop)
{
	return is_fp(dtype) ? hcomm_reduce_fp_scalar[dtype - HCOMM_DT_FP16][redop] :
			      hcomm_reduce_int_scalar[dtype][redop];
}

/* End of main(): the plan, and whether all went well. */
static inline int finish(void)
{
	printf("1..%u\n", tests_run);
	return tests_failed ? 1 : 0;
}

#endif /* HCOMM_SIM_REDUCE_REF_H */
