// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Direct AllReduce: every rank sends its input to all others, and reduces what
 * it gets in the order of ranks, so that all get the same bits.  One message of
 * latency, for small data and few ranks.
 *
 * In place, the sums are made in scratch memory, as the input is being sent;
 * only the last operation writes the output, after the SENDs.  At the last rank
 * that operation is its own input, not a message: otherwise, of two ranks, each
 * would wait for the other to accept first.
 */
#include "builders.h"

void hcomm_build_direct(struct hcomm_plan *plan,
			const struct hcomm_sched_args *args)
{
	uint32_t n = args->nranks, r = args->rank, made = HCOMM_NO_STEP, i, j, q;
	uint64_t len = args->count * hcomm_dtype_bytes(args->dtype);
	struct hcomm_loc in = hcomm_input(args, 0), out = hcomm_output(0);
	struct hcomm_loc acc = out, cur = out, dst;
	uint32_t first_send = plan->nsteps, step;
	bool own_last = args->in_place && r == n - 1, empty = true;

	if (!len)
		return;
	/* the one above first, so that not all begin with rank 0 */
	for (i = 1; i < n; i++)
		hcomm_plan_send(plan, (r + i) % n, in, len);
	if (args->in_place && (n > 2 || r))
		acc = hcomm_loc(HCOMM_SLOT_SCRATCH, hcomm_plan_scratch(plan, len));

	for (i = 0; i < n; i++) {
		/* 0 + 1 is 1 + 0: rank 1 needs no buffer for what rank 0 sent */
		q = r == 1 && !own_last && i < 2 ? 1 - i : i;
		dst = args->in_place && i == n - 1 ? out : acc;
		if (q == r && empty) {
			cur = in;
			empty = false;
			continue;
		}
		if (q == r)
			step = hcomm_plan_reduce(plan, dst, own_last ? cur : in, len);
		else if (empty)
			step = hcomm_plan_recv(plan, q, dst, len);
		else
			step = hcomm_plan_recv_reduce(plan, q, dst, cur, len);
		empty = false;
		hcomm_plan_stream(plan, made);
		for (j = 0; args->in_place && i == n - 1 && j < n - 1; j++)
			hcomm_plan_stream(plan, first_send + j);
		made = step;
		cur = dst;
	}
}
