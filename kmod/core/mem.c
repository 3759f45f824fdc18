// SPDX-License-Identifier: GPL-2.0-only
/*
 * Copies and reductions between places in memory.  Work is done in pieces that
 * are contiguous on all sides, each as long as possible; an element that
 * straddles two spans goes through a bounce buffer on the stack.
 */
#include "mem.h"
#include "reduce.h"

/* A place that moves on: the span that it is in is looked for once. */
struct place {
	const struct hcomm_mem *mem;
	u64 off;
	u32 span;
};

static struct place place_at(const struct hcomm_mem *mem, u64 off)
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
	return (struct place){ .mem = mem, .off = off, .span = low };
}

static struct place place_of(struct hcomm_buf buf)
{
	return place_at(buf.mem, buf.off);
}

static u64 span_end(const struct place *p)
{
	const struct hcomm_mem *mem = p->mem;

	return p->span + 1 < mem->nspans ? mem->spans[p->span + 1].off : mem->length;
}

static u8 *place_ptr(const struct place *p, u64 *contig)
{
	const struct hcomm_span *span = &p->mem->spans[p->span];

	*contig = span_end(p) - p->off;
	return span->va + (size_t)(p->off - span->off);
}

static void place_move(struct place *p, u64 len)
{
	p->off += len;
	while (p->off >= span_end(p) && p->span + 1 < p->mem->nspans)
		p->span++;
}

static struct hcomm_buf place_buf(const struct place *p)
{
	return (struct hcomm_buf){ .mem = (struct hcomm_mem *)p->mem, .off = p->off };
}

u8 *hcomm_mem_ptr(const struct hcomm_mem *mem, u64 off, u64 *contig)
{
	struct place p = place_at(mem, off);

	return place_ptr(&p, contig);
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
	struct place to, from;

	if (!len)
		return;
	to = place_of(dst);
	from = place_of(src);
	while (len) {
		u64 dst_len, src_len, part;
		u8 *d = place_ptr(&to, &dst_len);
		u8 *s = place_ptr(&from, &src_len);

		part = min_t(u64, len, min_t(u64, dst_len, src_len));
		/* A program may bind overlapping places: wrong data, but no more. */
		if (d != s)
			memmove(d, s, part);
		place_move(&to, part);
		place_move(&from, part);
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
	struct place to, left, right;

	if (WARN_ON_ONCE(!size || len & (size - 1)) || !len)
		return;

	to = place_of(dst);
	left = place_of(a);
	right = place_of(b);
	while (len) {
		u64 dst_len, a_len, b_len, part;
		u8 *d = place_ptr(&to, &dst_len);
		u8 *x = place_ptr(&left, &a_len);
		u8 *y = place_ptr(&right, &b_len);

		part = min_t(u64, min_t(u64, len, dst_len), min_t(u64, a_len, b_len));
		part &= ~(u64)(size - 1);
		if (part) {
			hcomm_reduce(dtype, redop, d, x, y, (size_t)part / size);
		} else {
			u8 ex[sizeof(u64)], ey[sizeof(u64)];

			part = size;
			hcomm_mem_read(ex, place_buf(&left), size);
			hcomm_mem_read(ey, place_buf(&right), size);
			hcomm_reduce(dtype, redop, ex, ex, ey, 1);
			hcomm_mem_write(place_buf(&to), ex, size);
		}
		place_move(&to, part);
		place_move(&left, part);
		place_move(&right, part);
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
	struct place to, from;

	if (WARN_ON_ONCE(!size || len & (size - 1)) || !len)
		return;

	to = place_of(dst);
	from = place_of(src);
	while (len) {
		u64 dst_len, src_len, part;
		u8 *d = place_ptr(&to, &dst_len);
		u8 *s = place_ptr(&from, &src_len);

		part = min_t(u64, len, min_t(u64, dst_len, src_len));
		part &= ~(u64)(size - 1);
		if (part) {
			hcomm_scale(dtype, scale, operand, d, s, (size_t)part / size);
		} else {
			u8 e[sizeof(u64)];

			part = size;
			hcomm_mem_read(e, place_buf(&from), size);
			hcomm_scale(dtype, scale, operand, e, e, 1);
			hcomm_mem_write(place_buf(&to), e, size);
		}
		place_move(&to, part);
		place_move(&from, part);
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
