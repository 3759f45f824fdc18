// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * AVG and PREMUL_SUM: a SCALE step behind or in front of the plan of a sum.
 *
 * An average is divided at the very end, on every rank that has it, when nothing
 * else of the plan is left to do: other ranks may read the undivided output until
 * then.  A scaled input is complete before the sum begins.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "builders.h"
#include "scale.h"

/* all of the output is this rank's own, and as large as the input */
static bool onto_output(const struct hcomm_sched_args *args)
{
	return args->coll == HCOMM_COLL_ALLREDUCE || args->coll == HCOMM_COLL_SCAN ||
	       (args->coll == HCOMM_COLL_REDUCE && args->rank == args->root);
}

/* where the output of this rank is, and how long */
static uint64_t output(const struct hcomm_sched_args *args, struct hcomm_loc *at)
{
	uint64_t off = 0, len;

	if (args->coll == HCOMM_COLL_REDUCE_SCATTER) {
		len = hcomm_block(args, args->rank, &off);
		*at = hcomm_output(args->in_place ? off : 0);
		return len;
	}
	*at = hcomm_output(0);
	if (args->coll == HCOMM_COLL_REDUCE && args->rank != args->root)
		return 0;
	return hcomm_sched_buffer_size(args, HCOMM_SLOT_RECV);
}

void hcomm_scale_before(struct hcomm_plan *plan, const struct hcomm_sched_args *args,
			struct hcomm_sched_args *inner)
{
	struct hcomm_loc to = hcomm_output(0);
	uint64_t len;

	*inner = *args;
	inner->redop = HCOMM_OP_SUM;
	inner->in_place = false;
	len = hcomm_sched_buffer_size(inner, HCOMM_SLOT_SEND);
	if (onto_output(args))
		inner->in_place = true;
	else
		to = hcomm_loc(HCOMM_SLOT_SCRATCH, hcomm_plan_scratch(plan, len));
	if (len)
		hcomm_plan_scale(plan, to, hcomm_input(args, 0), len, HCOMM_SCALE_MUL,
				 args->operand);
}

/* the sum's steps wait for step 0 where they would wait for nothing */
static void wait_for_first(struct hcomm_plan *plan)
{
	uint32_t *deps, ndeps = 0, room = plan->ndeps + plan->nsteps, i;

	if (room > HCOMM_MAX_DEPS)
		room = HCOMM_MAX_DEPS;
	deps = malloc(room * sizeof(*deps));
	if (!deps) {
		hcomm_plan_fail(plan, -ENOMEM);
		return;
	}
	for (i = 0; i < plan->nsteps; i++) {
		struct hcomm_step *s = &plan->steps[i];

		if (s->dep_count + 1 > room - ndeps) {
			hcomm_plan_fail(plan, -E2BIG);
			break;
		}
		if (s->dep_count)
			memcpy(deps + ndeps, plan->deps + s->dep_first,
			       s->dep_count * sizeof(*deps));
		s->dep_first = ndeps;
		if (i && !s->dep_count) {
			deps[ndeps] = 0;
			s->dep_count = 1;
		}
		ndeps += s->dep_count;
	}
	free(plan->deps);
	plan->deps = deps;
	plan->ndeps = ndeps;
	plan->dep_room = room;
}

static void move_place(uint16_t *slot, __u64 *off, uint64_t own)
{
	if (*slot == HCOMM_SLOT_SEND)
		*slot = HCOMM_SLOT_SCRATCH;	/* at its start, as it was first there */
	else if (*slot == HCOMM_SLOT_RECV)
		*off += own;
}

static void measure(struct hcomm_plan *plan, uint32_t slot, uint64_t end, bool write)
{
	if (plan->extent[slot] < end)
		plan->extent[slot] = end;
	plan->written[slot] |= write;
}

void hcomm_scale_join(struct hcomm_plan *plan, const struct hcomm_sched_args *args)
{
	struct hcomm_loc out;
	uint64_t own = 0;
	uint32_t i;

	if (plan->err || !plan->nsteps || plan->steps[0].op != HCOMM_STEP_SCALE)
		return;
	wait_for_first(plan);
	if (onto_output(args))
		return;
	if (args->in_place) {
		output(args, &out);
		own = out.off;
	}
	memset(plan->extent, 0, sizeof(plan->extent));
	memset(plan->written, 0, sizeof(plan->written));
	for (i = 0; i < plan->nsteps; i++) {
		struct hcomm_step *s = &plan->steps[i];
		bool reads = s->op != HCOMM_STEP_NOP && s->op != HCOMM_STEP_RECV;
		bool writes = s->op != HCOMM_STEP_NOP && s->op != HCOMM_STEP_SEND;

		if (i && reads)
			move_place(&s->src_slot, &s->src_off, own);
		if (i && writes)
			move_place(&s->dst_slot, &s->dst_off, own);
		if (reads && s->len)
			measure(plan, s->src_slot, s->src_off + s->len, false);
		if (writes && s->len)
			measure(plan, s->dst_slot, s->dst_off + s->len, true);
	}
}

void hcomm_scale_after(struct hcomm_plan *plan, const struct hcomm_sched_args *args)
{
	uint32_t nsteps = plan->nsteps, i;
	struct hcomm_loc at;
	uint64_t len = output(args, &at);
	bool *waited;

	if (plan->err || !len || args->nranks == 1)
		return;
	waited = calloc(nsteps + 1, sizeof(*waited));
	if (!waited) {
		hcomm_plan_fail(plan, -ENOMEM);
		return;
	}
	for (i = 0; i < plan->ndeps; i++)
		waited[HCOMM_DEP_INDEX(plan->deps[i])] = true;
	hcomm_plan_scale(plan, at, at, len, HCOMM_SCALE_DIV, args->nranks);
	for (i = 0; i < nsteps; i++) {
		if (!waited[i])
			hcomm_plan_after(plan, i);
	}
	free(waited);
}
