// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Bruck's AllGather and AllToAll (J. Bruck, C.-T. Ho, S. Kipnis, E. Upfal,
 * D. Weathersby: Efficient algorithms for all-to-all communications in multiport
 * message-passing systems, IEEE TPDS 8, 1997): ceil(log2 n) rounds for any number
 * of ranks.
 *
 * AllGather: in the round of distance d rank r has the blocks of r to r + d - 1,
 * gives them to r - d and gets the next d.  Blocks stay where they belong in the
 * output, so nothing is rotated at the end.
 *
 * AllToAll: block i of rank r is for r + i.  In the round of distance d all blocks
 * whose i has bit d travel on by d, packed into one message; a block has made its
 * way when all bits of i were its turn.  Each byte is sent up to log2 n times, so
 * this is for small blocks.
 */
#include <errno.h>
#include <stdlib.h>

#include "bruck.h"

static void allgather(struct hcomm_plan *plan, const struct hcomm_sched_args *args)
{
	struct hcomm_bruck b = { .plan = plan, .args = args };
	uint32_t d;

	for (d = 1; d < args->nranks; d *= 2)
		b.distance[b.rounds++] = d;
	b.distance[b.rounds] = args->nranks;
	hcomm_bruck_own(&b);
	hcomm_bruck_allgather(&b);
}

/*
 * at: where block i is; made: the RECV it came by; packed: the COPY that took it
 * from the input
 */
struct travel {
	struct hcomm_loc at;
	uint32_t made;
	uint32_t packed;
};

static void alltoall(struct hcomm_plan *plan, const struct hcomm_sched_args *args)
{
	uint32_t n = args->nranks, r = args->rank, d, i, k, count, made;
	uint64_t len = args->count * hcomm_dtype_bytes(args->dtype), out, in;
	struct travel *t = malloc(n * sizeof(*t));

	if (!t) {
		hcomm_plan_fail(plan, -ENOMEM);
		return;
	}
	for (i = 0; i < n && len; i++)
		t[i] = (struct travel){
			hcomm_input(args, (r + i) % n * len), HCOMM_NO_STEP, HCOMM_NO_STEP,
		};
	for (d = 1; d < n && len && !plan->err; d *= 2) {
		for (i = d, count = 0; i < n; i++)
			count += !!(i & d);
		out = hcomm_plan_scratch(plan, count * len);
		in = hcomm_plan_scratch(plan, count * len);
		for (i = d, k = 0; i < n; i++) {
			if (!(i & d))
				continue;
			made = hcomm_plan_copy(plan, hcomm_loc(HCOMM_SLOT_SCRATCH,
							       out + k++ * len),
					       t[i].at, len);
			hcomm_plan_after(plan, t[i].made);
			if (t[i].at.slot != HCOMM_SLOT_SCRATCH)
				t[i].packed = made;
		}
		hcomm_plan_send(plan, (r + d) % n, hcomm_loc(HCOMM_SLOT_SCRATCH, out),
				count * len);
		for (i = 0; i < count; i++)
			hcomm_plan_after(plan, plan->nsteps - 2 - i);
		made = hcomm_plan_recv(plan, hcomm_ring_sub(r, d, n),
				       hcomm_loc(HCOMM_SLOT_SCRATCH, in), count * len);
		for (i = d, k = 0; i < n; i++) {
			if (!(i & d))
				continue;
			t[i].at = hcomm_loc(HCOMM_SLOT_SCRATCH, in + k++ * len);
			t[i].made = made;
		}
	}
	for (i = args->in_place; i < n && len && !plan->err; i++) {
		k = hcomm_ring_sub(r, i, n);
		hcomm_plan_copy(plan, hcomm_output(k * len), t[i].at, len);
		hcomm_plan_after(plan, t[i].made);
		/* in place: the block that it overwrites, that of r + (n - i), is gone */
		if (args->in_place)
			hcomm_plan_after(plan, t[n - i].packed);
	}
	free(t);
}

void hcomm_build_bruck(struct hcomm_plan *plan, const struct hcomm_sched_args *args)
{
	if (args->coll == HCOMM_COLL_ALLGATHER)
		allgather(plan, args);
	else
		alltoall(plan, args);
}
