// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Broadcast as scatter and allgather (M. Barnett, S. Gupta, D. G. Payne, L. Shuler,
 * R. van de Geijn, J. Watts: Interprocessor collective communication library,
 * SHPCC 1994): the root's n parts go down a binomial tree, then round a ring.
 *
 * Ranks and parts are counted from the root.  A rank gets its part with those of
 * its subtree, straight into the output; these do not come round again.
 */
#include <errno.h>
#include <stdlib.h>

#include "builders.h"
#include "knomial.h"

static uint64_t part_start(const struct hcomm_sched_args *args, uint32_t v)
{
	uint64_t first;

	hcomm_split(args->count, args->nranks, v, &first);
	return first * hcomm_dtype_bytes(args->dtype);
}

/* does rank @v have part @p from the scatter? */
static bool has(const struct hcomm_sched_args *args, uint32_t v, uint32_t p)
{
	return p >= v && p - v < hcomm_knomial_subtree(v, args->nranks, 2);
}

/* returns the step that brought the parts */
static uint32_t scatter(struct hcomm_plan *plan, const struct hcomm_sched_args *args,
			uint32_t v)
{
	uint32_t n = args->nranks, got = HCOMM_NO_STEP, c, w;
	struct hcomm_tree tree;
	uint64_t from, to;

	hcomm_knomial_tree(args, 2, &tree);
	if (v) {
		from = part_start(args, v);
		to = part_start(args, v + hcomm_knomial_subtree(v, n, 2));
		if (from != to)
			got = hcomm_plan_recv(plan, tree.parent, hcomm_output(from),
					      to - from);
	}
	for (c = tree.nchildren; c-- > 0;) {
		w = hcomm_ring_sub(tree.child[c], args->root, n);
		from = part_start(args, w);
		to = part_start(args, w + hcomm_knomial_subtree(w, n, 2));
		if (from == to)
			continue;
		hcomm_plan_send(plan, tree.child[c], v ? hcomm_output(from) :
				hcomm_input(args, from), to - from);
		hcomm_plan_after(plan, got);
	}
	return got;
}

void hcomm_build_scatter_allgather(struct hcomm_plan *plan,
				   const struct hcomm_sched_args *args)
{
	uint32_t n = args->nranks, v = hcomm_ring_sub(args->rank, args->root, n);
	uint32_t next = (args->rank + 1) % n, prev = hcomm_ring_sub(args->rank, 1, n);
	uint32_t got = scatter(plan, args, v), made = HCOMM_NO_STEP, s, p;
	uint64_t from, to;
	bool mine = true;

	for (s = 0; s < n - 1; s++) {
		/* part v - s, which came in the round before or by the scatter */
		p = hcomm_ring_sub(v, s, n);
		from = part_start(args, p);
		to = part_start(args, p + 1);
		if (from != to && !has(args, (v + 1) % n, p)) {
			hcomm_plan_send(plan, next, v ? hcomm_output(from) :
					hcomm_input(args, from), to - from);
			if (mine)
				hcomm_plan_after(plan, got);
			else
				hcomm_plan_stream(plan, made);
		}
		p = hcomm_ring_sub(v, s + 1, n);
		from = part_start(args, p);
		to = part_start(args, p + 1);
		mine = has(args, v, p);
		if (from != to && !mine)
			made = hcomm_plan_recv(plan, prev, hcomm_output(from), to - from);
	}
	to = part_start(args, n);
	if (v || args->in_place || !to)
		return;
	s = plan->nsteps - 1;
	hcomm_plan_copy(plan, hcomm_output(0), hcomm_input(args, 0), to);
	hcomm_plan_after(plan, s);
}
