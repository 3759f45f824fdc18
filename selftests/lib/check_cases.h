/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Arguments of all ranks for the tests of schedules: V forms with blocks of all
 * lengths, apart and in any order, and topologies with nodes of all sizes.
 */
#ifndef HCOMM_TEST_CHECK_CASES_H
#define HCOMM_TEST_CHECK_CASES_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/check/check.h"

/* shapes of a case, beside the arguments */
#define CASE_VECTOR	1u	/* V form */
#define CASE_PACKED	2u	/* of it, without displacements */

struct test_case {
	struct hcomm_sched_args *ranks;
	uint64_t *mem;
};

static uint64_t case_seed = 88172645463325252ull;

static uint32_t case_rnd(uint32_t n)
{
	case_seed ^= case_seed << 13;
	case_seed ^= case_seed >> 7;
	case_seed ^= case_seed << 17;
	return (case_seed >> 11) % n;
}

static bool case_rooted(uint32_t coll)
{
	return coll == HCOMM_COLL_BROADCAST || coll == HCOMM_COLL_REDUCE ||
	       coll == HCOMM_COLL_GATHER || coll == HCOMM_COLL_SCATTER;
}

static bool case_reduces(uint32_t coll)
{
	return coll == HCOMM_COLL_REDUCE || coll == HCOMM_COLL_ALLREDUCE ||
	       coll == HCOMM_COLL_REDUCE_SCATTER || coll == HCOMM_COLL_SCAN ||
	       coll == HCOMM_COLL_EXSCAN;
}

/* @count of it is one block, of which there is one per rank */
static bool case_blocks(uint32_t coll)
{
	return coll == HCOMM_COLL_ALLGATHER || coll == HCOMM_COLL_REDUCE_SCATTER ||
	       coll == HCOMM_COLL_GATHER || coll == HCOMM_COLL_SCATTER ||
	       coll == HCOMM_COLL_ALLTOALL;
}

/* has the algorithm this form of the collective? */
static bool case_supported(uint32_t coll, uint32_t algo, bool vector, bool fixed)
{
	static const uint64_t one;
	struct hcomm_sched_args a = {
		.coll = coll, .algo = algo, .nranks = 1, .dtype = HCOMM_DT_FP32,
		.chunk_size = 4, .fixed_order = fixed, .vector = vector,
		.counts = vector ? &one : NULL, .rcounts = &one,
	};

	return !hcomm_sched_check(&a);
}

/* blocks in some order with gaps */
static void case_place(uint32_t n, const uint64_t *counts, uint64_t *displs)
{
	uint64_t at = case_rnd(3);
	uint32_t start = case_rnd(n), step = case_rnd(2) ? 1 : n - 1, i, q;

	for (i = 0, q = start; i < n; i++, q = (q + step) % n) {
		displs[q] = at;
		at += counts[q] + (case_rnd(3) ? 0 : case_rnd(3));
	}
}

static void case_vector(struct test_case *c, const struct hcomm_sched_args *base,
			uint32_t shape)
{
	uint32_t n = base->nranks, i, j;
	size_t nn = (size_t)n * n;
	uint64_t *counts, *displs, *rcounts, *rdispls;
	bool packed = shape & CASE_PACKED || base->coll == HCOMM_COLL_REDUCE_SCATTER;

	c->mem = calloc(4 * nn, sizeof(*c->mem));
	if (!c->mem)
		abort();
	counts = c->mem;
	displs = counts + nn;
	rcounts = displs + nn;
	rdispls = rcounts + nn;
	for (i = 0; i < n; i++) {
		for (j = 0; j < n; j++) {
			uint64_t v = case_rnd(3) ? case_rnd(base->count + 1) : 0;

			counts[i * n + j] = v;
			if (base->coll != HCOMM_COLL_ALLTOALL && i)
				counts[i * n + j] = counts[j];
			else if (base->in_place && j < i)
				counts[i * n + j] = counts[j * n + i];
			rcounts[j * n + i] = counts[i * n + j];
		}
	}
	for (i = 0; i < n; i++) {
		struct hcomm_sched_args *a = &c->ranks[i];
		bool all = !(base->coll == HCOMM_COLL_GATHER ||
			     base->coll == HCOMM_COLL_SCATTER) || i == base->root;

		case_place(n, &counts[i * n], &displs[i * n]);
		case_place(n, &rcounts[i * n], &rdispls[i * n]);
		a->vector = true;
		a->count = counts[i * n + i];
		if (!all)
			continue;
		a->counts = &counts[i * n];
		a->displs = packed ? NULL : &displs[i * n];
		if (base->coll == HCOMM_COLL_ALLTOALL) {
			a->rcounts = &rcounts[i * n];
			a->rdispls = packed ? NULL : &rdispls[i * n];
		}
		if (base->coll == HCOMM_COLL_ALLTOALL && base->in_place) {
			a->counts = NULL;
			a->displs = NULL;
		}
	}
}

/* in the V form, blocks have 0 to base->count elements */
static void case_make(struct test_case *c, const struct hcomm_sched_args *base,
		      uint32_t shape)
{
	uint32_t i;

	c->mem = NULL;
	c->ranks = calloc(base->nranks, sizeof(*c->ranks));
	if (!c->ranks)
		abort();
	for (i = 0; i < base->nranks; i++) {
		c->ranks[i] = *base;
		c->ranks[i].rank = i;
	}
	if (shape & CASE_VECTOR)
		case_vector(c, base, shape);
}

static void case_free(struct test_case *c)
{
	free(c->ranks);
	free(c->mem);
}

#define CASE_TOPOS	7u

/*
 * Some topology of @n ranks: all on one node; each on its own; equal nodes; nodes
 * of growing size; two very unequal ones; scattered; groups of unequal nodes.
 */
static struct hcomm_sched_topo *case_topo(uint32_t n, uint32_t which)
{
	uint32_t *node = calloc(2 * n, sizeof(*node)), *group = node + n, i, k, left;
	struct hcomm_sched_topo *topo;
	uint32_t groups = 1 + case_rnd(5);

	if (!node)
		abort();
	for (i = 0, k = 0, left = 1; i < n; i++) {
		switch (which) {
		case 0:
			break;
		case 1:
			node[i] = n - i;
			break;
		case 2:
			node[i] = i / (1 + n / 4);
			break;
		case 3:
			if (!left--) {
				k++;
				left = k;
			}
			node[i] = 1000 * k;
			break;
		case 4:
			node[i] = i + 1 < n ? 7 : 9;
			break;
		case 5:
			node[i] = case_rnd(1 + n / 3);
			break;
		default:
			node[i] = case_rnd(1 + n / 2);
			group[i] = node[i] * 7 % groups % 3 + (node[i] > n / 8);
			break;
		}
	}
	if (hcomm_sched_topo_create(n, node, group, &topo))
		abort();
	free(node);
	return topo;
}

#endif /* HCOMM_TEST_CHECK_CASES_H */
