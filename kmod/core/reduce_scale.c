// SPDX-License-Identifier: GPL-2.0-only
/*
 * Scaling of arrays: every element times, or divided by, one number.
 *
 * A multiplication is the product with an array that holds the number all over,
 * so that it has the kernels, the speed and the rules of PROD.  A floating point
 * division by a power of two is a multiplication too: the inverse is exact, and
 * the one rounding is the same.  Other divisions have kernels of their own.
 */
#include "reduce.h"
#include "reduce_kernels.h"
#include "reduce_simd.h"

/* Bytes of the array that holds the number all over. */
#define SCALE_SPLAT	512

/* Bytes of the result per section. */
#define SCALE_SECTION	4096

/* Fraction bits and exponent bias, by dtype - HCOMM_DT_FP16. */
static const struct {
	u8 frac;
	u16 bias;
} scale_format[HCOMM_DT_FP_COUNT] = {
	[HCOMM_DT_FP16 - HCOMM_DT_FP16] = { 10, 15 },
	[HCOMM_DT_BF16 - HCOMM_DT_FP16] = { 7, 127 },
	[HCOMM_DT_FP32 - HCOMM_DT_FP16] = { 23, 127 },
	[HCOMM_DT_FP64 - HCOMM_DT_FP16] = { 52, 1023 },
	[HCOMM_DT_FP8_E4M3 - HCOMM_DT_FP16] = { 3, 7 },
	[HCOMM_DT_FP8_E5M2 - HCOMM_DT_FP16] = { 2, 15 },
};

/* The bits of 1 / div, or 0 where div is no power of two or the type too small. */
static u64 scale_inverse(u32 dtype, u32 div)
{
	u32 frac = scale_format[dtype - HCOMM_DT_FP16].frac;
	s32 bias = scale_format[dtype - HCOMM_DT_FP16].bias;
	s32 e;

	if (div & (div - 1))
		return 0;
	e = bias - (s32)__ffs64(div);
	if (e >= 1)
		return (u64)e << frac;
	return e > -(s32)frac ? 1ULL << ((s32)frac + e - 1) : 0;
}

static void scale_multiply(u32 dtype, u64 operand, u8 *dst, const u8 *src, size_t n)
{
	u64 splat[SCALE_SPLAT / sizeof(u64)];
	size_t size = hcomm_dtype_size(dtype), i;

	if (size == 1)
		operand *= 0x0101010101010101ULL;
	else if (size == 2)
		operand *= 0x0001000100010001ULL;
	else if (size == 4)
		operand *= 0x0000000100000001ULL;
	for (i = 0; i < ARRAY_SIZE(splat) && i * sizeof(u64) < n * size; i++)
		splat[i] = operand;

	while (n) {
		size_t part = min_t(size_t, n, SCALE_SPLAT / size);

		hcomm_reduce(dtype, HCOMM_OP_PROD, dst, src, splat, part);
		dst += part * size;
		src += part * size;
		n -= part;
	}
}

static void scale_divide(u32 dtype, u32 div, u8 *dst, const u8 *src, size_t n)
{
	size_t size = hcomm_dtype_size(dtype);
	hcomm_div_fn fn = HCOMM_DT_IS_INT(dtype) ? hcomm_div_int_scalar[dtype] :
			  hcomm_div_fp_scalar[dtype - HCOMM_DT_INT_COUNT];

#ifdef HCOMM_HAVE_AVX2
	while (n && hcomm_reduce_simd() && hcomm_div_avx2[dtype] && hcomm_simd_begin()) {
		size_t part = min_t(size_t, n, SCALE_SECTION / size);

		hcomm_div_avx2[dtype](dst, src, div, part);
		hcomm_simd_end();
		dst += part * size;
		src += part * size;
		n -= part;
	}
#endif
	fn(dst, src, div, n);
}

void hcomm_scale(u32 dtype, u32 scale, u64 operand, void *dst, const void *src,
		 size_t n)
{
	u64 inverse = 0;

	if (WARN_ON_ONCE(dtype >= HCOMM_DT_COUNT || scale >= HCOMM_SCALE_COUNT))
		return;
	if (scale == HCOMM_SCALE_MUL) {
		scale_multiply(dtype, operand, dst, src, n);
		return;
	}
	if (WARN_ON_ONCE(!operand || operand > HCOMM_MAX_RANKS))
		return;
	if (!HCOMM_DT_IS_INT(dtype))
		inverse = scale_inverse(dtype, (u32)operand);
	if (inverse)
		scale_multiply(dtype, inverse, dst, src, n);
	else
		scale_divide(dtype, (u32)operand, dst, src, n);
}
