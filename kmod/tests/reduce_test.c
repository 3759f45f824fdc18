// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit: reductions inside the kernel: vector units give the bits of the scalar
 * code, at every length and alignment, and operands commute.
 */
#include <kunit/test.h>
#include <linux/random.h>
#include "../core/mem.h"
#include "../core/reduce.h"

#define MAX_N		70
#define MAX_BYTES	(MAX_N * 8 + 16)

struct bufs {
	u8 a[MAX_BYTES], b[MAX_BYTES], simd[MAX_BYTES], scalar[MAX_BYTES];
};

static void one(struct kunit *test, struct bufs *x, u32 way, u32 dtype, u32 redop, u32 n,
		u32 skew)
{
	size_t len = (size_t)n * hcomm_dtype_size(dtype);

	get_random_bytes(x->a, sizeof(x->a));
	get_random_bytes(x->b, sizeof(x->b));
	memset(x->simd, 0xa5, sizeof(x->simd));
	memset(x->scalar, 0xa5, sizeof(x->scalar));
	hcomm_reduce_init(way);
	hcomm_reduce(dtype, redop, x->simd + skew, x->a + skew, x->b + 1, n);
	hcomm_reduce_init(HCOMM_REDUCE_SCALAR);
	hcomm_reduce(dtype, redop, x->scalar + skew, x->b + 1, x->a + skew, n);
	hcomm_reduce_init(HCOMM_REDUCE_ANY);
	KUNIT_EXPECT_EQ_MSG(test, memcmp(x->simd, x->scalar, sizeof(x->simd)), 0,
			    "way %u dtype %u op %u n %u skew %u", way, dtype, redop, n,
			    skew);
	KUNIT_EXPECT_EQ(test, x->simd[skew + len], 0xa5);
	if (skew)
		KUNIT_EXPECT_EQ(test, x->simd[skew - 1], 0xa5);
}

static void reduce_same_bits(struct kunit *test)
{
	struct bufs *x = kunit_kzalloc(test, sizeof(*x), GFP_KERNEL);
	u32 dtype, redop, n;

	KUNIT_ASSERT_NOT_NULL(test, x);
	for (dtype = 0; dtype < HCOMM_DT_COUNT; dtype++) {
		for (redop = 0; redop < HCOMM_OP_COUNT; redop++) {
			for (n = 0; n <= MAX_N && HCOMM_OP_FITS(redop, dtype); n++) {
				one(test, x, HCOMM_REDUCE_HALF, dtype, redop, n, n % 5);
				one(test, x, HCOMM_REDUCE_WHOLE, dtype, redop, n, n % 5);
			}
		}
	}
}

static void one_scale(struct kunit *test, struct bufs *x, u32 dtype, u32 scale,
		      u64 operand, u32 n, u32 skew)
{
	size_t len = (size_t)n * hcomm_dtype_size(dtype);

	get_random_bytes(x->a, sizeof(x->a));
	memset(x->simd, 0xa5, sizeof(x->simd));
	memset(x->scalar, 0xa5, sizeof(x->scalar));
	hcomm_reduce_init(HCOMM_REDUCE_WHOLE);
	hcomm_scale(dtype, scale, operand, x->simd + skew, x->a + skew, n);
	hcomm_reduce_init(HCOMM_REDUCE_SCALAR);
	memcpy(x->scalar + skew, x->a + skew, len);
	hcomm_scale(dtype, scale, operand, x->scalar + skew, x->scalar + skew, n);
	hcomm_reduce_init(HCOMM_REDUCE_ANY);
	KUNIT_EXPECT_EQ_MSG(test, memcmp(x->simd, x->scalar, sizeof(x->simd)), 0,
			    "dtype %u scale %u by %llu n %u skew %u", dtype, scale,
			    operand, n, skew);
	KUNIT_EXPECT_EQ(test, x->simd[skew + len], 0xa5);
}

static void scale_same_bits(struct kunit *test)
{
	struct bufs *x = kunit_kzalloc(test, sizeof(*x), GFP_KERNEL);
	u32 dtype, n;

	KUNIT_ASSERT_NOT_NULL(test, x);
	for (dtype = 0; dtype < HCOMM_DT_COUNT; dtype++) {
		for (n = 0; n <= MAX_N; n++) {
			one_scale(test, x, dtype, HCOMM_SCALE_MUL, n + 1, n, n % 5);
			one_scale(test, x, dtype, HCOMM_SCALE_DIV, n + 1, n, n % 5);
		}
		one_scale(test, x, dtype, HCOMM_SCALE_DIV, HCOMM_MAX_RANKS, MAX_N, 1);
	}
}

static void scale_values(struct kunit *test)
{
	s64 least = S64_MIN, neg = -7, q;
	u32 ten = 0x41200000, three = 0x40400000, r = 0;

	hcomm_scale(HCOMM_DT_INT64, HCOMM_SCALE_DIV, 1, &q, &least, 1);
	KUNIT_EXPECT_EQ(test, q, S64_MIN);
	hcomm_scale(HCOMM_DT_INT64, HCOMM_SCALE_DIV, 2, &q, &neg, 1);
	KUNIT_EXPECT_EQ(test, q, -3ll);
	hcomm_scale(HCOMM_DT_UINT64, HCOMM_SCALE_DIV, 2, &q, &neg, 1);
	KUNIT_EXPECT_EQ(test, q, S64_MAX - 3);
	hcomm_scale(HCOMM_DT_FP32, HCOMM_SCALE_DIV, 3, &r, &ten, 1);
	KUNIT_EXPECT_EQ(test, r, 0x40555555u);
	hcomm_scale(HCOMM_DT_FP32, HCOMM_SCALE_MUL, three, &r, &ten, 1);
	KUNIT_EXPECT_EQ(test, r, 0x41f00000u);
}

static void reduce_values(struct kunit *test)
{
	/* 1.5 + 2.25 = 3.75, in the bits of binary32 */
	u32 a = 0x3fc00000, b = 0x40100000, r = 0;
	u32 nan = 0xffc12345, neg0 = 0x80000000, pos0 = 0;
	s8 c = 100, d = 100, e = 0;

	hcomm_reduce(HCOMM_DT_FP32, HCOMM_OP_SUM, &r, &a, &b, 1);
	KUNIT_EXPECT_EQ(test, r, 0x40700000u);
	hcomm_reduce(HCOMM_DT_FP32, HCOMM_OP_PROD, &r, &a, &b, 1);
	KUNIT_EXPECT_EQ(test, r, 0x40580000u);
	hcomm_reduce(HCOMM_DT_FP32, HCOMM_OP_MAX, &r, &a, &nan, 1);
	KUNIT_EXPECT_EQ(test, r, 0x7fc00000u);
	hcomm_reduce(HCOMM_DT_FP32, HCOMM_OP_MIN, &r, &pos0, &neg0, 1);
	KUNIT_EXPECT_EQ(test, r, neg0);
	hcomm_reduce(HCOMM_DT_INT8, HCOMM_OP_SUM, &e, &c, &d, 1);
	KUNIT_EXPECT_EQ(test, e, (s8)-56);

	/* 448 is the largest number of e4m3, 57344 of e5m2. */
	a = 0x7e;
	hcomm_reduce(HCOMM_DT_FP8_E4M3, HCOMM_OP_SUM, &r, &a, &a, 1);
	KUNIT_EXPECT_EQ(test, r & 0xff, 0x7fu);
	a = 0x7b;
	hcomm_reduce(HCOMM_DT_FP8_E5M2, HCOMM_OP_SUM, &r, &a, &a, 1);
	KUNIT_EXPECT_EQ(test, r & 0xff, 0x7cu);
}

/* Elements that straddle two spans. */
static void mem_straddles(struct kunit *test)
{
	u8 x0[3] = { 1, 0, 0 }, x1[7] = { 0, 2, 0, 0, 0 };
	struct hcomm_span spans[] = { { 0, x0 }, { 3, x1 } };
	struct hcomm_mem mem = { .length = 10, .nspans = 2, .spans = spans };
	struct hcomm_buf at = { &mem, 0 };
	u32 add[2] = { 0x01000001, 5 }, got[2];

	hcomm_mem_reduce_flat(HCOMM_DT_UINT32, HCOMM_OP_SUM, at, at, add, 8);
	hcomm_mem_read(got, at, 8);
	KUNIT_EXPECT_EQ(test, got[0], 0x01000002u);
	KUNIT_EXPECT_EQ(test, got[1], 7u);
	KUNIT_EXPECT_EQ(test, x1[5], 0);
	KUNIT_EXPECT_EQ(test, x1[6], 0);
}

static struct kunit_case reduce_cases[] = {
	KUNIT_CASE(reduce_same_bits),
	KUNIT_CASE(reduce_values),
	KUNIT_CASE(mem_straddles),
	KUNIT_CASE(scale_same_bits),
	KUNIT_CASE(scale_values),
	{}
};

static struct kunit_suite reduce_suite = {
	.name = "hcomm_reduce",
	.test_cases = reduce_cases,
};

kunit_test_suite(reduce_suite);
