/* SPDX-License-Identifier: GPL-2.0-only */
/* The numbers that programs are tried with, and what must come out. */
#ifndef HCOMM_TEST_CHECK_VALUES_H
#define HCOMM_TEST_CHECK_VALUES_H

#include "check_set.h"

static uint64_t slot_size(const struct set *set, uint32_t r, uint32_t slot)
{
	struct hcomm_sched_args a = set_args(set, r);

	return slot == 2 ? set->prog[r].scratch_size :
			   hcomm_sched_buffer_size(&a, slot);
}

/* block of a buffer that has one for each rank, in elements */
static uint64_t block_of(const struct hcomm_sched_args *a, uint32_t q, bool received,
			 uint64_t *off)
{
	bool out = a->coll == HCOMM_COLL_ALLTOALL && (received || a->in_place);
	const uint64_t *counts = out ? a->rcounts : a->counts;
	const uint64_t *displs = out ? a->rdispls : a->displs;
	uint32_t i;

	*off = q * a->count;
	if (!counts)
		return a->count;
	*off = displs ? displs[q] : 0;
	for (i = 0; !displs && i < q; i++)
		*off += counts[i];
	return counts[q];
}

/* numbers are fp32: sums then depend on their order */
static bool exec_fp32;

/* of very different size, so that each order rounds in its own way */
static uint32_t value_fp32(uint64_t x)
{
	return (x & 0x807fffff) | (120 + (x >> 32) % 16) << 23;
}

static uint32_t value(uint32_t rank, uint64_t elem)
{
	uint64_t x = (rank + 1) * 0x9e3779b97f4a7c15ull + elem * 0xbf58476d1ce4e5b9ull;

	x ^= x >> 29;
	x *= 0x94d049bb133111ebull;
	return exec_fp32 ? value_fp32(x ^ x >> 24) : x >> 32;
}

static uint32_t add_fp32(uint32_t a, uint32_t b)
{
	float x, y;

	memcpy(&x, &a, SIZE);
	memcpy(&y, &b, SIZE);
	x += y;
	memcpy(&a, &x, SIZE);
	return a;
}

static uint32_t apply(uint32_t op, uint32_t a, uint32_t b)
{
	switch (op) {
	case HCOMM_OP_SUM:
		return exec_fp32 ? add_fp32(a, b) : a + b;
	case HCOMM_OP_PROD:
		return a * b;
	case HCOMM_OP_MIN:
		return a < b ? a : b;
	}
	return a > b ? a : b;
}

/* over the ranks below @n */
static uint32_t reduced(const struct set *set, uint32_t n, uint64_t elem)
{
	uint32_t v = value(0, elem), r;

	for (r = 1; r < n; r++)
		v = apply(set->args.redop, v, value(r, elem));
	return v;
}

/* in place: elements of slot 1 that are input, which begins at *off */
static uint64_t input_in_output(const struct set *set, uint32_t r, uint64_t *off)
{
	struct hcomm_sched_args a = set_args(set, r);

	*off = 0;
	if (!a.in_place)
		return 0;
	switch (a.coll) {
	case HCOMM_COLL_GATHER:
		if (r != a.root)
			break;
		/* fall through */
	case HCOMM_COLL_ALLGATHER:
		return block_of(&a, r, false, off);
	case HCOMM_COLL_BROADCAST:
	case HCOMM_COLL_SCATTER:
	case HCOMM_COLL_P2P:
		if (r != a.root)
			return 0;
		break;
	}
	return slot_size(set, r, 1) / SIZE;
}

/* what slot 1 of a rank must be in the end, over what it was before */
static void exec_want(const struct set *set, uint32_t r, uint32_t *want)
{
	struct hcomm_sched_args a = set_args(set, r), b;
	uint64_t n = slot_size(set, r, 1) / SIZE, off, from, e;
	bool root = r == a.root;
	uint32_t q;

	switch (a.coll) {
	case HCOMM_COLL_SCAN:
	case HCOMM_COLL_EXSCAN:
		q = a.coll == HCOMM_COLL_SCAN ? r + 1 : r;
		for (e = 0; q && e < n; e++)
			want[e] = reduced(set, q, e);
		break;
	case HCOMM_COLL_REDUCE:
	case HCOMM_COLL_ALLREDUCE:
		for (e = 0; (root || a.coll == HCOMM_COLL_ALLREDUCE) && e < n; e++)
			want[e] = reduced(set, a.nranks, e);
		break;
	case HCOMM_COLL_REDUCE_SCATTER:
		n = block_of(&a, r, false, &off);
		for (e = 0; e < n; e++)
			want[a.in_place ? off + e : e] = reduced(set, a.nranks, off + e);
		break;
	case HCOMM_COLL_P2P:
	case HCOMM_COLL_BROADCAST:
		for (e = 0; e < n; e++)
			want[e] = value(a.root, e);
		break;
	case HCOMM_COLL_SCATTER:
		b = set_args(set, a.root);
		n = block_of(&b, r, false, &off);
		for (e = 0; !(root && a.in_place) && e < n; e++)
			want[e] = value(a.root, off + e);
		break;
	case HCOMM_COLL_GATHER:
	case HCOMM_COLL_ALLGATHER:
		for (q = 0; q < a.nranks && (root || a.coll == HCOMM_COLL_ALLGATHER); q++) {
			n = block_of(&a, q, false, &off);
			for (e = 0; e < n; e++)
				want[off + e] = value(q, e);
		}
		break;
	case HCOMM_COLL_ALLTOALL:
		for (q = 0; q < a.nranks; q++) {
			b = set_args(set, q);
			block_of(&b, r, false, &from);
			n = block_of(&a, q, true, &off);
			for (e = 0; e < n; e++)
				want[off + e] = value(q, from + e);
		}
		break;
	}
}

#endif /* HCOMM_TEST_CHECK_VALUES_H */
