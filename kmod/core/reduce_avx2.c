// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reductions with AVX2 and F16C, 32 bytes at a time; bit for bit what the
 * scalar kernels compute.  This is the one file that is compiled for vector
 * units (-mavx2): it includes nothing that is not plain C, and everything in it
 * runs inside a section.
 *
 * Every instruction that matters is an asm statement of its own, so that no
 * compiler contracts, reorders or replaces it, and no intrinsics header is
 * needed; the compiler still allocates registers and schedules.  Loads and
 * stores are plain C, which sanitizers see.
 *
 * Floating point instructions are used for sums and products alone.  Order,
 * NaNs and signed zeros are dealt with in the integer domain, which is as fast
 * on hardware and much faster in emulators.  x86 lets a NaN through with its
 * sign and payload; the kernels note that they saw one and then go once more
 * over the result to make all NaNs the canonical one.
 */
#include "reduce_kernels.h"

struct vec {
	u64 v __attribute__((__vector_size__(32)));
};

/* The same at any address. */
struct vec_any {
	u64 v __attribute__((__vector_size__(32)));
} __attribute__((__packed__, __may_alias__));

#define VEC_SIZE	sizeof(struct vec)

#define VEC1(name, insn)						\
static __always_inline struct vec name(struct vec a)			\
{									\
	struct vec r;							\
									\
	asm(insn : "=x" (r.v) : "x" (a.v));				\
	return r;							\
}

#define VEC2(name, insn)						\
static __always_inline struct vec name(struct vec a, struct vec b)	\
{									\
	struct vec r;							\
									\
	asm(insn : "=x" (r.v) : "x" (a.v), "x" (b.v));			\
	return r;							\
}

VEC2(add8, "vpaddb %2, %1, %0")
VEC2(add16, "vpaddw %2, %1, %0")
VEC2(add32, "vpaddd %2, %1, %0")
VEC2(add64, "vpaddq %2, %1, %0")
VEC2(mul16, "vpmullw %2, %1, %0")
VEC2(mul32, "vpmulld %2, %1, %0")
VEC2(mul_u32_u64, "vpmuludq %2, %1, %0")
VEC2(min_s8, "vpminsb %2, %1, %0")
VEC2(max_s8, "vpmaxsb %2, %1, %0")
VEC2(min_u8, "vpminub %2, %1, %0")
VEC2(max_u8, "vpmaxub %2, %1, %0")
VEC2(min_s16, "vpminsw %2, %1, %0")
VEC2(max_s16, "vpmaxsw %2, %1, %0")
VEC2(min_u16, "vpminuw %2, %1, %0")
VEC2(max_u16, "vpmaxuw %2, %1, %0")
VEC2(min_s32, "vpminsd %2, %1, %0")
VEC2(max_s32, "vpmaxsd %2, %1, %0")
VEC2(min_u32, "vpminud %2, %1, %0")
VEC2(max_u32, "vpmaxud %2, %1, %0")
VEC2(gt_s16, "vpcmpgtw %2, %1, %0")
VEC2(gt_s32, "vpcmpgtd %2, %1, %0")
VEC2(gt_s64, "vpcmpgtq %2, %1, %0")
VEC2(and, "vpand %2, %1, %0")
VEC2(or, "vpor %2, %1, %0")
VEC2(xor, "vpxor %2, %1, %0")
VEC2(add_fp32, "vaddps %2, %1, %0")
VEC2(mul_fp32, "vmulps %2, %1, %0")
VEC2(add_fp64, "vaddpd %2, %1, %0")
VEC2(mul_fp64, "vmulpd %2, %1, %0")
VEC2(odd_u16, "vpblendw $0xaa, %2, %1, %0")	/* odd words of the second */
VEC2(join128, "vinserti128 $1, %x2, %1, %0")

VEC1(shl16_8, "vpsllw $8, %1, %0")
VEC1(shr16_8, "vpsrlw $8, %1, %0")
VEC1(shr16_1, "vpsrlw $1, %1, %0")
VEC1(sar16_15, "vpsraw $15, %1, %0")
VEC1(shl32_16, "vpslld $16, %1, %0")
VEC1(shr32_16, "vpsrld $16, %1, %0")
VEC1(shr32_1, "vpsrld $1, %1, %0")
VEC1(sar32_31, "vpsrad $31, %1, %0")
VEC1(shl64_32, "vpsllq $32, %1, %0")
VEC1(shr64_32, "vpsrlq $32, %1, %0")
VEC1(shr64_1, "vpsrlq $1, %1, %0")
VEC1(swap_u32, "vpshufd $0xb1, %1, %0")
VEC1(high128, "vextracti128 $1, %1, %x0")
VEC1(widen_fp16, "vcvtph2ps %x1, %0")
VEC1(narrow_fp16, "vcvtps2ph $0, %1, %x0")	/* rounds to nearest even */

static __always_inline struct vec splat64(u64 x)
{
	struct vec r = {};

	r.v += x;
	return r;
}

static __always_inline struct vec splat32(u32 x)
{
	return splat64((u64)x << 32 | x);
}

static __always_inline struct vec splat16(u32 x)
{
	return splat32(x << 16 | x);
}

/* Where the mask m is set, x, else y. */
static __always_inline struct vec pick(struct vec m, struct vec x, struct vec y)
{
	return xor(y, and(m, xor(x, y)));
}

/* Is any byte of a mask set? */
static __always_inline bool any(struct vec m)
{
	u32 bits;

	asm("vpmovmskb %1, %0" : "=r" (bits) : "x" (m.v));
	return bits;
}

static __always_inline struct vec load(const u8 *p)
{
	struct vec r;

	r.v = ((const struct vec_any *)p)->v;
	return r;
}

static __always_inline void store(u8 *p, struct vec x)
{
	((struct vec_any *)p)->v = x.v;
}

/* Less than a vector: zeros take part for what is missing. */
static __always_inline struct vec load_part(const u8 *p, size_t len)
{
	struct vec r = {};

	memcpy(&r, p, len);
	return r;
}

static __always_inline void store_part(u8 *p, struct vec x, size_t len)
{
	memcpy(p, &x, len);
}

/* ------------------------------------------------------------------- integers */

#define INT_OP(name, expr)						\
static __always_inline struct vec name(struct vec a, struct vec b,	\
				       struct vec *nan)			\
{									\
	(void)nan;							\
	return expr;							\
}

static __always_inline struct vec mul8(struct vec a, struct vec b)
{
	struct vec even = and(mul16(a, b), splat16(0xff));
	struct vec odd = shl16_8(mul16(shr16_8(a), shr16_8(b)));

	return or(even, odd);
}

static __always_inline struct vec mul64(struct vec a, struct vec b)
{
	struct vec cross = mul32(a, swap_u32(b));

	cross = shl64_32(add32(cross, shr64_32(cross)));
	return add64(mul_u32_u64(a, b), cross);
}

static __always_inline struct vec min_s64(struct vec a, struct vec b)
{
	return pick(gt_s64(a, b), b, a);
}

static __always_inline struct vec max_s64(struct vec a, struct vec b)
{
	return pick(gt_s64(a, b), a, b);
}

static __always_inline struct vec gt_u64(struct vec a, struct vec b)
{
	struct vec top = splat64(1ULL << 63);

	return gt_s64(xor(a, top), xor(b, top));
}

INT_OP(s8_sum, add8(a, b))
INT_OP(s8_prod, mul8(a, b))
INT_OP(s8_min, min_s8(a, b))
INT_OP(s8_max, max_s8(a, b))
INT_OP(u8_min, min_u8(a, b))
INT_OP(u8_max, max_u8(a, b))
INT_OP(s16_sum, add16(a, b))
INT_OP(s16_prod, mul16(a, b))
INT_OP(s16_min, min_s16(a, b))
INT_OP(s16_max, max_s16(a, b))
INT_OP(u16_min, min_u16(a, b))
INT_OP(u16_max, max_u16(a, b))
INT_OP(s32_sum, add32(a, b))
INT_OP(s32_prod, mul32(a, b))
INT_OP(s32_min, min_s32(a, b))
INT_OP(s32_max, max_s32(a, b))
INT_OP(u32_min, min_u32(a, b))
INT_OP(u32_max, max_u32(a, b))
INT_OP(s64_sum, add64(a, b))
INT_OP(s64_prod, mul64(a, b))
INT_OP(s64_min, min_s64(a, b))
INT_OP(s64_max, max_s64(a, b))
INT_OP(u64_min, pick(gt_u64(a, b), b, a))
INT_OP(u64_max, pick(gt_u64(a, b), a, b))

/* ------------------------------------------------------------- floating point */

/* Masks of the lanes that hold a NaN of a 16 bit format with this infinity. */
static __always_inline struct vec nan16(struct vec x, u32 inf)
{
	return gt_s16(and(x, splat16(0x7fff)), splat16(inf));
}

static __always_inline struct vec nan32(struct vec x)
{
	return gt_s32(and(x, splat32(0x7fffffff)), splat32(0x7f800000));
}

static __always_inline struct vec nan64(struct vec x)
{
	return gt_s64(and(x, splat64(~0ULL >> 1)), splat64(0x7ffULL << 52));
}

/*
 * Between the order of numbers, -0 below +0, and the order of signed integers:
 * negative numbers have all bits but the sign flipped.  Its own inverse.
 */
static __always_inline struct vec key16(struct vec x)
{
	return xor(x, shr16_1(sar16_15(x)));
}

static __always_inline struct vec key32(struct vec x)
{
	return xor(x, shr32_1(sar32_31(x)));
}

static __always_inline struct vec key64(struct vec x)
{
	return xor(x, shr64_1(gt_s64(splat64(0), x)));
}

/* The result r, whose NaNs the mask m marks already, noted in *nan. */
static __always_inline struct vec note(struct vec r, struct vec m, struct vec *nan)
{
	*nan = or(*nan, m);
	return r;
}

/* The result r; lanes with a NaN operand, marked by m, become some NaN. */
static __always_inline struct vec poison(struct vec r, struct vec m, struct vec *nan)
{
	*nan = or(*nan, m);
	return or(r, m);
}

static __always_inline struct vec nan16_of(struct vec a, struct vec b, u32 inf)
{
	struct vec abs = splat16(0x7fff);

	return gt_s16(max_s16(and(a, abs), and(b, abs)), splat16(inf));
}

static __always_inline struct vec nan32_of(struct vec a, struct vec b)
{
	struct vec abs = splat32(0x7fffffff);

	return gt_s32(max_s32(and(a, abs), and(b, abs)), splat32(0x7f800000));
}

static __always_inline struct vec nan64_of(struct vec a, struct vec b)
{
	return or(nan64(a), nan64(b));
}

#define FP_OP(name, result, how, mask)					\
static __always_inline struct vec name(struct vec a, struct vec b,	\
				       struct vec *nan)			\
{									\
	struct vec r = result;						\
									\
	return how(r, mask, nan);					\
}

#define FP16_INF	0x7c00
#define BF16_INF	0x7f80

#define FP16_BOTH(op, a, b)						\
	join128(narrow_fp16(op(widen_fp16(a), widen_fp16(b))),		\
		narrow_fp16(op(widen_fp16(high128(a)), widen_fp16(high128(b)))))

/*
 * To the upper 16 bits, rounded to nearest even.  A NaN here is a quiet one
 * whose lower half is zero, so that it stays a NaN.
 */
static __always_inline struct vec round_bf16(struct vec x)
{
	struct vec lsb = and(shr32_16(x), splat32(1));

	return add32(x, add32(lsb, splat32(0x7fff)));
}

#define BF16_HIGH(x)	and(x, splat32(0xffff0000))

#define BF16_BOTH(op, a, b)						\
	odd_u16(shr32_16(round_bf16(op(shl32_16(a), shl32_16(b)))),	\
		round_bf16(op(BF16_HIGH(a), BF16_HIGH(b))))

FP_OP(fp16_sum, FP16_BOTH(add_fp32, a, b), note, nan16(r, FP16_INF))
FP_OP(fp16_prod, FP16_BOTH(mul_fp32, a, b), note, nan16(r, FP16_INF))
FP_OP(fp16_min, key16(min_s16(key16(a), key16(b))), poison, nan16_of(a, b, FP16_INF))
FP_OP(fp16_max, key16(max_s16(key16(a), key16(b))), poison, nan16_of(a, b, FP16_INF))
FP_OP(bf16_sum, BF16_BOTH(add_fp32, a, b), note, nan16(r, BF16_INF))
FP_OP(bf16_prod, BF16_BOTH(mul_fp32, a, b), note, nan16(r, BF16_INF))
FP_OP(bf16_min, key16(min_s16(key16(a), key16(b))), poison, nan16_of(a, b, BF16_INF))
FP_OP(bf16_max, key16(max_s16(key16(a), key16(b))), poison, nan16_of(a, b, BF16_INF))
FP_OP(fp32_sum, add_fp32(a, b), note, nan32(r))
FP_OP(fp32_prod, mul_fp32(a, b), note, nan32(r))
FP_OP(fp32_min, key32(min_s32(key32(a), key32(b))), poison, nan32_of(a, b))
FP_OP(fp32_max, key32(max_s32(key32(a), key32(b))), poison, nan32_of(a, b))
FP_OP(fp64_sum, add_fp64(a, b), note, nan64(r))
FP_OP(fp64_prod, mul_fp64(a, b), note, nan64(r))
FP_OP(fp64_min, key64(min_s64(key64(a), key64(b))), poison, nan64_of(a, b))
FP_OP(fp64_max, key64(max_s64(key64(a), key64(b))), poison, nan64_of(a, b))

/* Make every NaN of a result the canonical one. */
#define FIX(name, mask, canonical)					\
static void name(u8 *p, size_t len)					\
{									\
	struct vec r;							\
	size_t i;							\
									\
	for (i = 0; i + VEC_SIZE <= len; i += VEC_SIZE) {		\
		r = load(p + i);					\
		store(p + i, pick(mask, canonical, r));			\
	}								\
	if (i < len) {							\
		r = load_part(p + i, len - i);				\
		store_part(p + i, pick(mask, canonical, r), len - i);	\
	}								\
}

FIX(fix_fp16, nan16(r, FP16_INF), splat16(0x7e00))
FIX(fix_bf16, nan16(r, BF16_INF), splat16(0x7fc0))
FIX(fix_fp32, nan32(r), splat32(0x7fc00000))
FIX(fix_fp64, nan64(r), splat64(0xfffULL << 51))

/* -------------------------------------------------------------------- kernels */

/*
 * Elements are loaded before anything at their place is stored: dst may be a or
 * b.  The compiler drops the test for NaNs where op never notes one.
 */
#define KERNEL(name, op, size, fix)					\
static void name(void *dst, const void *a, const void *b, size_t n)	\
{									\
	const u8 *pa = a, *pb = b;					\
	u8 *pd = dst;							\
	struct vec nan = {}, r0, r1, r2, r3;				\
	size_t len = n * (size), i;					\
									\
	for (i = 0; i + 4 * VEC_SIZE <= len; i += 4 * VEC_SIZE) {	\
		r0 = op(load(pa + i), load(pb + i), &nan);		\
		r1 = op(load(pa + i + VEC_SIZE),			\
			load(pb + i + VEC_SIZE), &nan);			\
		r2 = op(load(pa + i + 2 * VEC_SIZE),			\
			load(pb + i + 2 * VEC_SIZE), &nan);		\
		r3 = op(load(pa + i + 3 * VEC_SIZE),			\
			load(pb + i + 3 * VEC_SIZE), &nan);		\
		store(pd + i, r0);					\
		store(pd + i + VEC_SIZE, r1);				\
		store(pd + i + 2 * VEC_SIZE, r2);			\
		store(pd + i + 3 * VEC_SIZE, r3);			\
	}								\
	for (; i + VEC_SIZE <= len; i += VEC_SIZE)			\
		store(pd + i, op(load(pa + i), load(pb + i), &nan));	\
	if (i < len)							\
		store_part(pd + i, op(load_part(pa + i, len - i),	\
				      load_part(pb + i, len - i), &nan), \
			   len - i);					\
	if (unlikely(any(nan)))						\
		fix(pd, len);						\
}

static __always_inline void fix_none(u8 *p, size_t len)
{
	(void)p;
	(void)len;
}

#define KERNELS(type, size, fix)					\
	KERNEL(reduce_##type##_sum, type##_sum, size, fix)		\
	KERNEL(reduce_##type##_prod, type##_prod, size, fix)		\
	KERNEL(reduce_##type##_min, type##_min, size, fix)		\
	KERNEL(reduce_##type##_max, type##_max, size, fix)

/* Sums and products of unsigned integers are those of signed ones. */
#define KERNELS_UNSIGNED(type, size)					\
	KERNEL(reduce_##type##_min, type##_min, size, fix_none)		\
	KERNEL(reduce_##type##_max, type##_max, size, fix_none)

KERNELS(s8, 1, fix_none)
KERNELS(s16, 2, fix_none)
KERNELS(s32, 4, fix_none)
KERNELS(s64, 8, fix_none)
KERNELS_UNSIGNED(u8, 1)
KERNELS_UNSIGNED(u16, 2)
KERNELS_UNSIGNED(u32, 4)
KERNELS_UNSIGNED(u64, 8)
KERNELS(fp16, 2, fix_fp16)
KERNELS(bf16, 2, fix_bf16)
KERNELS(fp32, 4, fix_fp32)
KERNELS(fp64, 8, fix_fp64)

#define ROW(arith, order) {						\
	[HCOMM_OP_SUM] = reduce_##arith##_sum,				\
	[HCOMM_OP_PROD] = reduce_##arith##_prod,			\
	[HCOMM_OP_MIN] = reduce_##order##_min,				\
	[HCOMM_OP_MAX] = reduce_##order##_max,				\
}

const hcomm_reduce_fn
hcomm_reduce_avx2[HCOMM_DT_COUNT][HCOMM_OP_COUNT] = {
	[HCOMM_DT_INT8] = ROW(s8, s8),
	[HCOMM_DT_UINT8] = ROW(s8, u8),
	[HCOMM_DT_INT16] = ROW(s16, s16),
	[HCOMM_DT_UINT16] = ROW(s16, u16),
	[HCOMM_DT_INT32] = ROW(s32, s32),
	[HCOMM_DT_UINT32] = ROW(s32, u32),
	[HCOMM_DT_INT64] = ROW(s64, s64),
	[HCOMM_DT_UINT64] = ROW(s64, u64),
	[HCOMM_DT_FP16] = ROW(fp16, fp16),
	[HCOMM_DT_BF16] = ROW(bf16, bf16),
	[HCOMM_DT_FP32] = ROW(fp32, fp32),
	[HCOMM_DT_FP64] = ROW(fp64, fp64),
};
