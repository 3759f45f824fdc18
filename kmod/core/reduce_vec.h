/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * AVX2 and F16C for the files reduce_avx2_*.c, which alone are compiled for vector
 * units (-mavx2), and all of which runs inside a section.
 *
 * Every instruction that matters is an asm statement of its own, so that no
 * compiler contracts, reorders or replaces it, and no intrinsics header is
 * needed; the compiler still allocates registers and schedules.  Loads and
 * stores are plain C, which sanitizers see.
 */
#ifndef HCOMM_CORE_REDUCE_VEC_H
#define HCOMM_CORE_REDUCE_VEC_H

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
VEC2(add_fp64, "vaddpd %2, %1, %0")
VEC2(mul_fp64, "vmulpd %2, %1, %0")
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

static __always_inline struct vec v_min_s64(struct vec a, struct vec b)
{
	return pick(v_gt_s64(a, b), b, a);
}

static __always_inline struct vec v_max_s64(struct vec a, struct vec b)
{
	return pick(v_gt_s64(a, b), a, b);
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

#endif /* HCOMM_CORE_REDUCE_VEC_H */
