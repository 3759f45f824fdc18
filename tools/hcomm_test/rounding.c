// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sums of arbitrary numbers: they depend on the order of the operands, so the
 * bits have to be the same on all ranks and on every run, and near the true sum.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../common/elems.h"
#include "../common/util.h"
#include "test.h"

#define COUNT	50021

static uint64_t random_bits(uint64_t i)
{
	i += 0x9e3779b97f4a7c15ull;
	i = (i ^ (i >> 30)) * 0xbf58476d1ce4e5b9ull;
	i = (i ^ (i >> 27)) * 0x94d049bb133111ebull;
	return i ^ (i >> 31);
}

/* sign and fraction at random, exponents near that of 1 */
static void random_elem(hcommDataType_t dtype, unsigned int rank, size_t i,
			void *elem)
{
	uint64_t r = random_bits(((uint64_t)rank << 32) + i), e = (r >> 60) & 3;
	uint16_t half;
	uint32_t single;
	uint64_t wide;

	switch (dtype) {
	case hcommFp8E4M3:
		*(uint8_t *)elem = (uint8_t)((r & 0x87) | (5 + e) << 3);
		break;
	case hcommFp8E5M2:
		*(uint8_t *)elem = (uint8_t)((r & 0x83) | (13 + e) << 2);
		break;
	case hcommFloat16:
		half = (uint16_t)((r & 0x83ff) | (13 + e) << 10);
		memcpy(elem, &half, sizeof(half));
		break;
	case hcommBfloat16:
		half = (uint16_t)((r & 0x807f) | (125 + e) << 7);
		memcpy(elem, &half, sizeof(half));
		break;
	case hcommFloat32:
		single = (uint32_t)((r & 0x807fffff) | (125 + e) << 23);
		memcpy(elem, &single, sizeof(single));
		break;
	default:
		wide = (r & 0x800fffffffffffffull) | (1021 + e) << 52;
		memcpy(elem, &wide, sizeof(wide));
		break;
	}
}

/* largest relative error of one rounding */
static double unit_of(hcommDataType_t dtype)
{
	switch (dtype) {
	case hcommFp8E4M3:
		return 0x1p-4;
	case hcommFp8E5M2:
		return 0x1p-3;
	case hcommFloat16:
		return 0x1p-11;
	case hcommBfloat16:
		return 0x1p-8;
	case hcommFloat32:
		return 0x1p-24;
	default:
		return 0x1p-53;
	}
}

static size_t far_from_sum(const struct test *t, hcommDataType_t dtype,
			   const char *result, size_t step)
{
	size_t elem = dtype_size(dtype), wrong = 0, i;
	double sum, size, value, bound;
	unsigned int rank;
	char one[8];

	for (i = 0; i < COUNT; i += step) {
		sum = 0;
		size = 0;
		for (rank = 0; rank < t->size; rank++) {
			random_elem(dtype, rank, i, one);
			value = elem_value(dtype, one);
			sum += value;
			size += fabs(value);
		}
		bound = t->size * unit_of(dtype) * size + 0x1p-50;
		value = elem_value(dtype, result + i * elem);
		wrong += !(fabs(value - sum) <= bound);
	}
	return wrong;
}

static bool same_on_all(const void *data, size_t bytes)
{
	const unsigned char *at = data;
	uint64_t sums[3] = { 0xcbf29ce484222325ull, 0, 0 };

	while (bytes--)
		sums[0] = (sums[0] ^ *at++) * 0x100000001b3ull;
	must(hcommAllReduce(&sums[0], &sums[1], 1, hcommUint64, hcommMin,
			    COMM_WORLD), "AllReduce of a checksum");
	must(hcommAllReduce(&sums[0], &sums[2], 1, hcommUint64, hcommMax,
			    COMM_WORLD), "AllReduce of a checksum");
	return sums[1] == sums[0] && sums[2] == sums[0];
}

static void check_dtype(struct test *t, hcommDataType_t dtype)
{
	size_t elem = dtype_size(dtype), bytes = COUNT * elem, i, wrong;
	char *in = must_hcomm_malloc(bytes), *out = must_hcomm_malloc(bytes);
	char *again = must_malloc(bytes);

	group_begin(t);
	for (i = 0; i < COUNT; i++)
		random_elem(dtype, t->rank, i, in + i * elem);
	must(hcommAllReduce(in, out, COUNT, dtype, hcommSum, COMM_WORLD),
	     "AllReduce");
	memcpy(again, out, bytes);
	must(hcommAllReduce(in, out, COUNT, dtype, hcommSum, COMM_WORLD),
	     "AllReduce");
	check_result(t, !memcmp(again, out, bytes),
		     "%s sums: another run has other bits", dtype_names[dtype]);
	check_result(t, same_on_all(out, bytes),
		     "%s sums: the ranks have different bits",
		     dtype_names[dtype]);
	wrong = far_from_sum(t, dtype, out, t->all ? 1 : 17);
	check_result(t, !wrong, "%s sums: %zu are too far from the true sum",
		     dtype_names[dtype], wrong);
	group_end(t, "rounding %s: same bits everywhere", dtype_names[dtype]);
	hcommFree(in);
	hcommFree(out);
	free(again);
}

void test_rounding(struct test *t)
{
	check_dtype(t, hcommFloat16);
	check_dtype(t, hcommBfloat16);
	check_dtype(t, hcommFloat32);
	check_dtype(t, hcommFloat64);
	check_dtype(t, hcommFp8E4M3);
	check_dtype(t, hcommFp8E5M2);
}
