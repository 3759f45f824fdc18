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

/* ------------------------------------------------------------- floating point */

#define FP16_INF	0x7c00
#define BF16_INF	0x7f80

/* Masks of the lanes that hold a NaN. */
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
FP_ARITH_KERNEL(fp32_sum, fp32, 4, v_add_fp32(a, b))
FP_ARITH_KERNEL(fp32_prod, fp32, 4, v_mul_fp32(a, b))
FP_ORDER_KERNEL(fp32_min, fp32, 4, key32(v_min_s32(key32(a), key32(b))))
FP_ORDER_KERNEL(fp32_max, fp32, 4, key32(v_max_s32(key32(a), key32(b))))
FP_ARITH_KERNEL(fp64_sum, fp64, 8, v_add_fp64(a, b))
FP_ARITH_KERNEL(fp64_prod, fp64, 8, v_mul_fp64(a, b))
FP_ORDER_KERNEL(fp64_min, fp64, 8, key64(v_min_s64(key64(a), key64(b))))
FP_ORDER_KERNEL(fp64_max, fp64, 8, key64(v_max_s64(key64(a), key64(b))))

/* Sums and products of unsigned integers are those of signed ones. */
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
