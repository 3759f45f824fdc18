// SPDX-License-Identifier: GPL-2.0-only
/* V forms: blocks of unequal length, some of them empty, apart and in reverse order. */
#include <stdlib.h>
#include <string.h>

#include "../common/elems.h"
#include "../common/util.h"
#include "test.h"

#define GAP	5	/* elements between blocks */

enum vcoll { V_ALLGATHER, V_REDUCE_SCATTER, V_GATHER, V_SCATTER, V_ALLTOALL, V_COUNT };

static const char *const names[V_COUNT] = {
	"allgatherv", "reduce_scatterv", "gatherv", "scatterv", "alltoallv",
};

/**
 * struct vcall - one call
 * @coll: which
 * @dtype: type of the elements
 * @unit: what counts are made of
 * @root: root, where there is one
 * @apart: with displacements
 * @counts: elements to each rank, or of each block
 * @displs: where they are
 * @rcounts: alltoallv: elements from each rank
 * @rdispls: where they are
 */
struct vcall {
	enum vcoll coll;
	hcommDataType_t dtype;
	size_t unit;
	unsigned int root;
	bool apart;
	size_t *counts;
	size_t *displs;
	size_t *rcounts;
	size_t *rdispls;
};

static size_t count_of(const struct vcall *call, unsigned int from, unsigned int to)
{
	if (call->coll != V_ALLTOALL)
		from = 0;
	return (from * 3 + to + call->unit) % 4 * call->unit / 3;
}

/* blocks in reverse order with gaps, or packed; returns where they end */
static size_t displace(const struct test *t, const struct vcall *call,
		       const size_t *counts, size_t *displs)
{
	size_t at = 0;
	unsigned int i, q;

	for (i = 0; i < t->size; i++) {
		q = call->apart ? t->size - 1 - i : i;
		displs[q] = at;
		at += counts[q] + (call->apart ? GAP : 0);
	}
	return at;
}

static hcommResult_t make_call(const struct test *t, const struct vcall *c,
			       const void *send, void *recv)
{
	const size_t *displs = c->apart ? c->displs : NULL;
	size_t own = c->counts[t->rank];

	switch (c->coll) {
	case V_ALLGATHER:
		return hcommAllGatherV(send, recv, c->counts, displs, c->dtype, COMM_WORLD);
	case V_REDUCE_SCATTER:
		return hcommReduceScatterV(send, recv, c->counts, c->dtype, hcommSum,
					   COMM_WORLD);
	case V_GATHER:
		return hcommGatherV(send, own, recv, c->counts, displs, c->dtype,
				    (int)c->root, COMM_WORLD);
	case V_SCATTER:
		return hcommScatterV(send, c->counts, displs, recv, own, c->dtype,
				     (int)c->root, COMM_WORLD);
	default:
		return hcommAlltoAllV(send, c->counts, displs, recv, c->rcounts,
				      c->apart ? c->rdispls : NULL, c->dtype, COMM_WORLD);
	}
}

/* what @rank has, from element @first on, is put where it must come out */
static void put(const struct test *t, const struct vcall *c, char *want, unsigned int rank,
		size_t first, size_t count)
{
	char period[PERIOD * 8];

	pattern_of_rank(period, c->dtype, hcommSum, t->seed, rank);
	pattern_fill(want, period, dtype_size(c->dtype), first, count);
}

static void fill_want(const struct test *t, const struct vcall *c, char *want)
{
	size_t elem = dtype_size(c->dtype), own = c->counts[t->rank];
	char period[PERIOD * 8];
	unsigned int q;

	switch (c->coll) {
	case V_REDUCE_SCATTER:
		pattern_reduced(period, c->dtype, hcommSum, t->seed, t->size);
		pattern_fill(want, period, elem, c->displs[t->rank], own);
		break;
	case V_SCATTER:
		put(t, c, want, c->root, c->displs[t->rank], own);
		break;
	case V_ALLTOALL:
		for (q = 0; q < t->size; q++)
			put(t, c, want + c->rdispls[q] * elem, q, t->rank, c->rcounts[q]);
		break;
	default:
		for (q = 0; q < t->size; q++) {
			if (c->coll == V_ALLGATHER || t->rank == c->root)
				put(t, c, want + c->displs[q] * elem, q, 0, c->counts[q]);
		}
	}
}

static void fill_input(const struct test *t, const struct vcall *c, char *in, size_t end)
{
	size_t elem = dtype_size(c->dtype);
	unsigned int q;

	if (c->coll != V_ALLTOALL) {
		put(t, c, in, t->rank, 0, end);
		return;
	}
	for (q = 0; q < t->size; q++)
		put(t, c, in + c->displs[q] * elem, t->rank, q, c->counts[q]);
}

static void one_check(struct test *t, struct vcall *c)
{
	size_t elem = dtype_size(c->dtype), end, rend, bytes;
	char *in = t->memory[0], *out = t->memory[1], *want;
	hcommResult_t ret;
	unsigned int q;

	t->seed++;
	t->calls++;
	for (q = 0; q < t->size; q++) {
		c->counts[q] = count_of(c, t->rank, q);
		c->rcounts[q] = count_of(c, q, t->rank);
	}
	end = displace(t, c, c->counts, c->displs);
	rend = displace(t, c, c->rcounts, c->rdispls);
	bytes = (end > rend ? end : rend) * elem + 2 * GUARD_BYTES;
	want = must_malloc(bytes);
	memset(want, POISON, bytes);
	memset(out, POISON, bytes);
	fill_input(t, c, in, end);
	fill_want(t, c, want + GUARD_BYTES);
	ret = make_call(t, c, in, out + GUARD_BYTES);
	if (ret)
		fatal("rank %u: %s: %s: %s", t->rank, names[c->coll],
		      hcommGetErrorString(ret), hcommGetLastError(NULL));
	check_result(t, !memcmp(out, want, bytes),
		     "%s of %s, counts of %zu, root %u%s: the output, or what is around its blocks, is wrong",
		     names[c->coll], dtype_names[c->dtype], c->unit, c->root,
		     c->apart ? ", apart" : "");
	free(want);
}

static void check_coll(struct test *t, struct vcall *c)
{
	static const hcommDataType_t dtypes[] = { hcommUint8, hcommInt16, hcommFloat64 };
	static const size_t units[] = { 1, 30, 1001, 20011 };
	unsigned int i, k;

	group_begin(t);
	for (i = 0; i < ARRAY_SIZE(dtypes); i++) {
		for (k = 0; k < ARRAY_SIZE(units); k++) {
			c->dtype = dtypes[i];
			c->unit = units[k];
			/* the blocks of all ranks have to fit */
			while (c->unit && t->size * (c->unit + GAP) * 8 +
			       2 * GUARD_BYTES > t->room)
				c->unit /= 2;
			if (!c->unit)
				continue;
			c->root = t->calls / 2 % t->size;
			/* the input of a reduce_scatter is always packed */
			c->apart = c->coll != V_REDUCE_SCATTER;
			one_check(t, c);
			c->apart = false;
			one_check(t, c);
		}
	}
	group_end(t, "%s", names[c->coll]);
}

void test_vector(struct test *t)
{
	size_t *arrays = must_malloc(4 * t->size * sizeof(*arrays));
	struct vcall c = {
		.counts = arrays, .displs = arrays + t->size,
		.rcounts = arrays + 2 * t->size, .rdispls = arrays + 3 * t->size,
	};
	unsigned int coll;

	for (coll = 0; coll < V_COUNT; coll++) {
		c.coll = (enum vcoll)coll;
		check_coll(t, &c);
	}
	free(arrays);
}
