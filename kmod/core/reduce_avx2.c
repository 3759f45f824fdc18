// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reductions with AVX2 and F16C, 32 bytes at a time; bit for bit what the
 * scalar kernels compute.  This is the one file that is compiled for vector
 * units (-mavx2), and everything in it runs inside a section.
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
	__attribute__((__vector_size__(32))) u64 v;
};

/* The same at any address. */
struct vec_any {
	__attribute__((__vector_size__(32))) u64 v;
} __packed __attribute__((__may_alias__));

#define VEC_SIZE	sizeof(struct vec)

#define VEC1(name, insn)						\
static __always_inline struct vec v_##name(struct vec a)		\
{									\
	struct vec r;							\
									\
	asm(insn : "=x" (r.v) : "x" (a.v));				\
	return r;							\
}

#define VEC2(name, insn)						\
static __always_inline struct vec v_##name(struct vec a, struct vec b)	\
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
VEC2(gt_s8, "vpcmpgtb %2, %1, %0")
VEC2(eq8, "vpcmpeqb %2, %1, %0")
VEC2(eq16, "vpcmpeqw %2, %1, %0")
VEC2(eq32, "vpcmpeqd %2, %1, %0")
VEC2(eq64, "vpcmpeqq %2, %1, %0")
VEC2(gt_s16, "vpcmpgtw %2, %1, %0")
VEC2(gt_s32, "vpcmpgtd %2, %1, %0")
VEC2(gt_s64, "vpcmpgtq %2, %1, %0")
VEC2(and, "vpand %2, %1, %0")
VEC2(andnot, "vpandn %2, %1, %0")		/* where the first is not set */
VEC2(or, "vpor %2, %1, %0")
VEC2(xor, "vpxor %2, %1, %0")
VEC2(add_fp32, "vaddps %2, %1, %0")
VEC2(mul_fp32, "vmulps %2, %1, %0")
VEC2(div_fp32, "vdivps %2, %1, %0")
VEC2(div_fp64, "vdivpd %2, %1, %0")
VEC2(pack_u32_u16, "vpackusdw %2, %1, %0")
VEC2(pack_u16_u8, "vpackuswb %2, %1, %0")
VEC2(permute_u32, "vpermd %2, %1, %0")		/* of the second, as the first says */
VEC2(odd_u16, "vpblendw $0xaa, %2, %1, %0")	/* odd words of the second */
VEC2(join128, "vinserti128 $1, %x2, %1, %0")

VEC1(shl16_8, "vpsllw $8, %1, %0")
VEC1(shr16_8, "vpsrlw $8, %1, %0")
VEC1(shr16_1, "vpsrlw $1, %1, %0")
VEC1(sar16_15, "vpsraw $15, %1, %0")
VEC1(shl32_20, "vpslld $20, %1, %0")
VEC1(shl32_21, "vpslld $21, %1, %0")
VEC1(shl32_24, "vpslld $24, %1, %0")
VEC1(shr32_20, "vpsrld $20, %1, %0")
VEC1(shr32_21, "vpsrld $21, %1, %0")
VEC1(shr32_24, "vpsrld $24, %1, %0")
VEC1(shr128_64, "vpsrldq $8, %1, %0")
VEC1(widen_u8, "vpmovzxbd %x1, %0")		/* the lowest eight, to 32 bits */
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
VEC1(widen_fp32, "vcvtps2pd %x1, %0")
VEC1(narrow_fp64, "vcvtpd2ps %1, %x0")
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

static __always_inline struct vec splat8(u32 x)
{
	return splat16(x << 8 | x);
}

/* Where the mask m is set, x, else y. */
static __always_inline struct vec pick(struct vec m, struct vec x, struct vec y)
{
	return v_xor(y, v_and(m, v_xor(x, y)));
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

static __always_inline struct vec v_mul8(struct vec a, struct vec b)
{
	struct vec even = v_and(v_mul16(a, b), splat16(0xff));
	struct vec odd = v_shl16_8(v_mul16(v_shr16_8(a), v_shr16_8(b)));

	return v_or(even, odd);
}

static __always_inline struct vec v_mul64(struct vec a, struct vec b)
{
	struct vec cross = v_mul32(a, v_swap_u32(b));

	cross = v_shl64_32(v_add32(cross, v_shr64_32(cross)));
	return v_add64(v_mul_u32_u64(a, b), cross);
}

static __always_inline struct vec v_gt_u64(struct vec a, struct vec b)
{
	struct vec top = splat64(1ULL << 63);

	return v_gt_s64(v_xor(a, top), v_xor(b, top));
}

static __always_inline struct vec v_min_s64(struct vec a, struct vec b)
{
	return pick(v_gt_s64(a, b), b, a);
}

static __always_inline struct vec v_max_s64(struct vec a, struct vec b)
{
	return pick(v_gt_s64(a, b), a, b);
}

static __always_inline struct vec v_min_u64(struct vec a, struct vec b)
{
	return pick(v_gt_u64(a, b), b, a);
}

static __always_inline struct vec v_max_u64(struct vec a, struct vec b)
{
	return pick(v_gt_u64(a, b), a, b);
}

/* ---------------------------------------------------------------------- logic */

/* From the masks of the elements that are zero to 1 where the result is true. */
#define LOGIC(bits)							\
static __always_inline struct vec land##bits(struct vec a, struct vec b) \
{									\
	struct vec zero = {};						\
									\
	return v_andnot(v_or(v_eq##bits(a, zero), v_eq##bits(b, zero)),	\
			splat##bits(1));				\
}									\
									\
static __always_inline struct vec lor##bits(struct vec a, struct vec b)	\
{									\
	return v_andnot(v_eq##bits(v_or(a, b), splat64(0)), splat##bits(1)); \
}									\
									\
static __always_inline struct vec lxor##bits(struct vec a, struct vec b) \
{									\
	struct vec zero = {};						\
									\
	return v_and(v_xor(v_eq##bits(a, zero), v_eq##bits(b, zero)),	\
		     splat##bits(1));					\
}

LOGIC(8)
LOGIC(16)
LOGIC(32)
LOGIC(64)

/* ------------------------------------------------------------- floating point */

#define E4M3_NAN	0x7f
#define E5M2_INF	0x7c
#define E5M2_NAN	0x7e
#define FP16_INF	0x7c00
#define BF16_INF	0x7f80

/* Masks of the lanes that hold a NaN. */
static __always_inline struct vec nan_e4m3(struct vec x)
{
	return v_eq8(v_and(x, splat8(0x7f)), splat8(E4M3_NAN));
}

static __always_inline struct vec nan_e5m2(struct vec x)
{
	return v_gt_s8(v_and(x, splat8(0x7f)), splat8(E5M2_INF));
}

static __always_inline struct vec nan_fp16(struct vec x)
{
	return v_gt_s16(v_and(x, splat16(0x7fff)), splat16(FP16_INF));
}

static __always_inline struct vec nan_bf16(struct vec x)
{
	return v_gt_s16(v_and(x, splat16(0x7fff)), splat16(BF16_INF));
}

static __always_inline struct vec nan_fp32(struct vec x)
{
	return v_gt_s32(v_and(x, splat32(0x7fffffff)), splat32(0x7f800000));
}

static __always_inline struct vec nan_fp64(struct vec x)
{
	return v_gt_s64(v_and(x, splat64(~0ULL >> 1)), splat64(0x7ffULL << 52));
}

/*
 * Between the order of numbers, -0 below +0, and the order of signed integers:
 * negative numbers have all bits but the sign flipped.  Its own inverse.
 */
static __always_inline struct vec key8(struct vec x)
{
	return v_xor(x, v_and(v_gt_s8(splat64(0), x), splat8(0x7f)));
}

static __always_inline struct vec key16(struct vec x)
{
	return v_xor(x, v_shr16_1(v_sar16_15(x)));
}

static __always_inline struct vec key32(struct vec x)
{
	return v_xor(x, v_shr32_1(v_sar32_31(x)));
}

static __always_inline struct vec key64(struct vec x)
{
	return v_xor(x, v_shr64_1(v_gt_s64(splat64(0), x)));
}

/*
 * To the upper 16 bits, rounded to nearest even.  A NaN here is a quiet one
 * whose lower half is zero, so that it stays a NaN.
 */
static __always_inline struct vec round_bf16(struct vec x)
{
	struct vec lsb = v_and(v_shr32_16(x), splat32(1));

	return v_add32(x, v_add32(lsb, splat32(0x7fff)));
}

/*
 * Arithmetic of the 16 bit types, in fp32.  For fp16 the halves of a vector are
 * taken apart, for bf16 the even and the odd elements.
 */
#define ARITH16(op)							\
static __always_inline struct vec fp16_##op(struct vec a, struct vec b)	\
{									\
	struct vec low = v_##op(v_widen_fp16(a), v_widen_fp16(b));	\
	struct vec high = v_##op(v_widen_fp16(v_high128(a)),		\
				 v_widen_fp16(v_high128(b)));		\
									\
	return v_join128(v_narrow_fp16(low), v_narrow_fp16(high));	\
}									\
									\
static __always_inline struct vec bf16_##op(struct vec a, struct vec b)	\
{									\
	struct vec upper = splat32(0xffff0000);				\
	struct vec even = v_##op(v_shl32_16(a), v_shl32_16(b));		\
	struct vec odd = v_##op(v_and(a, upper), v_and(b, upper));	\
									\
	return v_odd_u16(v_shr32_16(round_bf16(even)), round_bf16(odd)); \
}

ARITH16(add_fp32)
ARITH16(mul_fp32)

/*
 * The 8 bit types in fp32, a quarter of a vector at a time, whose elements come
 * as 32 bit integers.  Exponent and fraction moved to their place make a number
 * that only the bias keeps from the right one: a multiplication by a power of
 * two mends that, of denormals too.  On the way back the same makes fp32 place
 * the denormals of the small type, exactly since sums and products of these
 * types are multiples of 2^-32 at least; rounding is left to integers.
 */
static __always_inline struct vec e4m3_to_fp32(struct vec x)
{
	struct vec a = v_and(x, splat32(0x7f));
	struct vec r = v_mul_fp32(v_shl32_20(a), splat32((127 + 120) << 23));

	r = v_or(r, v_shl32_24(v_and(x, splat32(0x80))));
	return v_or(r, v_eq32(a, splat32(E4M3_NAN)));
}

static __always_inline struct vec e4m3_from_fp32(struct vec x)
{
	struct vec a = v_and(x, splat32(0x7fffffff));

	a = v_mul_fp32(a, splat32((127 - 120) << 23));
	a = v_add32(a, v_add32(v_and(v_shr32_20(a), splat32(1)), splat32(0x7ffff)));
	a = v_min_u32(v_shr32_20(a), splat32(E4M3_NAN));
	return v_or(a, v_and(v_shr32_24(x), splat32(0x80)));
}

static __always_inline struct vec e5m2_to_fp32(struct vec x)
{
	struct vec a = v_and(x, splat32(0x7f));
	struct vec r = v_mul_fp32(v_shl32_21(a), splat32((127 + 112) << 23));

	r = v_or(r, v_shl32_24(v_and(x, splat32(0x80))));
	return v_or(r, v_and(v_gt_s32(a, splat32(E5M2_INF - 1)), splat32(0xff << 23)));
}

static __always_inline struct vec e5m2_from_fp32(struct vec x)
{
	struct vec nan = nan_fp32(x), a = v_and(x, splat32(0x7fffffff));

	a = v_mul_fp32(a, splat32((127 - 112) << 23));
	a = v_add32(a, v_add32(v_and(v_shr32_21(a), splat32(1)), splat32(0xfffff)));
	a = v_min_u32(v_shr32_21(a), splat32(E5M2_INF));
	a = pick(nan, splat32(E5M2_NAN), a);
	return v_or(a, v_and(v_shr32_24(x), splat32(0x80)));
}

/* Eight 32 bit integers of each, in order, to bytes. */
static __always_inline struct vec join_u8(struct vec a, struct vec b, struct vec c,
					  struct vec d)
{
	static const u32 order[] = { 0, 4, 1, 5, 2, 6, 3, 7 };
	struct vec halves = v_pack_u16_u8(v_pack_u32_u16(a, b), v_pack_u32_u16(c, d));

	return v_permute_u32(load((const u8 *)order), halves);
}

#define ARITH8(type, op)						\
static __always_inline struct vec type##_##op(struct vec a, struct vec b) \
{									\
	struct vec ah = v_high128(a), bh = v_high128(b), q[4];		\
									\
	q[0] = v_##op(type##_to_fp32(v_widen_u8(a)),			\
		      type##_to_fp32(v_widen_u8(b)));			\
	q[1] = v_##op(type##_to_fp32(v_widen_u8(v_shr128_64(a))),	\
		      type##_to_fp32(v_widen_u8(v_shr128_64(b))));	\
	q[2] = v_##op(type##_to_fp32(v_widen_u8(ah)),			\
		      type##_to_fp32(v_widen_u8(bh)));			\
	q[3] = v_##op(type##_to_fp32(v_widen_u8(v_shr128_64(ah))),	\
		      type##_to_fp32(v_widen_u8(v_shr128_64(bh))));	\
	return join_u8(type##_from_fp32(q[0]), type##_from_fp32(q[1]),	\
		       type##_from_fp32(q[2]), type##_from_fp32(q[3])); \
}

ARITH8(e4m3, add_fp32)
ARITH8(e4m3, mul_fp32)
ARITH8(e5m2, add_fp32)
ARITH8(e5m2, mul_fp32)

/* Make every NaN of a result the canonical one. */
#define FIX(type, canonical)						\
static __always_inline struct vec canon_##type(struct vec r)		\
{									\
	return pick(nan_##type(r), canonical, r);			\
}									\
									\
static void fix_##type(u8 *p, size_t len)				\
{									\
	size_t i;							\
									\
	for (i = 0; i + VEC_SIZE <= len; i += VEC_SIZE)			\
		store(p + i, canon_##type(load(p + i)));		\
	if (i < len)							\
		store_part(p + i, canon_##type(load_part(p + i, len - i)), \
			   len - i);					\
}

FIX(e4m3, splat8(E4M3_NAN))
FIX(e5m2, splat8(E5M2_NAN))
FIX(fp16, splat16(0x7e00))
FIX(bf16, splat16(0x7fc0))
FIX(fp32, splat32(0x7fc00000))
FIX(fp64, splat64(0x7ff8ULL << 48))

/* -------------------------------------------------------------------- kernels */

/*
 * The loop of all kernels.  The operation is op_<name>(a, b, nan), which notes
 * in *nan where it saw a NaN; fix() is then called once.  Elements are loaded
 * before anything at their place is stored: dst may be a or b.
 */
#define KERNEL(name, size, fix)						\
static void reduce_##name(void *dst, const void *a, const void *b, size_t n) \
{									\
	const u8 *pa = a, *pb = b;					\
	u8 *pd = dst;							\
	struct vec nan = {}, r0, r1, r2, r3;				\
	size_t len = n * (size), i;					\
									\
	for (i = 0; i + 4 * VEC_SIZE <= len; i += 4 * VEC_SIZE) {	\
		r0 = op_##name(load(pa + i), load(pb + i), &nan);	\
		r1 = op_##name(load(pa + i + VEC_SIZE),			\
			       load(pb + i + VEC_SIZE), &nan);		\
		r2 = op_##name(load(pa + i + 2 * VEC_SIZE),		\
			       load(pb + i + 2 * VEC_SIZE), &nan);	\
		r3 = op_##name(load(pa + i + 3 * VEC_SIZE),		\
			       load(pb + i + 3 * VEC_SIZE), &nan);	\
		store(pd + i, r0);					\
		store(pd + i + VEC_SIZE, r1);				\
		store(pd + i + 2 * VEC_SIZE, r2);			\
		store(pd + i + 3 * VEC_SIZE, r3);			\
	}								\
	for (; i + VEC_SIZE <= len; i += VEC_SIZE)			\
		store(pd + i, op_##name(load(pa + i), load(pb + i), &nan)); \
	if (i < len)							\
		store_part(pd + i, op_##name(load_part(pa + i, len - i), \
					     load_part(pb + i, len - i), \
					     &nan), len - i);		\
	if (unlikely(any(nan)))						\
		fix(pd, len);						\
}

/* Integers have no NaN, and the compiler sees that this is never called. */
static __always_inline void fix_none(u8 *p, size_t len)
{
	(void)p;
	(void)len;
}

#define INT_KERNEL(name, size, expr)					\
static __always_inline struct vec op_##name(struct vec a, struct vec b,	\
					    struct vec *nan)		\
{									\
	(void)nan;							\
	return expr;							\
}									\
									\
KERNEL(name, size, fix_none)

/* A sum or product is a NaN where one of the operands is one. */
#define FP_ARITH_KERNEL(name, type, size, expr)				\
static __always_inline struct vec op_##name(struct vec a, struct vec b,	\
					    struct vec *nan)		\
{									\
	struct vec r = expr;						\
									\
	*nan = v_or(*nan, nan_##type(r));				\
	return r;							\
}									\
									\
KERNEL(name, size, fix_##type)

/* A minimum or maximum has to be made one: all bits set. */
#define FP_ORDER_KERNEL(name, type, size, expr)				\
static __always_inline struct vec op_##name(struct vec a, struct vec b,	\
					    struct vec *nan)		\
{									\
	struct vec m = v_or(nan_##type(a), nan_##type(b));		\
									\
	*nan = v_or(*nan, m);						\
	return v_or(expr, m);						\
}									\
									\
KERNEL(name, size, fix_##type)

INT_KERNEL(s8_sum, 1, v_add8(a, b))
INT_KERNEL(s8_prod, 1, v_mul8(a, b))
INT_KERNEL(s8_min, 1, v_min_s8(a, b))
INT_KERNEL(s8_max, 1, v_max_s8(a, b))
INT_KERNEL(u8_min, 1, v_min_u8(a, b))
INT_KERNEL(u8_max, 1, v_max_u8(a, b))
INT_KERNEL(s16_sum, 2, v_add16(a, b))
INT_KERNEL(s16_prod, 2, v_mul16(a, b))
INT_KERNEL(s16_min, 2, v_min_s16(a, b))
INT_KERNEL(s16_max, 2, v_max_s16(a, b))
INT_KERNEL(u16_min, 2, v_min_u16(a, b))
INT_KERNEL(u16_max, 2, v_max_u16(a, b))
INT_KERNEL(s32_sum, 4, v_add32(a, b))
INT_KERNEL(s32_prod, 4, v_mul32(a, b))
INT_KERNEL(s32_min, 4, v_min_s32(a, b))
INT_KERNEL(s32_max, 4, v_max_s32(a, b))
INT_KERNEL(u32_min, 4, v_min_u32(a, b))
INT_KERNEL(u32_max, 4, v_max_u32(a, b))
INT_KERNEL(s64_sum, 8, v_add64(a, b))
INT_KERNEL(s64_prod, 8, v_mul64(a, b))
INT_KERNEL(s64_min, 8, v_min_s64(a, b))
INT_KERNEL(s64_max, 8, v_max_s64(a, b))
INT_KERNEL(u64_min, 8, v_min_u64(a, b))
INT_KERNEL(u64_max, 8, v_max_u64(a, b))
FP_ARITH_KERNEL(fp16_sum, fp16, 2, fp16_add_fp32(a, b))
FP_ARITH_KERNEL(fp16_prod, fp16, 2, fp16_mul_fp32(a, b))
FP_ORDER_KERNEL(fp16_min, fp16, 2, key16(v_min_s16(key16(a), key16(b))))
FP_ORDER_KERNEL(fp16_max, fp16, 2, key16(v_max_s16(key16(a), key16(b))))
FP_ARITH_KERNEL(bf16_sum, bf16, 2, bf16_add_fp32(a, b))
FP_ARITH_KERNEL(bf16_prod, bf16, 2, bf16_mul_fp32(a, b))
FP_ORDER_KERNEL(bf16_min, bf16, 2, key16(v_min_s16(key16(a), key16(b))))
FP_ORDER_KERNEL(bf16_max, bf16, 2, key16(v_max_s16(key16(a), key16(b))))
FP_ORDER_KERNEL(fp32_min, fp32, 4, key32(v_min_s32(key32(a), key32(b))))
FP_ORDER_KERNEL(fp32_max, fp32, 4, key32(v_max_s32(key32(a), key32(b))))
FP_ORDER_KERNEL(fp64_min, fp64, 8, key64(v_min_s64(key64(a), key64(b))))
FP_ORDER_KERNEL(fp64_max, fp64, 8, key64(v_max_s64(key64(a), key64(b))))

FP_ARITH_KERNEL(e4m3_sum, e4m3, 1, e4m3_add_fp32(a, b))
FP_ARITH_KERNEL(e4m3_prod, e4m3, 1, e4m3_mul_fp32(a, b))
FP_ORDER_KERNEL(e4m3_min, e4m3, 1, key8(v_min_s8(key8(a), key8(b))))
FP_ORDER_KERNEL(e4m3_max, e4m3, 1, key8(v_max_s8(key8(a), key8(b))))
FP_ARITH_KERNEL(e5m2_sum, e5m2, 1, e5m2_add_fp32(a, b))
FP_ARITH_KERNEL(e5m2_prod, e5m2, 1, e5m2_mul_fp32(a, b))
FP_ORDER_KERNEL(e5m2_min, e5m2, 1, key8(v_min_s8(key8(a), key8(b))))
FP_ORDER_KERNEL(e5m2_max, e5m2, 1, key8(v_max_s8(key8(a), key8(b))))

INT_KERNEL(band8, 1, v_and(a, b))
INT_KERNEL(bor8, 1, v_or(a, b))
INT_KERNEL(bxor8, 1, v_xor(a, b))
INT_KERNEL(land8, 1, land8(a, b))
INT_KERNEL(lor8, 1, lor8(a, b))
INT_KERNEL(lxor8, 1, lxor8(a, b))
INT_KERNEL(band16, 2, v_and(a, b))
INT_KERNEL(bor16, 2, v_or(a, b))
INT_KERNEL(bxor16, 2, v_xor(a, b))
INT_KERNEL(land16, 2, land16(a, b))
INT_KERNEL(lor16, 2, lor16(a, b))
INT_KERNEL(lxor16, 2, lxor16(a, b))
INT_KERNEL(band32, 4, v_and(a, b))
INT_KERNEL(bor32, 4, v_or(a, b))
INT_KERNEL(bxor32, 4, v_xor(a, b))
INT_KERNEL(land32, 4, land32(a, b))
INT_KERNEL(lor32, 4, lor32(a, b))
INT_KERNEL(lxor32, 4, lxor32(a, b))
INT_KERNEL(band64, 8, v_and(a, b))
INT_KERNEL(bor64, 8, v_or(a, b))
INT_KERNEL(bxor64, 8, v_xor(a, b))
INT_KERNEL(land64, 8, land64(a, b))
INT_KERNEL(lor64, 8, lor64(a, b))
INT_KERNEL(lxor64, 8, lxor64(a, b))

/* In reduce_arith.c. */
#define reduce_fp32_sum		hcomm_fp32_sum
#define reduce_fp32_prod	hcomm_fp32_prod
#define reduce_fp64_sum		hcomm_fp64_sum
#define reduce_fp64_prod	hcomm_fp64_prod

#define FP_ROW(type) {							\
	[HCOMM_OP_SUM] = reduce_##type##_sum,				\
	[HCOMM_OP_PROD] = reduce_##type##_prod,				\
	[HCOMM_OP_MIN] = reduce_##type##_min,				\
	[HCOMM_OP_MAX] = reduce_##type##_max,				\
}

/* Sums and products of unsigned integers are those of signed ones. */
#define INT_ROW(arith, order, bits) {					\
	[HCOMM_OP_SUM] = reduce_##arith##_sum,				\
	[HCOMM_OP_PROD] = reduce_##arith##_prod,			\
	[HCOMM_OP_MIN] = reduce_##order##_min,				\
	[HCOMM_OP_MAX] = reduce_##order##_max,				\
	[HCOMM_OP_BAND] = reduce_band##bits,				\
	[HCOMM_OP_BOR] = reduce_bor##bits,				\
	[HCOMM_OP_BXOR] = reduce_bxor##bits,				\
	[HCOMM_OP_LAND] = reduce_land##bits,				\
	[HCOMM_OP_LOR] = reduce_lor##bits,				\
	[HCOMM_OP_LXOR] = reduce_lxor##bits,				\
}

const hcomm_reduce_fn
hcomm_reduce_avx2[HCOMM_DT_COUNT][HCOMM_OP_COUNT] = {
	[HCOMM_DT_INT8] = INT_ROW(s8, s8, 8),
	[HCOMM_DT_UINT8] = INT_ROW(s8, u8, 8),
	[HCOMM_DT_INT16] = INT_ROW(s16, s16, 16),
	[HCOMM_DT_UINT16] = INT_ROW(s16, u16, 16),
	[HCOMM_DT_INT32] = INT_ROW(s32, s32, 32),
	[HCOMM_DT_UINT32] = INT_ROW(s32, u32, 32),
	[HCOMM_DT_INT64] = INT_ROW(s64, s64, 64),
	[HCOMM_DT_UINT64] = INT_ROW(s64, u64, 64),
	[HCOMM_DT_FP16] = FP_ROW(fp16),
	[HCOMM_DT_BF16] = FP_ROW(bf16),
	[HCOMM_DT_FP32] = FP_ROW(fp32),
	[HCOMM_DT_FP64] = FP_ROW(fp64),
	[HCOMM_DT_FP8_E4M3] = FP_ROW(e4m3),
	[HCOMM_DT_FP8_E5M2] = FP_ROW(e5m2),
};

/* ------------------------------------------------------------------ divisions */

/* The bits of an integer from 1 to 2^16 as a number. */
static __always_inline u64 bits_of(u32 div, u32 frac, u32 bias)
{
	u32 lead = 31 - __builtin_clz(div);

	return ((u64)(bias + lead) << frac) | ((u64)(div ^ 1u << lead) << (frac - lead));
}

/*
 * Four fp32 numbers of 16 bit types divided in fp64, and rounded to odd in fp32:
 * its last bit says whether any bit was lost.  The small type then rounds once, as
 * it has few enough bits.
 */
static __always_inline struct vec odd_quotients(struct vec x, struct vec d)
{
	struct vec q = v_div_fp64(v_widen_fp32(x), d);
	struct vec lost = v_and(q, splat64((1ULL << 29) - 1));
	struct vec last = v_andnot(v_eq64(lost, splat64(0)), splat64(1ULL << 29));

	return v_narrow_fp64(v_or(v_xor(q, lost), last));
}

static __always_inline struct vec v_div_small(struct vec x, struct vec d)
{
	return v_join128(odd_quotients(x, d), odd_quotients(v_high128(x), d));
}

static __always_inline struct vec v_div_fp16(struct vec a, struct vec d)
{
	struct vec low = v_div_small(v_widen_fp16(a), d);
	struct vec high = v_div_small(v_widen_fp16(v_high128(a)), d);

	return v_join128(v_narrow_fp16(low), v_narrow_fp16(high));
}

static __always_inline struct vec v_div_bf16(struct vec a, struct vec d)
{
	struct vec even = v_div_small(v_shl32_16(a), d);
	struct vec odd = v_div_small(v_and(a, splat32(0xffff0000)), d);

	return v_odd_u16(v_shr32_16(round_bf16(even)), round_bf16(odd));
}

#define DIV_KERNEL(type, size, divisor)					\
static void div_##type(void *dst, const void *src, u32 div, size_t n)	\
{									\
	struct vec d = divisor, r;					\
	size_t len = n * (size), i;					\
	const u8 *ps = src;						\
	u8 *pd = dst;							\
									\
	for (i = 0; i + VEC_SIZE <= len; i += VEC_SIZE) {		\
		r = v_div_##type(load(ps + i), d);			\
		store(pd + i, canon_##type(r));				\
	}								\
	if (i < len) {							\
		r = v_div_##type(load_part(ps + i, len - i), d);	\
		store_part(pd + i, canon_##type(r), len - i);		\
	}								\
}

DIV_KERNEL(fp16, 2, splat64(bits_of(div, 52, 1023)))
DIV_KERNEL(bf16, 2, splat64(bits_of(div, 52, 1023)))
DIV_KERNEL(fp32, 4, splat32((u32)bits_of(div, 23, 127)))
DIV_KERNEL(fp64, 8, splat64(bits_of(div, 52, 1023)))

const hcomm_div_fn hcomm_div_avx2[HCOMM_DT_COUNT] = {
	[HCOMM_DT_FP16] = div_fp16,
	[HCOMM_DT_BF16] = div_bf16,
	[HCOMM_DT_FP32] = div_fp32,
	[HCOMM_DT_FP64] = div_fp64,
};
