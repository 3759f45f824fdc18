// SPDX-License-Identifier: GPL-2.0-only
/*
 * Unit test of the reductions and of scaling (kmod/core/reduce*.c).  The scalar
 * kernels are compared with the reference, the AVX2 kernels with the scalar ones.
 *
 * Without arguments it prints TAP; --bench measures throughput, --seed=N changes
 * the random numbers.
 */
#include <time.h>

#include "reduce_ref.h"

long hcomm_user_alloc_budget = -1;

/* ------------------------------------------------------------------------ tests */

static bool have_simd;

static hcomm_reduce_fn simd_fn(u32 dtype, u32 redop)
{
#ifdef __x86_64__
	if (have_simd && dtype < HCOMM_DT_INT_COUNT)
		return hcomm_reduce_int_avx2[dtype][redop];
	if (have_simd)
		return hcomm_reduce_fp_avx2[dtype - HCOMM_DT_INT_COUNT][redop];
#endif
	return scalar_fn(dtype, redop);
}

/* By halves of vectors, where there is such a kernel. */
static hcomm_reduce_fn half_fn(u32 dtype, u32 redop)
{
	hcomm_reduce_fn fn = NULL;

#ifdef __x86_64__
	if (have_simd && dtype >= HCOMM_DT_INT_COUNT)
		fn = hcomm_reduce_fp_half[dtype - HCOMM_DT_INT_COUNT][redop];
#endif
	return fn ? fn : simd_fn(dtype, redop);
}

#define BLOCK	2048

/* n elements: all kernels, both orders, against the reference. */
static void check_block(u32 dtype, u32 redop, const void *a, const void *b, size_t n)
{
	static u64 s[BLOCK], v[BLOCK], w[BLOCK];
	size_t bytes = n * dtype_bytes[dtype], i;

	scalar_fn(dtype, redop)(s, a, b, n);
	for (i = 0; i < n; i++) {
		u64 x = get(dtype, a, i), y = get(dtype, b, i);
		u64 want = reference(dtype, redop, x, y);

		if (!check(get(dtype, s, i) == want, "%llx (op) %llx = %llx, not %llx",
			   (unsigned long long)x, (unsigned long long)y,
			   (unsigned long long)want,
			   (unsigned long long)get(dtype, s, i)))
			return;
	}
	scalar_fn(dtype, redop)(w, b, a, n);
	check(!memcmp(s, w, bytes), "scalar does not commute");
	simd_fn(dtype, redop)(v, a, b, n);
	for (i = 0; i < n && memcmp(s, v, bytes); i++)
		if (!check(get(dtype, s, i) == get(dtype, v, i),
			   "%llx (op) %llx = %llx, vector kernel has %llx",
			   (unsigned long long)get(dtype, a, i),
			   (unsigned long long)get(dtype, b, i),
			   (unsigned long long)get(dtype, s, i),
			   (unsigned long long)get(dtype, v, i)))
			return;
	simd_fn(dtype, redop)(w, b, a, n);
	check(!memcmp(v, w, bytes), "vector kernel does not commute");
	half_fn(dtype, redop)(w, a, b, n);
	check(!memcmp(v, w, bytes), "halves of vectors differ");
	half_fn(dtype, redop)(w, b, a, n);
	check(!memcmp(v, w, bytes), "kernel of halves does not commute");
}

/* Every special value with every other one. */
static void test_special(u32 dtype, u32 redop)
{
	u64 special[MAX_SPECIAL], a[BLOCK], b[BLOCK];
	size_t n = special_values(dtype, special), i, j, fill = 0;

	for (i = 0; i < n; i++) {
		for (j = 0; j < n; j++) {
			put(dtype, a, fill, special[i]);
			put(dtype, b, fill, special[j]);
			if (++fill == BLOCK) {
				check_block(dtype, redop, a, b, fill);
				fill = 0;
			}
		}
	}
	check_block(dtype, redop, a, b, fill);
	report("special values", dtype_name[dtype], redop_name[redop]);
}

static void test_random(u32 dtype, u32 redop)
{
	u64 a[BLOCK], b[BLOCK];
	int i;

	for (i = 0; i < 100; i++) {
		rnd_fill(dtype, a, b, BLOCK);
		check_block(dtype, redop, a, b, BLOCK);
	}
	report("random values", dtype_name[dtype], redop_name[redop]);
}

/* Every pattern with a sample of others; all pairs of the 8 bit types. */
static void test_exhaustive(u32 dtype, u32 redop)
{
	u32 bits = dtype_bytes[dtype] * 8, count = 1u << bits, i, j;
	u32 rounds = bits == 8 ? 256 : 24;
	u64 special[MAX_SPECIAL], a[BLOCK], b[BLOCK];
	size_t n = special_values(dtype, special), fill = 0;

	for (j = 0; j < rounds; j++) {
		u64 y = bits == 8 ? j : j % 2 ? special[rnd_below(n)] : rnd() % count;

		for (i = 0; i < count; i++) {
			put(dtype, a, fill, i);
			put(dtype, b, fill, y);
			if (++fill == BLOCK) {
				check_block(dtype, redop, a, b, fill);
				fill = 0;
			}
		}
	}
	check_block(dtype, redop, a, b, fill);
	report("all values", dtype_name[dtype], redop_name[redop]);
}

#define MARGIN		64
#define MAX_LEN		200
#define ROOM		(MAX_LEN * 8 + 2 * MARGIN + 8)

/* One length at one alignment: dst apart, dst is a, dst is b. */
static void check_place(u32 dtype, u32 redop, hcomm_reduce_fn fn, size_t n,
			size_t off_d, size_t off_a, size_t off_b)
{
	static u8 buf[3][ROOM], want[MAX_LEN * 8];
	size_t bytes = n * dtype_bytes[dtype];
	u8 *d = buf[0] + MARGIN + off_d, *a = buf[1] + MARGIN + off_a;
	u8 *b = buf[2] + MARGIN + off_b, *res;
	int alias, i;

	for (alias = 0; alias < 3; alias++) {
		memset(buf, CANARY, sizeof(buf));
		rnd_fill(dtype, a, b, n);
		scalar_fn(dtype, redop)(want, a, b, n);
		res = alias == 0 ? d : alias == 1 ? a : b;
		if (fn)
			fn(res, a, b, n);
		else
			hcomm_reduce(dtype, redop, res, a, b, n);
		check(!memcmp(res, want, bytes), "n %zu alias %d offsets %zu %zu %zu", n,
		      alias, off_d, off_a, off_b);
		if (alias)
			check(all_canary(buf[0], ROOM), "n %zu: wrote elsewhere", n);
		for (i = 0; i < 3; i++) {
			u8 *p = i == 0 ? d : i == 1 ? a : b;

			check(all_canary(buf[i], (size_t)(p - buf[i])) &&
			      all_canary(p + bytes, (size_t)(buf[i] + ROOM - (p + bytes))),
			      "n %zu alias %d: canary of operand %d", n, alias, i);
		}
	}
}

static void test_lengths(u32 dtype, u32 redop)
{
	hcomm_reduce_fn fn[] = { scalar_fn(dtype, redop), simd_fn(dtype, redop),
				 half_fn(dtype, redop), NULL };
	size_t n, k;

	for (n = 0; n <= MAX_LEN; n++)
		for (k = 0; k < ARRAY_SIZE(fn); k++)
			check_place(dtype, redop, fn[k], n, rnd_below(8), rnd_below(8),
				    rnd_below(8));
	report("lengths and alignments", dtype_name[dtype], redop_name[redop]);
}

/* Arrays of several sections through hcomm_reduce(). */
static void test_long(u32 dtype, u32 redop)
{
	size_t n = 20000 / dtype_bytes[dtype] + rnd_below(50);
	size_t bytes = n * dtype_bytes[dtype];
	u8 *a = malloc(bytes), *b = malloc(bytes), *d = malloc(bytes), *want = malloc(bytes);
	u32 way;

	if (!a || !b || !d || !want)
		abort();
	rnd_fill(dtype, a, b, n);
	scalar_fn(dtype, redop)(want, a, b, n);
	for (way = HCOMM_REDUCE_HALF; way <= HCOMM_REDUCE_ANY; way++) {
		hcomm_reduce_init(way);
		memset(d, CANARY, bytes);
		hcomm_reduce(dtype, redop, d, a, b, n);
		check(!memcmp(d, want, bytes), "long array, way %u", way);
	}
	hcomm_reduce_init(HCOMM_REDUCE_SCALAR);
	check(!hcomm_reduce_simd(), "vector units although not allowed");
	hcomm_reduce(dtype, redop, a, a, b, n);
	hcomm_reduce_init(HCOMM_REDUCE_ANY);
	check(!memcmp(a, want, bytes), "long array, scalar");
	free(a);
	free(b);
	free(d);
	free(want);
	report("long arrays", dtype_name[dtype], redop_name[redop]);
}

/* ------------------------------------------------------------------- scaling */

static const char *const scale_name[HCOMM_SCALE_COUNT] = { "times", "divided" };

/* n elements by one operand: apart and in place, by vector units and without. */
static void check_scale(u32 dtype, u32 scale, u64 operand, const void *src, size_t n)
{
	static u64 got[BLOCK];
	size_t i;
	int way;

	for (way = 0; way < 4; way++) {
		memcpy(got, src, n * dtype_bytes[dtype]);
		hcomm_reduce_init(way & 1 ? HCOMM_REDUCE_WHOLE : HCOMM_REDUCE_SCALAR);
		hcomm_scale(dtype, scale, operand, got, way & 2 ? got : src, n);
		for (i = 0; i < n; i++) {
			u64 x = get(dtype, src, i);
			u64 want = reference_scale(dtype, scale, operand, x);

			if (!check(get(dtype, got, i) == want,
				   "%llx %s by %llx = %llx, not %llx (way %d)",
				   (unsigned long long)x, scale_name[scale],
				   (unsigned long long)operand, (unsigned long long)want,
				   (unsigned long long)get(dtype, got, i), way))
				break;
		}
	}
	hcomm_reduce_init(HCOMM_REDUCE_ANY);
}

/* Divisors: small ones, those around powers of two, and any. */
static u64 rnd_operand(u32 dtype, u32 scale, int i)
{
	static const u32 edges[] = { HCOMM_MAX_RANKS, HCOMM_MAX_RANKS - 1, 32768, 32769,
				     4097, 1024, 1023, 257, 256, 255, 129, 128, 127, 641 };

	if (scale == HCOMM_SCALE_MUL)
		return rnd_element(dtype, 0);
	if (i < 20)
		return (u64)i + 1;
	if (i < 20 + (int)ARRAY_SIZE(edges))
		return edges[i - 20];
	return 1 + rnd_below(HCOMM_MAX_RANKS);
}

static void test_scale_values(u32 dtype, u32 scale)
{
	u64 a[BLOCK], b[BLOCK], special[MAX_SPECIAL];
	size_t n = special_values(dtype, special), k;
	int i;

	for (i = 0; i < 100; i++) {
		u64 operand = rnd_operand(dtype, scale, i);

		rnd_fill(dtype, a, b, BLOCK);
		for (k = 0; k < n; k++)
			put(dtype, a, k, special[k]);
		check_scale(dtype, scale, operand, a, BLOCK);
	}
	report(scale_name[scale], dtype_name[dtype], "values");
}

/* Every number of 8 or 16 bits by many divisors. */
static void test_scale_exhaustive(u32 dtype)
{
	u32 bits = dtype_bytes[dtype] * 8, step = bits == 8 ? 61 : 997, div, i, fill;
	u64 a[BLOCK];

	for (div = 1; div <= HCOMM_MAX_RANKS;
	     div += bits == 8 && div < 1024 ? 1 : step) {
		for (i = 0; i < 1u << bits; i += fill) {
			for (fill = 0; fill < BLOCK && i + fill < 1u << bits; fill++)
				put(dtype, a, fill, i + fill);
			check_scale(dtype, HCOMM_SCALE_DIV, div, a, fill);
		}
	}
	report("divided", dtype_name[dtype], "all values");
}

static void test_scale_lengths(u32 dtype, u32 scale)
{
	static u8 buf[2][ROOM * 8];
	size_t size = dtype_bytes[dtype], n, i;

	for (n = 0; n <= MAX_LEN * 7; n += n < MAX_LEN ? 1 : 97) {
		u8 *d = buf[0] + MARGIN + rnd_below(8), *s = buf[1] + MARGIN + rnd_below(8);
		u64 operand = rnd_operand(dtype, scale, (int)n);

		memset(buf, CANARY, sizeof(buf));
		rnd_bytes(s, n * size);
		hcomm_scale(dtype, scale, operand, d, s, n);
		for (i = 0; i < n; i++)
			if (!check(get(dtype, d, i) ==
				   reference_scale(dtype, scale, operand, get(dtype, s, i)),
				   "element %zu of %zu", i, n))
				break;
		check(all_canary(buf[0], (size_t)(d - buf[0])) &&
		      all_canary(d + n * size, (size_t)(buf[1] - (d + n * size))),
		      "n %zu: wrote elsewhere", n);
	}
	report(scale_name[scale], dtype_name[dtype], "lengths and alignments");
}

/* Averages that people look up: of the smallest and largest numbers, and ties. */
static void test_scale_known(void)
{
	s8 a = -128, b = -7;
	s64 c = INT64_MIN, d = -1;
	u64 e = U64_MAX;
	u16 f = 0x3f80;		/* 1 in bf16 */
	u8 g = 0x7e;		/* 448 in e4m3 */

	hcomm_scale(HCOMM_DT_INT8, HCOMM_SCALE_DIV, 3, &a, &a, 1);
	check(a == -42, "-128 / 3 = %d", a);
	hcomm_scale(HCOMM_DT_INT8, HCOMM_SCALE_DIV, 2, &b, &b, 1);
	check(b == -3, "-7 / 2 = %d", b);
	hcomm_scale(HCOMM_DT_INT64, HCOMM_SCALE_DIV, 1, &c, &c, 1);
	check(c == INT64_MIN, "the smallest number / 1");
	hcomm_scale(HCOMM_DT_INT64, HCOMM_SCALE_DIV, 2, &d, &d, 1);
	check(d == 0, "-1 / 2 = %lld", (long long)d);
	hcomm_scale(HCOMM_DT_UINT64, HCOMM_SCALE_DIV, 5, &e, &e, 1);
	check(e == U64_MAX / 5, "the largest number / 5");
	hcomm_scale(HCOMM_DT_BF16, HCOMM_SCALE_DIV, 3, &f, &f, 1);
	check(f == 0x3eab, "1 / 3 = %x", f);
	hcomm_scale(HCOMM_DT_FP8_E4M3, HCOMM_SCALE_MUL, 0x40, &g, &g, 1);
	check(g == 0x7f, "448 * 2 is no number in e4m3, not %x", g);
	report("known quotients", "all", "");
}

static void test_sizes(void)
{
	u32 i;

	for (i = 0; i < HCOMM_DT_COUNT; i++)
		check(hcomm_dtype_size(i) == dtype_bytes[i], "size of %s", dtype_name[i]);
	check(!hcomm_dtype_size(HCOMM_DT_COUNT), "size of an unknown type");
	check(!hcomm_dtype_size(U32_MAX), "size of an unknown type");
	report("element sizes", "all", "");
}

/* -------------------------------------------------------------------- benchmark */

static double now_s(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static double bench_one(u32 dtype, u32 redop, u8 *d, const u8 *a, const u8 *b, size_t len)
{
	double t, best = INFINITY, end = now_s() + 0.05;

	do {
		t = now_s();
		hcomm_reduce(dtype, redop, d, a, b, len / dtype_bytes[dtype]);
		t = now_s() - t;
		best = t < best ? t : best;
	} while (now_s() < end);
	return (double)len / best / 1e9;
}

static double bench_scale(u32 dtype, u32 scale, u64 operand, u8 *d, const u8 *a, size_t len)
{
	double t, best = INFINITY, end = now_s() + 0.05;

	do {
		t = now_s();
		hcomm_scale(dtype, scale, operand, d, a, len / dtype_bytes[dtype]);
		t = now_s() - t;
		best = t < best ? t : best;
	} while (now_s() < end);
	return (double)len / best / 1e9;
}

/* GB of results per second of one contiguous MiB, best of 50 ms. */
static int bench(void)
{
	size_t len = 1 << 20;
	u8 *a = malloc(len), *b = malloc(len), *d = malloc(len);
	u32 dtype, redop, way;

	if (!a || !b || !d)
		abort();
	for (way = HCOMM_REDUCE_SCALAR; way <= HCOMM_REDUCE_WHOLE; way++) {
		hcomm_reduce_init(way);
		printf("# GB/s, %s\n", way == HCOMM_REDUCE_SCALAR ? "scalar" :
		       way == HCOMM_REDUCE_HALF ? "avx2, halves of vectors" : "avx2");
		for (dtype = 0; dtype < HCOMM_DT_COUNT; dtype++) {
			size_t i, n = len / dtype_bytes[dtype];

			/* ordinary numbers: fractions between 1 and 2 for fp types */
			rnd_bytes(a, len);
			rnd_bytes(b, len);
			for (i = 0; is_fp(dtype) && i < n; i++) {
				u32 frac = fp_format[dtype].frac;
				u64 one = ((1ULL << (fp_format[dtype].exp - 1)) - 1) << frac;

				put(dtype, a, i, one | (rnd() & ((1ULL << frac) - 1)));
				put(dtype, b, i, one | (rnd() & ((1ULL << frac) - 1)));
			}
			printf("%-7s", dtype_name[dtype]);
			for (redop = 0; redop < redop_count(dtype); redop++)
				printf(" %s %.2f", redop_name[redop],
				       bench_one(dtype, redop, d, a, b, len));
			printf(" times %.2f /3 %.2f /4 %.2f\n",
			       bench_scale(dtype, HCOMM_SCALE_MUL, get(dtype, b, 0), d, a, len),
			       bench_scale(dtype, HCOMM_SCALE_DIV, 3, d, a, len),
			       bench_scale(dtype, HCOMM_SCALE_DIV, 4, d, a, len));
		}
	}
	free(a);
	free(b);
	free(d);
	return 0;
}

int main(int argc, char **argv)
{
	u32 dtype, redop, scale;

	if (argc == 2 && !strcmp(argv[1], "--bench"))
		return bench();
	if (argc == 2 && !strncmp(argv[1], "--seed=", 7)) {
		rnd_state = strtoull(argv[1] + 7, NULL, 0);
	} else if (argc != 1) {
		fprintf(stderr, "usage: test_reduce [--bench | --seed=N]\n");
		return 2;
	}

	hcomm_reduce_init(HCOMM_REDUCE_ANY);
	have_simd = hcomm_reduce_simd();
	printf("# %s kernels, seed %llu\n", have_simd ? "avx2 and scalar" : "scalar",
	       (unsigned long long)rnd_state);
	test_sizes();
	for (dtype = 0; dtype < HCOMM_DT_COUNT; dtype++) {
		for (redop = 0; redop < redop_count(dtype); redop++) {
			test_special(dtype, redop);
			test_random(dtype, redop);
			if (dtype_bytes[dtype] <= 2)
				test_exhaustive(dtype, redop);
			test_lengths(dtype, redop);
			test_long(dtype, redop);
		}
		for (scale = 0; scale < HCOMM_SCALE_COUNT; scale++) {
			test_scale_values(dtype, scale);
			test_scale_lengths(dtype, scale);
		}
		if (dtype_bytes[dtype] <= 2)
			test_scale_exhaustive(dtype);
	}
	test_scale_known();
	return finish();
}
