/* SPDX-License-Identifier: GPL-2.0-only */
/* Programs of all ranks as the checker's tests keep them. */
#ifndef HCOMM_TEST_CHECK_SET_H
#define HCOMM_TEST_CHECK_SET_H

#include "check_cases.h"

#define MAX_RANKS	9
#define SIZE		4	/* all programs here reduce uint32, or fp32 */

static uint64_t seed;

static uint32_t rnd(uint32_t n)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (seed >> 11) % n;
}

/* ----------------------------------------------------------- sets of programs */

/* @args is what ranks have in common; @of has them all */
struct set {
	struct hcomm_sched_args args;
	struct test_case of;
	struct hcomm_sched_topo *topo;
	struct hcomm_check_opts opts;
	struct hcomm_check_prog prog[MAX_RANKS];
	struct hcomm_step *steps[MAX_RANKS];
	uint32_t *deps[MAX_RANKS];
};

static void *dup(const void *p, size_t n, size_t extra)
{
	char *q = calloc(1, n + extra + 1);

	if (!q)
		abort();
	if (n)
		memcpy(q, p, n);
	return q;
}

/* room for one more step and its dependencies is left */
static void set_prog(struct set *set, uint32_t r, const struct hcomm_step *steps,
		     uint32_t nsteps, const uint32_t *deps, uint32_t ndeps,
		     uint64_t scratch)
{
	set->steps[r] = dup(steps, nsteps * sizeof(*steps), sizeof(*steps));
	set->deps[r] = dup(deps, ndeps * sizeof(*deps), nsteps * sizeof(*deps));
	set->prog[r] = (struct hcomm_check_prog){
		.steps = set->steps[r], .deps = set->deps[r], .nsteps = nsteps,
		.ndeps = ndeps, .nslots = scratch ? 3 : 2, .scratch_size = scratch,
	};
}

static void set_build(struct set *set)
{
	struct hcomm_plan *plan;
	uint32_t nsteps, ndeps, r;

	for (r = 0; r < set->args.nranks; r++) {
		if (hcomm_sched_build(&set->of.ranks[r], &plan))
			abort();
		const struct hcomm_step *steps = hcomm_plan_steps(plan, &nsteps);
		const uint32_t *deps = hcomm_plan_deps(plan, &ndeps);

		set_prog(set, r, steps, nsteps, deps, ndeps,
			 hcomm_plan_scratch_size(plan));
		hcomm_plan_free(plan);
	}
}

static void set_copy(struct set *to, const struct set *from)
{
	uint32_t r;

	*to = *from;
	to->of = (struct test_case){ 0 };	/* @from keeps it */
	to->topo = NULL;
	to->of.ranks = from->of.ranks;
	for (r = 0; r < from->args.nranks; r++)
		set_prog(to, r, from->steps[r], from->prog[r].nsteps,
			 from->deps[r], from->prog[r].ndeps,
			 from->prog[r].scratch_size);
}

static void set_free(struct set *set)
{
	uint32_t r;

	for (r = 0; r < set->args.nranks; r++) {
		free(set->steps[r]);
		free(set->deps[r]);
	}
}

/* the arguments too; copies have none of their own */
static void set_end(struct set *set)
{
	set_free(set);
	case_free(&set->of);
	hcomm_sched_topo_free(set->topo);
}

static int set_check(struct set *set, struct hcomm_check_result *res)
{
	if (set->of.ranks)
		return hcomm_check_each(set->prog, set->of.ranks, &set->opts, res);
	return hcomm_check(set->prog, &set->args, &set->opts, res);
}

static struct hcomm_sched_args set_args(const struct set *set, uint32_t r)
{
	struct hcomm_sched_args a = set->of.ranks ? set->of.ranks[r] : set->args;

	a.rank = r;
	return a;
}

static bool receives(const struct hcomm_step *s)
{
	return s->op == HCOMM_STEP_RECV || s->op == HCOMM_STEP_RECV_REDUCE;
}

static bool has_peer(const struct hcomm_step *s)
{
	return s->op == HCOMM_STEP_SEND || receives(s);
}

#endif /* HCOMM_TEST_CHECK_SET_H */
