// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * A plan inside another one: an AllReduce of some ranks, on a part of the data, by
 * any builder.  Its steps that wait for nothing wait for what made the part.
 */
#include <errno.h>
#include <stdlib.h>

#include "splice.h"

static struct hcomm_loc moved(uint32_t slot, uint64_t off, uint64_t base, uint64_t scratch)
{
	return hcomm_loc(slot, off + (slot == HCOMM_SLOT_SCRATCH ? scratch : base));
}

/* step @i of @sub; numbers of messages follow from the order */
static uint32_t emit(struct hcomm_plan *plan, const struct hcomm_step *s,
		     const struct hcomm_team *team, uint64_t base, uint64_t scratch)
{
	struct hcomm_loc src = moved(s->src_slot, s->src_off, base, scratch);
	struct hcomm_loc dst = moved(s->dst_slot, s->dst_off, base, scratch);

	switch (s->op) {
	case HCOMM_STEP_SEND:
		return hcomm_plan_send(plan, team->rank[s->peer], src, s->len);
	case HCOMM_STEP_RECV:
		return hcomm_plan_recv(plan, team->rank[s->peer], dst, s->len);
	case HCOMM_STEP_RECV_REDUCE:
		return hcomm_plan_recv_reduce(plan, team->rank[s->peer], dst, src, s->len);
	case HCOMM_STEP_COPY:
		return hcomm_plan_copy(plan, dst, src, s->len);
	case HCOMM_STEP_REDUCE:
		return hcomm_plan_reduce(plan, dst, src, s->len);
	default:
		return hcomm_plan_nop(plan);
	}
}

static void depend(struct hcomm_plan *plan, const struct hcomm_plan *sub, uint32_t i,
		   uint32_t first, uint32_t made)
{
	const struct hcomm_step *s = &sub->steps[i];
	uint32_t k, dep;

	if (!s->dep_count)
		hcomm_plan_after(plan, made);
	for (k = 0; k < s->dep_count; k++) {
		dep = sub->deps[s->dep_first + k];
		if (dep & HCOMM_DEP_STREAM)
			hcomm_plan_stream(plan, first + HCOMM_DEP_INDEX(dep));
		else
			hcomm_plan_after(plan, first + HCOMM_DEP_INDEX(dep));
	}
}

uint32_t hcomm_splice_allreduce(struct hcomm_plan *plan, hcomm_builder *build,
				struct hcomm_sched_args *part, const struct hcomm_team *team,
				uint64_t base, uint32_t made)
{
	struct hcomm_plan *sub = hcomm_plan_new(plan->dtype, plan->redop);
	bool *waited = NULL;
	uint32_t first = plan->nsteps, i;
	uint64_t scratch;

	part->nranks = team->n;
	part->rank = team->me;
	if (sub)
		build(sub, part);
	if (sub && !sub->err)
		waited = calloc(sub->nsteps + 1, sizeof(*waited));
	if (!waited) {
		hcomm_plan_fail(plan, sub && sub->err ? sub->err : -ENOMEM);
		goto out;
	}
	scratch = hcomm_plan_scratch(plan, sub->scratch_size);
	for (i = 0; i < sub->nsteps; i++) {
		emit(plan, &sub->steps[i], team, base, scratch);
		depend(plan, sub, i, first, made);
	}
	for (i = 0; i < sub->ndeps; i++)
		waited[HCOMM_DEP_INDEX(sub->deps[i])] = true;
	if (sub->nsteps)
		made = hcomm_plan_nop(plan);
	for (i = 0; i < sub->nsteps; i++) {
		if (!waited[i])
			hcomm_plan_after(plan, first + i);
	}
out:
	free(waited);
	hcomm_plan_free(sub);
	return made;
}
