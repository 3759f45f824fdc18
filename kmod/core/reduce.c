// SPDX-License-Identifier: GPL-2.0-only
/*
 * Dispatch of reductions: picks the kernel of a type and operation, and cuts
 * long arrays so that a vector-unit section, in which the kernel does not
 * preempt, stays short.  All kernels give the same bits, so each section may
 * choose anew.
 */
#include "reduce.h"
#include "reduce_kernels.h"
#include "reduce_simd.h"

/* Bytes of the result per section. */
#define REDUCE_SECTION	4096

/* Below this many bytes, entering a section costs more than it saves. */
#define REDUCE_SIMD_MIN	64

static const u8 reduce_size[HCOMM_DT_COUNT] = {
	[HCOMM_DT_INT8] = 1,
	[HCOMM_DT_UINT8] = 1,
	[HCOMM_DT_INT16] = 2,
	[HCOMM_DT_UINT16] = 2,
	[HCOMM_DT_INT32] = 4,
	[HCOMM_DT_UINT32] = 4,
	[HCOMM_DT_INT64] = 8,
	[HCOMM_DT_UINT64] = 8,
	[HCOMM_DT_FP16] = 2,
	[HCOMM_DT_BF16] = 2,
	[HCOMM_DT_FP32] = 4,
	[HCOMM_DT_FP64] = 8,
	[HCOMM_DT_FP8_E4M3] = 1,
	[HCOMM_DT_FP8_E5M2] = 1,
};

/* Written once, before the first reduction. */
static bool reduce_use_simd, reduce_use_half;

u32 hcomm_dtype_size(u32 dtype)
{
	return dtype < HCOMM_DT_COUNT ? reduce_size[dtype] : 0;
}

#ifdef HCOMM_HAVE_AVX2
/* Bytes and rounds of a measurement, of which the best counts. */
#define REDUCE_MEASURE		2048
#define REDUCE_MEASURE_ROUNDS	8

/* The time of fn, sums of fp32, on two arrays at x. */
static u64 reduce_measure(hcomm_reduce_fn fn, u8 *x)
{
	u64 best = U64_MAX, start;
	u32 i;

	for (i = 0; i < REDUCE_MEASURE_ROUNDS; i++) {
		if (!hcomm_simd_begin())
			return best;
		start = hcomm_clock_ns();
		fn(x, x, x + REDUCE_MEASURE, REDUCE_MEASURE / sizeof(u32));
		start = hcomm_clock_ns() - start;
		hcomm_simd_end();
		best = min(best, start);
	}
	return best;
}

/* Are sums faster by halves of vectors, by more than noise? */
static bool reduce_half_is_faster(void)
{
	u32 fp32 = HCOMM_DT_FP32 - HCOMM_DT_INT_COUNT;
	u64 half, whole;
	u8 *x;

	x = hcomm_zalloc_array(2, REDUCE_MEASURE);
	if (!x)
		return false;
	/* Ordinary numbers, near 0.74 and 3. */
	memset(x, 0x3f, REDUCE_MEASURE);
	memset(x + REDUCE_MEASURE, 0x40, REDUCE_MEASURE);
	half = reduce_measure(hcomm_reduce_fp_half[fp32][HCOMM_OP_SUM], x);
	whole = reduce_measure(hcomm_reduce_fp_avx2[fp32][HCOMM_OP_SUM], x);
	hcomm_free(x);
	return half < whole - whole / 4;
}
#endif

void hcomm_reduce_init(u32 ways)
{
#ifdef HCOMM_HAVE_AVX2
	reduce_use_simd = ways && hcomm_simd_avx2();
	reduce_use_half = ways == HCOMM_REDUCE_HALF;
	if (reduce_use_simd && ways == HCOMM_REDUCE_ANY)
		reduce_use_half = reduce_half_is_faster();
#endif
}

bool hcomm_reduce_simd(void)
{
	return reduce_use_simd;
}

static hcomm_reduce_fn reduce_scalar_fn(u32 dtype, u32 redop)
{
	if (dtype < HCOMM_DT_INT_COUNT)
		return hcomm_reduce_int_scalar[dtype][redop];
	return hcomm_reduce_fp_scalar[dtype - HCOMM_DT_INT_COUNT][redop];
}

#ifdef HCOMM_HAVE_AVX2
static hcomm_reduce_fn reduce_simd_fn(u32 dtype, u32 redop)
{
	hcomm_reduce_fn half;

	if (dtype < HCOMM_DT_INT_COUNT)
		return hcomm_reduce_int_avx2[dtype][redop];
	dtype -= HCOMM_DT_INT_COUNT;
	half = reduce_use_half ? hcomm_reduce_fp_half[dtype][redop] : NULL;
	return half ?: hcomm_reduce_fp_avx2[dtype][redop];
}

static void reduce_sections(u32 dtype, u32 redop, u8 *dst, const u8 *a,
			    const u8 *b, size_t n)
{
	size_t size = reduce_size[dtype];
	hcomm_reduce_fn scalar = reduce_scalar_fn(dtype, redop);
	hcomm_reduce_fn simd = reduce_simd_fn(dtype, redop);

	while (n) {
		size_t part = min_t(size_t, n, REDUCE_SECTION / size);

		if (hcomm_simd_begin()) {
			simd(dst, a, b, part);
			hcomm_simd_end();
		} else {
			scalar(dst, a, b, part);
		}
		dst += part * size;
		a += part * size;
		b += part * size;
		n -= part;
	}
}
#endif

void hcomm_reduce(u32 dtype, u32 redop, void *dst, const void *a, const void *b,
		  size_t n)
{
	if (WARN_ON_ONCE(dtype >= HCOMM_DT_COUNT || redop >= HCOMM_OP_COUNT ||
			 !HCOMM_OP_FITS(redop, dtype)))
		return;
#ifdef HCOMM_HAVE_AVX2
	if (reduce_use_simd && n >= REDUCE_SIMD_MIN / reduce_size[dtype]) {
		reduce_sections(dtype, redop, dst, a, b, n);
		return;
	}
#endif
	reduce_scalar_fn(dtype, redop)(dst, a, b, n);
}
