// SPDX-License-Identifier: GPL-2.0-only
/*
 * Copies and reductions between places in memory.  Work is done in pieces that
 * are contiguous on all sides, each as long as possible; an element that
 * straddles two spans goes through a bounce buffer on the stack.
 */
#include "mem.h"
#include "reduce.h"

u8 *hcomm_mem_ptr(const struct hcomm_mem *mem, u64 off, u64 *contig)
{
	u32 low = 0, high = mem->nspans;

	/* The last span that starts at or below off; span low always does. */
	while (high - low > 1) {
		u32 mid = low + (high - low) / 2;

		if (mem->spans[mid].off <= off)
			low = mid;
		else
			high = mid;
	}
	*contig = (high < mem->nspans ? mem->spans[high].off : mem->length) - off;
	return mem->spans[low].va + (size_t)(off - mem->spans[low].off);
}

/* Contiguous memory as a hcomm_mem, of which only a destination is written. */
static struct hcomm_mem mem_flat(struct hcomm_span *span, const void *p, u64 len)
{
	span->off = 0;
	span->va = (u8 *)p;
	return (struct hcomm_mem){ .length = len, .nspans = 1, .spans = span };
}

void hcomm_mem_copy(struct hcomm_buf dst, struct hcomm_buf src, u64 len)
{
	while (len) {
		u64 dst_len, src_len, part;
		u8 *d = hcomm_mem_ptr(dst.mem, dst.off, &dst_len);
		u8 *s = hcomm_mem_ptr(src.mem, src.off, &src_len);

		part = min_t(u64, len, min_t(u64, dst_len, src_len));
		/* A program may bind overlapping places: wrong data, but no more. */
		if (d != s)
			memmove(d, s, part);
		dst.off += part;
		src.off += part;
		len -= part;
	}
}

void hcomm_mem_write(struct hcomm_buf dst, const void *src, u64 len)
{
	struct hcomm_span span;
	struct hcomm_mem mem = mem_flat(&span, src, len);

	hcomm_mem_copy(dst, (struct hcomm_buf){ .mem = &mem }, len);
}

void hcomm_mem_read(void *dst, struct hcomm_buf src, u64 len)
{
	struct hcomm_span span;
	struct hcomm_mem mem = mem_flat(&span, dst, len);

	hcomm_mem_copy((struct hcomm_buf){ .mem = &mem }, src, len);
}

void hcomm_mem_reduce(u32 dtype, u32 redop, struct hcomm_buf dst,
		      struct hcomm_buf a, struct hcomm_buf b, u64 len)
{
	u32 size = hcomm_dtype_size(dtype);

	if (WARN_ON_ONCE(!size || len & (size - 1)))
		return;

	while (len) {
		u64 dst_len, a_len, b_len, part;
		u8 *d = hcomm_mem_ptr(dst.mem, dst.off, &dst_len);
		u8 *x = hcomm_mem_ptr(a.mem, a.off, &a_len);
		u8 *y = hcomm_mem_ptr(b.mem, b.off, &b_len);

		part = min_t(u64, min_t(u64, len, dst_len), min_t(u64, a_len, b_len));
		part &= ~(u64)(size - 1);
		if (part) {
			hcomm_reduce(dtype, redop, d, x, y, (size_t)part / size);
		} else {
			u8 ex[sizeof(u64)], ey[sizeof(u64)];

			part = size;
			hcomm_mem_read(ex, a, size);
			hcomm_mem_read(ey, b, size);
			hcomm_reduce(dtype, redop, ex, ex, ey, 1);
			hcomm_mem_write(dst, ex, size);
		}
		dst.off += part;
		a.off += part;
		b.off += part;
		len -= part;
	}
}

void hcomm_mem_reduce_flat(u32 dtype, u32 redop, struct hcomm_buf dst,
			   struct hcomm_buf a, const void *b, u64 len)
{
	struct hcomm_span span;
	struct hcomm_mem mem = mem_flat(&span, b, len);

	hcomm_mem_reduce(dtype, redop, dst, a, (struct hcomm_buf){ .mem = &mem }, len);
}

void hcomm_mem_scale(u32 dtype, u32 scale, u64 operand, struct hcomm_buf dst,
		     struct hcomm_buf src, u64 len)
{
	u32 size = hcomm_dtype_size(dtype);

	if (WARN_ON_ONCE(!size || len & (size - 1)))
		return;

	while (len) {
		u64 dst_len, src_len, part;
		u8 *d = hcomm_mem_ptr(dst.mem, dst.off, &dst_len);
		u8 *s = hcomm_mem_ptr(src.mem, src.off, &src_len);

		part = min_t(u64, len, min_t(u64, dst_len, src_len));
		part &= ~(u64)(size - 1);
		if (part) {
			hcomm_scale(dtype, scale, operand, d, s, (size_t)part / size);
		} else {
			u8 e[sizeof(u64)];

			part = size;
			hcomm_mem_read(e, src, size);
			hcomm_scale(dtype, scale, operand, e, e, 1);
			hcomm_mem_write(dst, e, size);
		}
		dst.off += part;
		src.off += part;
		len -= part;
	}
}

static struct hcomm_buf buf_at(struct hcomm_buf buf, u64 off)
{
	return (struct hcomm_buf){ .mem = buf.mem, .off = buf.off + off };
}

void hcomm_mem_transfer(const struct hcomm_transfer *t, u64 off, u64 len)
{
	if (t->reduce)
		hcomm_mem_reduce(t->dtype, t->redop, buf_at(t->dst, off),
				 buf_at(t->acc, off), buf_at(t->src, off), len);
	else
		hcomm_mem_copy(buf_at(t->dst, off), buf_at(t->src, off), len);
}
