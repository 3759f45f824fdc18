// SPDX-License-Identifier: GPL-2.0-only
#include <math.h>
#include <string.h>
#include <strings.h>

#include "elems.h"
#include "util.h"

/* ranks whose factors are not 1: a product of more would leave fp16 */
#define PROD_RANKS	36

const char *const dtype_names[DTYPES] = {
	"int8", "uint8", "int16", "uint16", "int32", "uint32",
	"int64", "uint64", "fp16", "bf16", "fp32", "fp64",
};

const char *const redop_names[REDOPS] = { "sum", "prod", "min", "max" };

static const struct {
	const char *name;
	hcommDataType_t dtype;
} aliases[] = {
	{ "half", hcommFloat16 }, { "float16", hcommFloat16 },
	{ "bfloat16", hcommBfloat16 },
	{ "float", hcommFloat32 }, { "float32", hcommFloat32 },
	{ "double", hcommFloat64 }, { "float64", hcommFloat64 },
};

size_t dtype_size(hcommDataType_t dtype)
{
	static const uint8_t sizes[DTYPES] = {
		1, 1, 2, 2, 4, 4, 8, 8, 2, 2, 4, 8
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
			*op = (hcommRedOp_t)i;
			return true;
		}
	}
	return false;
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

/* fp16 of a number that fp16 holds exactly as a normal number, or 0 */
static uint16_t to_fp16(double value)
{
	unsigned int sign = signbit(value) ? 0x8000 : 0;
	int exponent;
	double m = frexp(fabs(value), &exponent);

	if (value == 0)
		return (uint16_t)sign;
	return (uint16_t)(sign | (unsigned int)(exponent - 1 + 15) << 10 |
			  ((unsigned int)ldexp(m, 11) & 0x3ff));
}

static double from_fp16(uint16_t bits)
{
	int exponent = (bits >> 10) & 0x1f, fraction = bits & 0x3ff;
	double value;

	if (exponent == 0x1f)
		value = fraction ? NAN : INFINITY;
	else if (exponent)
		value = ldexp(fraction | 0x400, exponent - 25);
	else
		value = ldexp(fraction, -24);
	return bits & 0x8000 ? -value : value;
}

static void store(hcommDataType_t dtype, void *elem, union number n)
{
	uint32_t bits;
	uint16_t half;
	float single;

	switch (dtype) {
	case hcommFloat16:
		half = to_fp16(n.f);
		memcpy(elem, &half, sizeof(half));
		break;
	case hcommBfloat16:
		single = (float)n.f;
		memcpy(&bits, &single, sizeof(bits));
		half = (uint16_t)(bits >> 16);
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
	} else if (dtype == hcommFloat16) {
		uint16_t half;

		memcpy(&half, elem, sizeof(half));
		n.f = from_fp16(half);
	} else if (dtype == hcommBfloat16) {
		uint16_t half;

		memcpy(&half, elem, sizeof(half));
		bits = (uint32_t)half << 16;
		memcpy(&single, &bits, sizeof(single));
		n.f = (double)single;
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

	if (!is_float(dtype)) {
		n.u = random;
		return n;
	}
	if (op == hcommProd) {
		/* neighbours cancel out, so that no order leaves the range */
		n.f = rank < PROD_RANKS ? ldexp(1, (int)((rank + i) % 3) - 1) : 1;
		if (random & 1)
			n.f = -n.f;
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
		if (op == hcommSum)
			a.f += b.f;
		else if (op == hcommProd)
			a.f *= b.f;
		else if (less == (op == hcommMin))
			a = b;
		return a;
	}
	less = is_signed(dtype) ? b.i < a.i : b.u < a.u;
	if (op == hcommSum)
		a.u += b.u;
	else if (op == hcommProd)
		a.u *= b.u;
	else if (less == (op == hcommMin))
		a = b;
	return a;
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

void pattern_reduced(void *period, hcommDataType_t dtype, hcommRedOp_t op,
		     unsigned int seed, unsigned int nranks)
{
	size_t elem = dtype_size(dtype);
	unsigned int i, rank;
	union number sum;
	char other[8];

	for (i = 0; i < PERIOD; i++) {
		char *at = (char *)period + i * elem;

		store(dtype, at, pick(dtype, op, seed, 0, i));
		sum = load(dtype, at);
		for (rank = 1; rank < nranks; rank++) {
			/* through the type, which cuts the number */
			store(dtype, other, pick(dtype, op, seed, rank, i));
			sum = combine(dtype, op, sum, load(dtype, other));
		}
		store(dtype, at, sum);
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
