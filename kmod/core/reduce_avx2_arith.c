// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sums and products of fp32 and fp64, 16 bytes at a time: half a vector register.
 * Compiled for vector units like all reduce_avx2_*.c.
 *
 * Memory bounds these loops on hardware, where the wider instructions of
 * reduce_avx2_fp.c are a little faster or no slower.  Emulators keep registers in
 * memory and write results of floating point one element at a time: on some hosts
 * a wide instruction that reads such a result stalls, and is four times slower, on
 * others it is a third faster.  reduce.c measures when it starts.
 *
 * A NaN is found in the integer domain, noted, and made the canonical one in a
 * second pass, as in reduce_avx2_fp.c.
 */
#include "reduce_kernels.h"

struct half {
	__attribute__((__vector_size__(16))) u64 v;
};

/* The same at any address. */
struct half_any {
	__attribute__((__vector_size__(16))) u64 v;
} __packed __attribute__((__may_alias__));

#define HALF_SIZE	sizeof(struct half)

#define HALF2(name, insn)						\
static __always_inline struct half h_##name(struct half a, struct half b) \
{									\
	struct half r;							\
									\
	asm(insn " %2, %1, %0" : "=x" (r.v) : "x" (a.v), "x" (b.v));	\
	return r;							\
}

HALF2(add_fp32, "vaddps")
HALF2(mul_fp32, "vmulps")
HALF2(add_fp64, "vaddpd")
HALF2(mul_fp64, "vmulpd")
HALF2(gt_s32, "vpcmpgtd")
HALF2(gt_s64, "vpcmpgtq")
HALF2(and, "vpand")
HALF2(or, "vpor")
HALF2(xor, "vpxor")

static __always_inline struct half h_splat(u64 x)
{
	struct half r = {};

	r.v += x;
	return r;
}

static __always_inline struct half h_load(const u8 *p)
{
	struct half r;

	r.v = ((const struct half_any *)p)->v;
	return r;
}

static __always_inline void h_store(u8 *p, struct half x)
{
	((struct half_any *)p)->v = x.v;
}

/* Less than that: zeros take part for what is missing. */
static __always_inline struct half h_load_part(const u8 *p, size_t len)
{
	struct half r = {};

	memcpy(&r, p, len);
	return r;
}

static __always_inline bool h_any(struct half mask)
{
	u32 bits;

	asm("vpmovmskb %1, %0" : "=r" (bits) : "x" (mask.v));
	return bits;
}

/* Masks of the lanes that hold a NaN. */
static __always_inline struct half h_nan_fp32(struct half x)
{
	return h_gt_s32(h_and(x, h_splat(0x7fffffff7fffffffULL)),
			h_splat(0x7f8000007f800000ULL));
}

static __always_inline struct half h_nan_fp64(struct half x)
{
	return h_gt_s64(h_and(x, h_splat(~0ULL >> 1)), h_splat(0x7ffULL << 52));
}

#define H_CANONICAL_fp32	0x7fc000007fc00000ULL
#define H_CANONICAL_fp64	(0x7ff8ULL << 48)

/* Make every NaN of a result the canonical one. */
#define FIX(type)							\
static __always_inline struct half h_canon_##type(struct half r)	\
{									\
	struct half c = h_splat(H_CANONICAL_##type);			\
									\
	return h_xor(r, h_and(h_nan_##type(r), h_xor(r, c)));		\
}									\
									\
static void h_fix_##type(u8 *p, size_t len)				\
{									\
	struct half r;							\
	size_t i;							\
									\
	for (i = 0; i + HALF_SIZE <= len; i += HALF_SIZE)		\
		h_store(p + i, h_canon_##type(h_load(p + i)));		\
	if (i < len) {							\
		r = h_canon_##type(h_load_part(p + i, len - i));	\
		memcpy(p + i, &r, len - i);				\
	}								\
}

FIX(fp32)
FIX(fp64)

/* Elements are loaded before anything at their place is stored: dst may be a or b. */
#define KERNEL(type, op, name)						\
static void h_##type##_##op(void *dst, const void *a, const void *b, size_t n) \
{									\
	const u8 *pa = a, *pb = b;					\
	struct half nan = {}, r0, r1;					\
	u8 *pd = dst;							\
	size_t len = n * H_SIZE_##type, i;				\
									\
	for (i = 0; i + 2 * HALF_SIZE <= len; i += 2 * HALF_SIZE) {	\
		r0 = h_##name##_##type(h_load(pa + i), h_load(pb + i));	\
		r1 = h_##name##_##type(h_load(pa + i + HALF_SIZE),	\
				       h_load(pb + i + HALF_SIZE));	\
		nan = h_or(nan, h_or(h_nan_##type(r0), h_nan_##type(r1))); \
		h_store(pd + i, r0);					\
		h_store(pd + i + HALF_SIZE, r1);			\
	}								\
	while (i < len) {						\
		size_t part = min_t(size_t, len - i, HALF_SIZE);	\
									\
		r0 = h_##name##_##type(h_load_part(pa + i, part),	\
				       h_load_part(pb + i, part));	\
		nan = h_or(nan, h_nan_##type(r0));			\
		memcpy(pd + i, &r0, part);				\
		i += part;						\
	}								\
	if (unlikely(h_any(nan)))					\
		h_fix_##type(pd, len);					\
}

#define H_SIZE_fp32	4
#define H_SIZE_fp64	8

KERNEL(fp32, sum, add)
KERNEL(fp32, prod, mul)
KERNEL(fp64, sum, add)
KERNEL(fp64, prod, mul)

#define FP(dtype)	((dtype) - HCOMM_DT_INT_COUNT)

const hcomm_reduce_fn
hcomm_reduce_fp_half[HCOMM_DT_FP_COUNT][HCOMM_OP_FP_COUNT] = {
	[FP(HCOMM_DT_FP32)] = {
		[HCOMM_OP_SUM] = h_fp32_sum,
		[HCOMM_OP_PROD] = h_fp32_prod,
	},
	[FP(HCOMM_DT_FP64)] = {
		[HCOMM_OP_SUM] = h_fp64_sum,
		[HCOMM_OP_PROD] = h_fp64_prod,
	},
};
