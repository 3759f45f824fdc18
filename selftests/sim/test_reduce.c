// SPDX-License-Identifier: GPL-2.0-only
/*
 * Unit test of the reductions and of span memory (kmod/core/reduce*.c, mem.c).
 *
 * The reference shares nothing with the code under test: fp32 and fp64 come from
 * the processor, fp16 and bf16 from decimal scaling with ldexp() and rint().
 * The scalar kernels are compared with it, the AVX2 kernels with the scalar
 * ones, and hcomm_mem_*() with the same call on contiguous memory.
 *
 * Without arguments it prints TAP; --bench measures throughput, --seed=N changes
 * the random numbers.
 */
#include <math.h>
#include <stdio.h>
#include <time.h>

#include "mem.h"
#include "reduce.h"
#include "reduce_kernels.h"

long hcomm_user_alloc_budget = -1;

static const char *const dtype_name[HCOMM_DT_COUNT] = {
	"int8", "uint8", "int16", "uint16", "int32", "uint32",
	"int64", "uint64", "fp16", "bf16", "fp32", "fp64",
};

static const char *const redop_name[HCOMM_OP_COUNT] = { "sum", "prod", "min", "max" };

static const u32 dtype_bytes[HCOMM_DT_COUNT] = { 1, 1, 2, 2, 4, 4, 8, 8, 2, 2, 4, 8 };

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

static void report(const char *what, const char *name, const char *name2)
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

static u64 rnd(void)
{
	u64 z = rnd_state += 0x9e3779b97f4a7c15ULL;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

static u64 rnd_below(u64 n)
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
};

static bool is_fp(u32 dtype)
{
	return dtype >= HCOMM_DT_FP16;
}

static u64 fp_inf(u32 dtype)
{
	const struct fp_format *f = &fp_format[dtype];

	return ((1ULL << f->exp) - 1) << f->frac;
}

static u64 fp_sign_bit(u32 dtype)
{
	return 1ULL << (fp_format[dtype].frac + fp_format[dtype].exp);
}

static u64 fp_canonical_nan(u32 dtype)
{
	return fp_inf(dtype) | 1ULL << (fp_format[dtype].frac - 1);
}

static bool fp_is_nan(u32 dtype, u64 x)
{
	return (x & (fp_sign_bit(dtype) - 1)) > fp_inf(dtype);
}

/* Bit patterns at which something changes, of either sign. */
static size_t special_values(u32 dtype, u64 *out)
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
static u64 rnd_element(u32 dtype, u64 last)
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

static u64 get(u32 dtype, const void *p, size_t i)
{
	u64 x = 0;

	memcpy(&x, (const u8 *)p + i * dtype_bytes[dtype], dtype_bytes[dtype]);
	return x;
}

static void put(u32 dtype, void *p, size_t i, u64 x)
{
	memcpy((u8 *)p + i * dtype_bytes[dtype], &x, dtype_bytes[dtype]);
}

static void rnd_fill(u32 dtype, void *a, void *b, size_t n)
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

/* ------------------------------------------------------------------- reference */

static float as_float(u64 x)
{
	u32 u = (u32)x;
	float f;

	memcpy(&f, &u, sizeof(f));
	return f;
}

static double as_double(u64 x)
{
	double d;

	memcpy(&d, &x, sizeof(d));
	return d;
}

/* The number that a bit pattern of fp16 or bf16 stands for. */
static double small_value(u32 dtype, u64 x)
{
	const struct fp_format *f = &fp_format[dtype];
	u64 frac = x & ((1ULL << f->frac) - 1), e = (x >> f->frac) & ((1ULL << f->exp) - 1);
	s32 bias = (1 << (f->exp - 1)) - 1;
	double v;

	if (e == (1ULL << f->exp) - 1)
		v = frac ? NAN : INFINITY;
	else if (!e)
		v = ldexp((double)frac, 1 - bias - (s32)f->frac);
	else
		v = ldexp((double)(frac + (1ULL << f->frac)), (s32)e - bias - (s32)f->frac);
	return x & fp_sign_bit(dtype) ? -v : v;
}

/* The bit pattern of fp16 or bf16 that is nearest to a number. */
static u64 small_pattern(u32 dtype, double v)
{
	const struct fp_format *f = &fp_format[dtype];
	s32 bias = (1 << (f->exp - 1)) - 1, e;
	u64 sign = signbit(v) ? fp_sign_bit(dtype) : 0;
	double q;

	if (isnan(v))
		return fp_canonical_nan(dtype);
	v = fabs(v);
	if (isinf(v))
		return sign | fp_inf(dtype);
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
	if (e > bias)
		return sign | fp_inf(dtype);
	if (q < ldexp(1, (s32)f->frac))
		return sign | (u64)q;
	return sign | (u64)(e + bias) << f->frac | ((u64)q - (1ULL << f->frac));
}

static u64 reference_fp(u32 dtype, u32 redop, u64 x, u64 y)
{
	volatile float vf;
	volatile double vd;
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
		vd = redop == HCOMM_OP_SUM ? dx + dy : dx * dy;
		if (isnan(vd))
			return fp_canonical_nan(dtype);
		dx = vd;
		memcpy(&r, &dx, sizeof(dx));
		return r;
	}
	vf = redop == HCOMM_OP_SUM ? (float)dx + (float)dy : (float)dx * (float)dy;
	if (dtype != HCOMM_DT_FP32)
		return small_pattern(dtype, vf);
	if (isnan(vf))
		return fp_canonical_nan(dtype);
	f = vf;
	memcpy(&r, &f, sizeof(f));
	return r;
}

static u64 reference_int(u32 dtype, u32 redop, u64 x, u64 y)
{
	u32 bits = dtype_bytes[dtype] * 8;
	u64 mask = bits == 64 ? U64_MAX : (1ULL << bits) - 1;
	bool is_signed = dtype % 2 == 0;
	bool x_less;

	if (redop == HCOMM_OP_SUM)
		return (x + y) & mask;
	if (redop == HCOMM_OP_PROD)
		return (x * y) & mask;
	if (is_signed)
		x_less = (x ^ 1ULL << (bits - 1)) < (y ^ 1ULL << (bits - 1));
	else
		x_less = x < y;
	return x_less == (redop == HCOMM_OP_MIN) ? x : y;
}

static u64 reference(u32 dtype, u32 redop, u64 x, u64 y)
{
	return is_fp(dtype) ? reference_fp(dtype, redop, x, y) :
			      reference_int(dtype, redop, x, y);
}

/* ------------------------------------------------------------------------ tests */

static bool have_simd;

static hcomm_reduce_fn scalar_fn(u32 dtype, u32 redop)
{
	return is_fp(dtype) ? hcomm_reduce_fp_scalar[dtype - HCOMM_DT_FP16][redop] :
			      hcomm_reduce_int_scalar[dtype][redop];
}

static hcomm_reduce_fn simd_fn(u32 dtype, u32 redop)
{
#ifdef __x86_64__
	if (have_simd)
		return hcomm_reduce_avx2[dtype][redop];
#endif
	return scalar_fn(dtype, redop);
}

#define BLOCK	2048

/* n elements: both kernels, both orders, against the reference. */
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

#define CANARY		0xa5
#define MARGIN		64
#define MAX_LEN		200
#define ROOM		(MAX_LEN * 8 + 2 * MARGIN + 8)

static bool all_canary(const u8 *p, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++)
		if (p[i] != CANARY)
			return false;
	return true;
}

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
	hcomm_reduce_fn fn[3] = { scalar_fn(dtype, redop), simd_fn(dtype, redop), NULL };
	size_t n, k;

	for (n = 0; n <= MAX_LEN; n++)
		for (k = 0; k < 3; k++)
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

	if (!a || !b || !d || !want)
		abort();
	rnd_fill(dtype, a, b, n);
	scalar_fn(dtype, redop)(want, a, b, n);
	hcomm_reduce(dtype, redop, d, a, b, n);
	check(!memcmp(d, want, bytes), "long array");
	hcomm_reduce_init(false);
	check(!hcomm_reduce_simd(), "vector units although not allowed");
	hcomm_reduce(dtype, redop, a, a, b, n);
	hcomm_reduce_init(true);
	check(!memcmp(a, want, bytes), "long array, scalar");
	free(a);
	free(b);
	free(d);
	free(want);
	report("long arrays", dtype_name[dtype], redop_name[redop]);
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

/* ------------------------------------------------------------------ span memory */

#define MAX_SPANS	40

struct spread {
	struct hcomm_mem mem;
	struct hcomm_span spans[MAX_SPANS];
	u8 *backing;
	size_t backing_len;
};

/* length bytes in pieces of odd sizes, in shuffled places with canaries between. */
static void spread_make(struct spread *s, u64 length, u32 nspans, bool tiny)
{
	u64 cut[MAX_SPANS + 1], room = 0;
	u32 order[MAX_SPANS], i, j;
	u8 *p;

	if (nspans > length)
		nspans = (u32)(length ? length : 1);
	cut[0] = 0;
	for (i = 1; i < nspans; i++) {
		u64 left = length - cut[i - 1] - (nspans - i);

		cut[i] = cut[i - 1] + 1 + rnd_below(tiny ? min_t(u64, left, 11) : left);
	}
	cut[nspans] = length;
	for (i = 0; i < nspans; i++) {
		order[i] = i;
		j = (u32)rnd_below(i + 1);
		order[i] = order[j];
		order[j] = i;
	}
	s->backing_len = length + (nspans + 1) * 16;
	s->backing = malloc(s->backing_len);
	if (!s->backing)
		abort();
	memset(s->backing, CANARY, s->backing_len);
	p = s->backing + 8;
	for (i = 0; i < nspans; i++) {
		j = order[i];
		s->spans[j].off = cut[j];
		s->spans[j].va = p;
		p += cut[j + 1] - cut[j] + 1 + rnd_below(15);
		room += cut[j + 1] - cut[j];
	}
	if (room != length || p > s->backing + s->backing_len)
		abort();
	s->mem.length = length;
	s->mem.nspans = nspans;
	s->mem.spans = s->spans;
}

static void spread_free(struct spread *s)
{
	free(s->backing);
}

/* Byte by byte, with nothing of mem.c. */
static u8 *spread_byte(struct spread *s, u64 off)
{
	u32 i = s->mem.nspans - 1;

	while (s->spans[i].off > off)
		i--;
	return s->spans[i].va + (off - s->spans[i].off);
}

/* Take all bytes out, leaving canaries behind, so that the rest must be canary. */
static bool spread_drain(struct spread *s, u8 *out)
{
	u64 i;

	for (i = 0; i < s->mem.length; i++) {
		u8 *p = spread_byte(s, i);

		out[i] = *p;
		*p = CANARY;
	}
	return all_canary(s->backing, s->backing_len);
}

static void spread_fill(struct spread *s, const u8 *in)
{
	u64 i;

	for (i = 0; i < s->mem.length; i++)
		*spread_byte(s, i) = in[i];
}

static u32 rnd_spans(void)
{
	return rnd_below(4) ? 1 + (u32)rnd_below(MAX_SPANS) : 1;
}

static void test_mem_ptr(void)
{
	struct spread s;
	u64 off, contig, n;
	u32 i;
	int round;

	for (round = 0; round < 300; round++) {
		spread_make(&s, 1 + rnd_below(600), rnd_spans(), round % 2);
		for (off = 0; off < s.mem.length; off++) {
			check(hcomm_mem_ptr(&s.mem, off, &contig) == spread_byte(&s, off),
			      "wrong address");
			n = s.mem.length;
			for (i = s.mem.nspans; i-- && s.spans[i].off > off;)
				n = s.spans[i].off;
			check(contig == n - off, "contig %llu, not %llu",
			      (unsigned long long)contig, (unsigned long long)(n - off));
		}
		spread_free(&s);
	}
	report("hcomm_mem_ptr", "spans", "");
}

#define MEM_MAX	3000

static void rnd_bytes(u8 *p, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		p[i] = (u8)rnd();
}

static void test_mem_copy(void)
{
	static u8 in[MEM_MAX], src_now[MEM_MAX], dst_was[MEM_MAX], dst_now[MEM_MAX];
	static u8 flat[MEM_MAX];
	int round;

	for (round = 0; round < 2000; round++) {
		u64 src_len = 1 + rnd_below(MEM_MAX), dst_len = 1 + rnd_below(MEM_MAX);
		u64 len = rnd_below(min_t(u64, src_len, dst_len) + 1);
		u64 src_off = rnd_below(src_len - len + 1);
		u64 dst_off = rnd_below(dst_len - len + 1);
		struct spread s, d;

		spread_make(&s, src_len, rnd_spans(), round % 2);
		spread_make(&d, dst_len, rnd_spans(), round % 3);
		rnd_bytes(in, src_len);
		rnd_bytes(dst_was, dst_len);
		spread_fill(&s, in);
		spread_fill(&d, dst_was);
		switch (round % 4) {
		case 0:
			hcomm_mem_copy((struct hcomm_buf){ &d.mem, dst_off },
				       (struct hcomm_buf){ &s.mem, src_off }, len);
			break;
		case 1:
			hcomm_mem_write((struct hcomm_buf){ &d.mem, dst_off }, in + src_off,
					len);
			break;
		case 2:
			memset(flat, CANARY, sizeof(flat));
			hcomm_mem_read(flat, (struct hcomm_buf){ &s.mem, src_off }, len);
			check(!memcmp(flat, in + src_off, len), "read");
			check(all_canary(flat + len, sizeof(flat) - len), "read too much");
			memcpy(in + src_off, flat, len);
			hcomm_mem_write((struct hcomm_buf){ &d.mem, dst_off }, flat, len);
			break;
		case 3:
			/* onto itself changes nothing */
			hcomm_mem_copy((struct hcomm_buf){ &s.mem, src_off },
				       (struct hcomm_buf){ &s.mem, src_off }, len);
			hcomm_mem_copy((struct hcomm_buf){ &d.mem, dst_off },
				       (struct hcomm_buf){ &s.mem, src_off }, len);
			break;
		}
		check(spread_drain(&s, src_now), "canary of the source");
		check(spread_drain(&d, dst_now), "canary of the destination");
		check(!memcmp(src_now, in, src_len), "source changed");
		memcpy(dst_was + dst_off, in + src_off, len);
		check(!memcmp(dst_now, dst_was, dst_len), "destination differs");
		spread_free(&s);
		spread_free(&d);
	}
	report("hcomm_mem_copy, read, write", "spans", "");
}

static void test_mem_reduce(u32 dtype, u32 redop)
{
	static u8 a_in[MEM_MAX], b_in[MEM_MAX], d_in[MEM_MAX], want[MEM_MAX], now[MEM_MAX];
	u32 size = dtype_bytes[dtype];
	int round;

	for (round = 0; round < 60; round++) {
		u64 n = rnd_below((MEM_MAX - 20) / size + 1), len = n * size;
		u64 off[3] = { rnd_below(20), rnd_below(20), rnd_below(20) };
		int alias = round % 3;
		bool flat = round % 5 == 0;
		struct spread s[3], *res;
		struct hcomm_buf buf[3];
		u8 *in[3] = { d_in, a_in, b_in };
		int i;

		for (i = 0; i < 3; i++) {
			spread_make(&s[i], len + 20, rnd_spans(), round % 2);
			rnd_bytes(in[i], len + 20);
			buf[i] = (struct hcomm_buf){ &s[i].mem, off[i] };
		}
		rnd_fill(dtype, a_in + off[1], b_in + off[2], n);
		for (i = 0; i < 3; i++)
			spread_fill(&s[i], in[i]);
		scalar_fn(dtype, redop)(want, a_in + off[1], b_in + off[2], n);
		if (flat) {
			if (alias == 2)
				alias = 1;
			hcomm_mem_reduce_flat(dtype, redop, buf[alias], buf[1], b_in + off[2],
					      len);
		} else {
			hcomm_mem_reduce(dtype, redop, buf[alias], buf[1], buf[2], len);
		}
		res = &s[alias];
		memcpy(in[alias] + off[alias], want, len);
		for (i = 0; i < 3; i++) {
			check(spread_drain(&s[i], now), "canary of operand %d", i);
			check(!memcmp(now, in[i], len + 20), "%s differs: n %llu alias %d flat %d",
			      &s[i] == res ? "result" : "operand", (unsigned long long)n,
			      alias, flat);
			spread_free(&s[i]);
		}
	}
	report("hcomm_mem_reduce", dtype_name[dtype], redop_name[redop]);
}

/* -------------------------------------------------------------------- benchmark */

static double now_s(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

static double bench_one(u32 dtype, u32 redop, u8 *d, const u8 *a, const u8 *b, size_t len)
{
	double t, best = 1e9, end = now_s() + 0.05;

	do {
		t = now_s();
		hcomm_reduce(dtype, redop, d, a, b, len / dtype_bytes[dtype]);
		t = now_s() - t;
		best = t < best ? t : best;
	} while (now_s() < end);
	return (double)len / best * 1e-9;
}

/* GB of results per second of one contiguous MiB, best of 50 ms. */
static int bench(void)
{
	size_t len = 1 << 20;
	u8 *a = malloc(len), *b = malloc(len), *d = malloc(len);
	u32 dtype, redop, simd;

	if (!a || !b || !d)
		abort();
	for (simd = 0; simd < 2; simd++) {
		hcomm_reduce_init(simd);
		printf("# GB/s, %s\n", hcomm_reduce_simd() ? "avx2" : "scalar");
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
			for (redop = 0; redop < HCOMM_OP_COUNT; redop++)
				printf(" %s %6.2f", redop_name[redop],
				       bench_one(dtype, redop, d, a, b, len));
			printf("\n");
		}
	}
	free(a);
	free(b);
	free(d);
	return 0;
}

int main(int argc, char **argv)
{
	u32 dtype, redop;

	if (argc == 2 && !strcmp(argv[1], "--bench"))
		return bench();
	if (argc == 2 && !strncmp(argv[1], "--seed=", 7)) {
		rnd_state = strtoull(argv[1] + 7, NULL, 0);
	} else if (argc != 1) {
		fprintf(stderr, "usage: %s [--bench | --seed=N]\n", argv[0]);
		return 2;
	}

	hcomm_reduce_init(true);
	have_simd = hcomm_reduce_simd();
	printf("# %s kernels, seed %llu\n", have_simd ? "avx2 and scalar" : "scalar",
	       (unsigned long long)rnd_state);
	test_sizes();
	for (dtype = 0; dtype < HCOMM_DT_COUNT; dtype++) {
		for (redop = 0; redop < HCOMM_OP_COUNT; redop++) {
			test_special(dtype, redop);
			test_random(dtype, redop);
			if (dtype_bytes[dtype] <= 2)
				test_exhaustive(dtype, redop);
			test_lengths(dtype, redop);
			test_long(dtype, redop);
			test_mem_reduce(dtype, redop);
		}
	}
	test_mem_ptr();
	test_mem_copy();
	printf("1..%u\n", tests_run);
	return tests_failed ? 1 : 0;
}
