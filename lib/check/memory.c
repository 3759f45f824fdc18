// SPDX-License-Identifier: LGPL-2.1-or-later
/* Symbolic memory. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"

int chk_memory_init(struct memory *m, uint64_t size)
{
	*m = (struct memory){ .size = size };
	if (!size)
		return 0;
	m->room = 16;
	m->seg = malloc(m->room * sizeof(*m->seg));
	if (!m->seg)
		return -ENOMEM;
	m->n = 1;
	m->seg[0] = (struct segment){
		.val = { .len = size, .expr = EXPR_NONE },
		.writer = NO_NODE,
	};
	return 0;
}

void chk_memory_exit(struct memory *m)
{
	free(m->seg);
}

/* room for @more segments at @at */
static int make_room(struct memory *m, uint32_t at, uint32_t more)
{
	struct segment *seg;
	uint32_t room = m->room;

	while (m->n + more > room)
		room *= 2;
	if (room != m->room) {
		seg = realloc(m->seg, room * sizeof(*seg));
		if (!seg)
			return -ENOMEM;
		m->seg = seg;
		m->room = room;
	}
	memmove(&m->seg[at + more], &m->seg[at], (m->n - at) * sizeof(*m->seg));
	m->n += more;
	return 0;
}

/* index of the segment that begins at @pos, cutting one if need be */
static int cut(struct memory *m, uint64_t pos, uint32_t *idx)
{
	uint32_t lo = 0, hi = m->n, mid;
	uint64_t part;

	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		if (m->seg[mid].start < pos)
			lo = mid + 1;
		else
			hi = mid;
	}
	*idx = lo;
	if (pos == m->size || m->seg[lo < m->n ? lo : m->n - 1].start == pos)
		return 0;
	/* segment lo - 1 holds it */
	if (make_room(m, lo, 1))
		return -ENOMEM;
	m->seg[lo] = m->seg[lo - 1];
	part = pos - m->seg[lo].start;
	m->seg[lo - 1].val.len = part;
	m->seg[lo].start = pos;
	m->seg[lo].val.len -= part;
	m->seg[lo].val.pos += part;
	return 0;
}

int chk_memory_range(struct memory *m, uint64_t start, uint64_t len,
		     uint32_t *first, uint32_t *end)
{
	if (cut(m, start, first) || cut(m, start + len, end))
		return -ENOMEM;
	return 0;
}

int chk_memory_set(struct memory *m, uint64_t start, uint64_t len, uint32_t expr,
		   int64_t pos)
{
	uint32_t first, end;

	if (!len)
		return 0;
	if (chk_memory_range(m, start, len, &first, &end))
		return -ENOMEM;
	m->seg[first].val = (struct value){ .len = len, .expr = expr, .pos = pos };
	return 0;
}

int chk_memory_replace(struct memory *m, uint32_t first, uint32_t end,
		       const struct values *vals, uint32_t writer)
{
	uint64_t start = m->seg[first].start;
	uint32_t old = end - first, i;

	if (vals->n > old && make_room(m, end, vals->n - old))
		return -ENOMEM;
	if (vals->n < old) {
		memmove(&m->seg[first + vals->n], &m->seg[end],
			(m->n - end) * sizeof(*m->seg));
		m->n -= old - vals->n;
	}
	for (i = 0; i < vals->n; i++) {
		m->seg[first + i] = (struct segment){
			.start = start,
			.val = vals->v[i],
			.writer = writer,
		};
		start += vals->v[i].len;
	}
	return 0;
}

uint32_t chk_readers_add(struct readers *r, uint32_t list, uint32_t node)
{
	struct reader_cell *cell;
	uint32_t room;

	if (r->n == r->room) {
		room = r->room ? r->room * 2 : 1024;
		cell = realloc(r->cell, room * sizeof(*cell));
		if (!cell)
			return 0;
		r->cell = cell;
		r->room = room;
		if (!r->n)
			r->n = 1;
	}
	r->cell[r->n] = (struct reader_cell){ .node = node, .next = list };
	return r->n++;
}

int chk_values_add(struct values *vals, struct value v)
{
	struct value *last = vals->n ? &vals->v[vals->n - 1] : NULL;
	uint32_t room;

	if (last && last->expr == v.expr &&
	    last->pos + (int64_t)last->len == v.pos) {
		last->len += v.len;
		return 0;
	}
	if (vals->n == vals->room) {
		room = vals->room ? vals->room * 2 : 16;
		last = realloc(vals->v, room * sizeof(*last));
		if (!last)
			return -ENOMEM;
		vals->v = last;
		vals->room = room;
	}
	vals->v[vals->n++] = v;
	return 0;
}
