// SPDX-License-Identifier: GPL-2.0-only
#include <math.h>
#include <string.h>
#include <strings.h>

#include "elems.h"
#include "util.h"

/* ranks whose factors are not 1: a product of more would leave fp16, or e4m3 */
#define PROD_RANKS	36
#define PROD_RANKS_FP8	9

/* ranks whose summands are not 0: a sum of more has bits that fp8 has not */
#define SUM_RANKS_FP8	8

const char *const dtype_names[DTYPES] = {
	"int8", "uint8", "int16", "uint16", "int32", "uint32",
	"int64", "uint64", "fp16", "bf16", "fp32", "fp64", "e4m3", "e5m2",
};

const hcommRedOp_t redops[REDOPS] = {
	hcommSum, hcommProd, hcommMin, hcommMax, hcommAvg,
	hcommBand, hcommBor, hcommBxor, hcommLand, hcommLor, hcommLxor,
};

const char *const redop_names[REDOPS] = {
	"sum", "prod", "min", "max", "avg", "band", "bor", "bxor", "land", "lor", "lxor",
};

static const struct {
	const char *name;
	hcommDataType_t dtype;
} aliases[] = {
	{ "half", hcommFloat16 }, { "float16", hcommFloat16 },
	{ "bfloat16", hcommBfloat16 },
	{ "float", hcommFloat32 }, { "float32", hcommFloat32 },
	{ "double", hcommFloat64 }, { "float64", hcommFloat64 },
	{ "fp8e4m3", hcommFp8E4M3 }, { "fp8e5m2", hcommFp8E5M2 },
};

size_t dtype_size(hcommDataType_t dtype)
{
	static const uint8_t sizes[DTYPES] = {
		1, 1, 2, 2, 4, 4, 8, 8, 2, 2, 4, 8, 1, 1
	};

	return sizes[dtype];
}

bool dtype_by_name(const char *name, hcommDataType_t *dtype)
{
	size_t i;

	for (i = 0; i < DTYPES; i++) {
		if (!strcasecmp(name, dtype_names[i])) {
			*dtype = (hcommDataType_t)i;
			return true;
		}
	}
	for (i = 0; i < ARRAY_SIZE(aliases); i++) {
		if (!strcasecmp(name, aliases[i].name)) {
			*dtype = aliases[i].dtype;
			return true;
		}
	}
	return false;
}

bool redop_by_name(const char *name, hcommRedOp_t *op)
{
	size_t i;

	for (i = 0; i < REDOPS; i++) {
		if (!strcasecmp(name, redop_names[i])) {
			*op = redops[i];
			return true;
		}
	}
	return false;
}

unsigned int redop_index(hcommRedOp_t op)
{
	unsigned int i;

	for (i = 0; i < REDOPS - 1 && redops[i] != op; i++)
		;
	return i;
}

const char *redop_name(hcommRedOp_t op)
{
	if (op == PREMUL_SUM)
		return "premul_sum";
	return redop_names[redop_index(op)];
}

bool redop_fits(hcommRedOp_t op, hcommDataType_t dtype)
{
	return dtype < hcommFloat16 || op < hcommBand || op == hcommAvg;
}

const char *redop_misfit(hcommRedOp_t op, hcommDataType_t dtype, bool scan)
{
	if (scan && op == hcommAvg)
		return "scans have no average";
	if (op != PREMUL_SUM && !redop_fits(op, dtype))
		return "it is of integers: choose another --datatype";
	return NULL;
}

static bool is_float(hcommDataType_t dtype)
{
	return dtype >= hcommFloat16;
}

static bool is_signed(hcommDataType_t dtype)
{
	return dtype == hcommInt8 || dtype == hcommInt16 ||
	       dtype == hcommInt32 || dtype == hcommInt64;
}

/* Numbers are doubles for the floating point types, else 64 bits. */
union number {
	double f;
	int64_t i;
	uint64_t u;
};

/* Floating point types of 8 and 16 bits. */
static const struct small {
	int frac;
	int exp;
} smalls[DTYPES] = {
	[hcommFloat16] = { 10, 5 }, [hcommBfloat16] = { 7, 8 },
	[hcommFp8E4M3] = { 3, 4 }, [hcommFp8E5M2] = { 2, 5 },
};

/* The bits of the nearest number, of what is not too large for the type. */
static unsigned int to_small(const struct small *s, double value)
{
	int bias = (1 << (s->exp - 1)) - 1, e;
	unsigned int sign = signbit(value) ? 1u << (s->frac + s->exp) : 0;

	value = fabs(value);
	if (value == 0)
		return sign;
	e = ilogb(value);
	e = e < 1 - bias ? 1 - bias : e;
	return sign + ((unsigned int)(e + bias - 1) << s->frac) +
	       (unsigned int)nearbyint(ldexp(value, s->frac - e));
}

static double from_small(const struct small *s, hcommDataType_t dtype, unsigned int bits)
{
	int bias = (1 << (s->exp - 1)) - 1, top = (1 << s->exp) - 1;
	int exponent = (int)(bits >> s->frac) & top;
	int one = 1 << s->frac, fraction = (int)bits & (one - 1);
	double value;

	if (dtype == hcommFp8E4M3 ? exponent == top && fraction == one - 1 :
				    exponent == top && fraction)
		value = NAN;
	else if (dtype != hcommFp8E4M3 && exponent == top)
		value = INFINITY;
	else if (exponent)
		value = ldexp(fraction | one, exponent - bias - s->frac);
	else
		value = ldexp(fraction, 1 - bias - s->frac);
	return bits >> (s->frac + s->exp) & 1 ? -value : value;
}

static void store(hcommDataType_t dtype, void *elem, union number n)
{
	uint32_t bits;
	uint16_t half;
	float single;

	switch (dtype) {
	case hcommFp8E4M3:
	case hcommFp8E5M2:
		*(uint8_t *)elem = (uint8_t)to_small(&smalls[dtype], n.f);
		break;
	case hcommFloat16:
	case hcommBfloat16:
		half = (uint16_t)to_small(&smalls[dtype], n.f);
		memcpy(elem, &half, sizeof(half));
		break;
	case hcommFloat32:
		single = (float)n.f;
		memcpy(elem, &single, sizeof(single));
		break;
	case hcommFloat64:
		memcpy(elem, &n.f, sizeof(n.f));
		break;
	case hcommInt8:
	case hcommUint8:
		*(uint8_t *)elem = (uint8_t)n.u;
		break;
	case hcommInt16:
	case hcommUint16:
		half = (uint16_t)n.u;
		memcpy(elem, &half, sizeof(half));
		break;
	case hcommInt32:
	case hcommUint32:
		bits = (uint32_t)n.u;
		memcpy(elem, &bits, sizeof(bits));
		break;
	default:
		memcpy(elem, &n.u, sizeof(n.u));
		break;
	}
}

static union number load(hcommDataType_t dtype, const void *elem)
{
	size_t size = dtype_size(dtype);
	union number n = { .u = 0 };
	uint32_t bits;
	float single;

	if (dtype == hcommFloat64) {
		memcpy(&n.f, elem, sizeof(n.f));
	} else if (dtype == hcommFloat32) {
		memcpy(&single, elem, sizeof(single));
		n.f = (double)single;
	} else if (dtype == hcommFp8E4M3 || dtype == hcommFp8E5M2) {
		n.f = from_small(&smalls[dtype], dtype, *(const uint8_t *)elem);
	} else if (is_float(dtype)) {
		uint16_t half;

		memcpy(&half, elem, sizeof(half));
		n.f = from_small(&smalls[dtype], dtype, half);
	} else {
		unsigned int spare = 64 - 8 * (unsigned int)size;

		/* the same on both byte orders */
		if (size == 1)
			n.u = *(const uint8_t *)elem;
		else if (size == 8)
			memcpy(&n.u, elem, sizeof(n.u));
		else if (size == 4)
			n.u = (memcpy(&bits, elem, sizeof(bits)), bits);
		else
			n.u = ({ uint16_t half; memcpy(&half, elem, 2); half; });
		if (is_signed(dtype))
			n.i = (int64_t)(n.u << spare) >> spare;
	}
	return n;
}

double elem_value(hcommDataType_t dtype, const void *elem)
{
	union number n = load(dtype, elem);

	if (is_float(dtype))
		return n.f;
	return is_signed(dtype) ? (double)n.i : (double)n.u;
}

static uint64_t mix(uint64_t z)
{
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return z ^ (z >> 31);
}

static union number pick(hcommDataType_t dtype, hcommRedOp_t op,
			 unsigned int seed, unsigned int rank, unsigned int i)
{
	uint64_t random = mix(((uint64_t)seed << 40) + ((uint64_t)rank << 16) + i);
	union number n;

	bool fp8 = is_float(dtype) && dtype_size(dtype) == 1;

	if (!is_float(dtype)) {
		/* zeros too, where they matter most */
		n.u = op < hcommLand || op > hcommLxor || random >> 62 ? random : 0;
		return n;
	}
	if (op == hcommProd) {
		/* neighbours cancel out, so that no order leaves the range */
		n.f = rank < (fp8 ? PROD_RANKS_FP8 : PROD_RANKS) ? ldexp(1, (int)((rank + i) % 3) - 1) : 1;
		if (random & 1)
			n.f = -n.f;
	} else if (fp8) {
		if (op == hcommMin || op == hcommMax)
			n.f = (double)(random % 15) - 7;
		else
			n.f = rank < SUM_RANKS_FP8 ? (double)(random % 3) - 1 : 0;
	} else if (dtype == hcommFloat16 || dtype == hcommBfloat16) {
		n.f = (double)(random % 7) - 3;
	} else {
		n.f = ((double)(random % 4001) - 2000) / 8;
	}
	return n;
}

static union number combine(hcommDataType_t dtype, hcommRedOp_t op,
			    union number a, union number b)
{
	bool less;

	if (is_float(dtype)) {
		less = b.f < a.f;
		if (op == hcommSum || op == hcommAvg || op == PREMUL_SUM)
			a.f += b.f;
		else if (op == hcommProd)
			a.f *= b.f;
		else if (less == (op == hcommMin))
			a = b;
		return a;
	}
	less = is_signed(dtype) ? b.i < a.i : b.u < a.u;
	switch (op) {
	case hcommSum:
	case hcommAvg:
	case PREMUL_SUM:
		a.u += b.u;
		return a;
	case hcommProd:
		a.u *= b.u;
		return a;
	case hcommBand:
		a.u &= b.u;
		return a;
	case hcommBor:
		a.u |= b.u;
		return a;
	case hcommBxor:
		a.u ^= b.u;
		return a;
	case hcommLand:
		a.u = a.u && b.u;
		return a;
	case hcommLor:
		a.u = a.u || b.u;
		return a;
	case hcommLxor:
		a.u = !a.u != !b.u;
		return a;
	default:
		return less == (op == hcommMin) ? b : a;
	}
}

/* Of a sum as the type holds it; integers round toward zero. */
static union number divide(hcommDataType_t dtype, union number sum, unsigned int nranks)
{
	if (is_float(dtype))
		sum.f /= nranks;
	else if (is_signed(dtype))
		sum.i /= (int64_t)nranks;
	else
		sum.u /= nranks;
	return sum;
}

void pattern_of_rank(void *period, hcommDataType_t dtype, hcommRedOp_t op,
		     unsigned int seed, unsigned int rank)
{
	size_t elem = dtype_size(dtype);
	unsigned int i;

	for (i = 0; i < PERIOD; i++)
		store(dtype, (char *)period + i * elem,
		      pick(dtype, op, seed, rank, i));
}

static int scalar_of_rank(unsigned int rank)
{
	return rank % 2 ? 1 : -1;
}

void premul_scalar(void *scalar, hcommDataType_t dtype, unsigned int rank)
{
	union number n;

	if (is_float(dtype))
		n.f = scalar_of_rank(rank);
	else
		n.i = scalar_of_rank(rank);
	store(dtype, scalar, n);
}

/* what @rank puts into the reduction, as the type holds it */
static union number summand(hcommDataType_t dtype, hcommRedOp_t op, unsigned int seed,
			    unsigned int rank, unsigned int i)
{
	union number n = pick(dtype, op, seed, rank, i);
	char elem[8];

	if (op == PREMUL_SUM && is_float(dtype))
		n.f *= scalar_of_rank(rank);
	else if (op == PREMUL_SUM)
		n.u *= (uint64_t)(int64_t)scalar_of_rank(rank);
	/* through the type, which cuts the number */
	store(dtype, elem, n);
	return load(dtype, elem);
}

void pattern_reduced(void *period, hcommDataType_t dtype, hcommRedOp_t op,
		     unsigned int seed, unsigned int nranks)
{
	size_t elem = dtype_size(dtype);
	unsigned int i, rank;
	union number sum;

	for (i = 0; i < PERIOD; i++) {
		char *at = (char *)period + i * elem;

		sum = summand(dtype, op, seed, 0, i);
		for (rank = 1; rank < nranks; rank++)
			sum = combine(dtype, op, sum, summand(dtype, op, seed, rank, i));
		store(dtype, at, sum);
		if (op == hcommAvg && nranks > 1)
			store(dtype, at, divide(dtype, load(dtype, at), nranks));
	}
}

void pattern_fill(void *dst, const void *period, size_t elem, size_t first,
		  size_t count)
{
	size_t bytes = count * elem, done, n;

	/* one period by hand, the rest doubles what is there */
	first %= PERIOD;
	n = (PERIOD - first) * elem;
	n = n < bytes ? n : bytes;
	if (n)
		memcpy(dst, (const char *)period + first * elem, n);
	for (done = n; done < bytes && done < PERIOD * elem; done += n) {
		n = bytes - done < first * elem ? bytes - done : first * elem;
		memcpy((char *)dst + done, period, n);
	}
	for (; done < bytes; done += n) {
		n = done - done % (PERIOD * elem);
		n = bytes - done < n ? bytes - done : n;
		memcpy((char *)dst + done, dst, n);
	}
}

size_t pattern_wrong(const void *data, const void *period, size_t elem,
		     size_t first, size_t count, size_t *where)
{
	size_t wrong = 0, i = 0, n, k;

	while (i < count) {
		size_t at = (first + i) % PERIOD;
		const char *a = (const char *)data + i * elem;
		const char *b = (const char *)period + at * elem;

		n = PERIOD - at < count - i ? PERIOD - at : count - i;
		if (memcmp(a, b, n * elem)) {
			for (k = 0; k < n; k++) {
				if (!memcmp(a + k * elem, b + k * elem, elem))
					continue;
				if (!wrong++ && where)
					*where = i + k;
			}
		}
		i += n;
	}
	return wrong;
}
