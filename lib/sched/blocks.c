// SPDX-License-Identifier: LGPL-2.1-or-later
/* Blocks that travel: the dependencies of their messages. */
#include "blocks.h"

static bool same_loc(struct hcomm_loc a, struct hcomm_loc b)
{
	return a.slot == b.slot && a.off == b.off;
}

void hcomm_blk_send(struct hcomm_plan *plan, struct hcomm_blk *b, uint32_t peer)
{
	uint32_t step;

	if (!b->len)
		return;
	step = hcomm_plan_send(plan, peer, b->at, b->len);
	hcomm_plan_follow(plan, b->made);
	if (same_loc(b->at, b->acc))
		b->reader = step;
}

void hcomm_blk_reduce(struct hcomm_plan *plan, struct hcomm_blk *b, uint32_t peer)
{
	uint32_t step;

	if (!b->len)
		return;
	if (b->acc.slot == HCOMM_NO_SLOT)
		b->acc = hcomm_loc(HCOMM_SLOT_SCRATCH, hcomm_plan_scratch(plan, b->len));
	step = hcomm_plan_recv_reduce(plan, peer, b->acc, b->at, b->len);
	hcomm_plan_follow(plan, b->made);
	/* the first result goes where something else was sent from */
	if (!same_loc(b->at, b->acc))
		hcomm_plan_follow(plan, b->reader);
	b->made = step;
	b->at = b->acc;
}

void hcomm_blk_recv(struct hcomm_plan *plan, struct hcomm_blk *b, uint32_t peer)
{
	if (!b->len)
		return;
	b->made = hcomm_plan_recv(plan, peer, b->acc, b->len);
	hcomm_plan_stream(plan, b->reader);
	b->at = b->acc;
}

void hcomm_blk_settle(struct hcomm_plan *plan, struct hcomm_blk *b)
{
	uint32_t last = plan->nsteps - 1;

	if (!b->len || same_loc(b->at, b->acc))
		return;
	hcomm_plan_copy(plan, b->acc, b->at, b->len);
	/* behind the SENDs, so that it delays none */
	if (last != HCOMM_NO_STEP && plan->steps[last].op == HCOMM_STEP_SEND)
		hcomm_plan_stream(plan, last);
}
