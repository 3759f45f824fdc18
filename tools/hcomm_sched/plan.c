// SPDX-License-Identifier: GPL-2.0-only
/* Plans: made, printed, checked. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/check/check.h"
#include "../common/util.h"
#include "sched.h"

/* staging memory and windows as the kernel has them by default */
#define STAGING_SLOTS	16

struct hcomm_plan **build_all(const struct job *job)
{
	struct hcomm_plan **plans = must_malloc(job->args.nranks * sizeof(*plans));
	struct hcomm_sched_args args = job->args;
	int err;

	for (args.rank = 0; args.rank < args.nranks; args.rank++) {
		err = hcomm_sched_build(&args, &plans[args.rank]);
		if (err)
			fatal("rank %u can't be planned: %s", args.rank, strerror(-err));
	}
	return plans;
}

void free_all(const struct job *job, struct hcomm_plan **plans)
{
	uint32_t i;

	for (i = 0; i < job->args.nranks; i++)
		hcomm_plan_free(plans[i]);
	free(plans);
}

static const char *slot_name(uint32_t slot)
{
	return slot == HCOMM_SLOT_SEND ? "send" :
	       slot == HCOMM_SLOT_RECV ? "recv" : "scratch";
}

static void place(const char *what, uint32_t slot, uint64_t off)
{
	printf(" %s %s+%llu", what, slot_name(slot), (unsigned long long)off);
}

static void print_step(const struct hcomm_step *s, const uint32_t *deps, uint32_t i)
{
	static const char * const ops[HCOMM_STEP_COUNT] = {
		[HCOMM_STEP_NOP] = "nop", [HCOMM_STEP_SEND] = "send",
		[HCOMM_STEP_RECV] = "recv", [HCOMM_STEP_RECV_REDUCE] = "recv-reduce",
		[HCOMM_STEP_COPY] = "copy", [HCOMM_STEP_REDUCE] = "reduce",
		[HCOMM_STEP_SCALE] = "scale",
	};
	bool reads = s->op != HCOMM_STEP_NOP && s->op != HCOMM_STEP_RECV;
	bool writes = s->op != HCOMM_STEP_NOP && s->op != HCOMM_STEP_SEND;
	bool peer = s->op == HCOMM_STEP_SEND || s->op == HCOMM_STEP_RECV ||
		    s->op == HCOMM_STEP_RECV_REDUCE;
	uint32_t d;

	printf("%6u  %-11s", i, ops[s->op]);
	if (peer)
		printf(" %s %u #%u", s->op == HCOMM_STEP_SEND ? "to" : "from", s->peer,
		       s->msg);
	if (reads)
		place("src", s->src_slot, s->src_off);
	if (writes)
		place("dst", s->dst_slot, s->dst_off);
	printf(" len %llu", (unsigned long long)s->len);
	for (d = 0; d < s->dep_count; d++) {
		uint32_t dep = deps[s->dep_first + d];

		printf("%s%u%s", d ? "," : " after ", HCOMM_DEP_INDEX(dep),
		       dep & HCOMM_DEP_STREAM ? "~" : "");
	}
	printf("\n");
}

void print_plan(const struct hcomm_plan *plan, uint32_t rank)
{
	const struct hcomm_step *steps;
	uint32_t nsteps, ndeps, i;
	const uint32_t *deps;

	steps = hcomm_plan_steps(plan, &nsteps);
	deps = hcomm_plan_deps(plan, &ndeps);
	printf("rank %u: %u steps, %u dependencies (~: chunk by chunk), %llu bytes of scratch\n",
	       rank, nsteps, ndeps,
	       (unsigned long long)hcomm_plan_scratch_size(plan));
	for (i = 0; i < nsteps; i++)
		print_step(&steps[i], deps, i);
}

bool check_plans(const struct job *job)
{
	struct hcomm_check_opts opts = {
		.chunk_size = job->planner.lim.chunk_size,
		.eager_size = job->planner.lim.eager_size,
		.window = job->planner.lim.window,
		.staging_slots = STAGING_SLOTS,
	};
	struct hcomm_check_result res;
	int err = hcomm_check_sched(&job->args, &opts, &res);

	if (!err)
		printf("checked: right, %llu chunks\n", (unsigned long long)res.chunks);
	else if (err == -EPROTO)
		printf("checked: WRONG: %s\n", res.text);
	else
		fatal("the check can't be done: %s", strerror(-err));
	return !err;
}
