// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * A reduction in the order of ranks.
 *
 * Where the output is the input, or is being sent, partial results are made in
 * scratch memory; only the last operation writes the output, after the SENDs.
 * At the last rank that operation is its own input, not a message: otherwise, of
 * two ranks that exchange inputs, each would wait for the other to accept first.
 */
#include "builders.h"
#include "fold.h"

void hcomm_fold_emit(struct hcomm_plan *plan, const struct hcomm_fold *f)
{
	bool own_last = f->same && f->me == f->n - 1, empty = true;
	uint32_t made = HCOMM_NO_STEP, step, i, j, q;
	struct hcomm_loc acc = f->out, cur = f->out, dst;

	if (f->same && (f->n > 2 || (f->n == 2 && f->me)))
		acc = hcomm_loc(HCOMM_SLOT_SCRATCH, hcomm_plan_scratch(plan, f->len));

	for (i = 0; i < f->n; i++) {
		/* 0 + 1 is 1 + 0: rank 1 needs no buffer for what rank 0 sent */
		q = f->me == 1 && !own_last && i < 2 ? 1 - i : i;
		dst = f->same && i == f->n - 1 ? f->out : acc;
		if (q == f->me && empty) {
			cur = f->in;
			empty = false;
			continue;
		}
		if (q == f->me)
			step = hcomm_plan_reduce(plan, dst, own_last ? cur : f->in,
						 f->len);
		else if (empty)
			step = hcomm_plan_recv(plan, q, dst, f->len);
		else
			step = hcomm_plan_recv_reduce(plan, q, dst, cur, f->len);
		empty = false;
		hcomm_plan_stream(plan, made);
		for (j = 0; i == f->n - 1 && j < f->nsends; j++)
			hcomm_plan_stream(plan, f->first_send + j);
		made = step;
		cur = dst;
	}
}
