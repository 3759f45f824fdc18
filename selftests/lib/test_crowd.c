// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the planner says that all messages of a call cost, against the schedules that
 * the builders make; and what it chooses where ranks share processors.
 */
#include <string.h>

#include "../../lib/base/base.h"
#include "../../lib/plan/cost.h"
#include "../../lib/plan/decide.h"
#include "../../lib/plan/names.h"
#include "tap.h"

/* how far the formula may be from the schedule */
#define CLOSE	1.5

static const struct hcomm_model model = {
	.link = { { 300e-9, 200e-9, 10e9 }, { 2e-6, 200e-9, 12.5e9 }, { 2e-6, 200e-9, 12.5e9 } },
	.copy_rate = 10e9,
	.reduce_rate = 8e9,
};
static const struct hcomm_limits limits = { 256 << 10, 4096, 4 };

static void planner_make(struct hcomm_planner *p, uint32_t nranks, uint32_t cpus)
{
	memset(p, 0, sizeof(*p));
	p->model = model;
	p->lim = limits;
	CHECK(!hcomm_shape_make(&p->shape, nranks, NULL, NULL), "shape");
	p->shape.cpus = cpus;
}

/* the work of all receives of all ranks; negative: it is not built */
static double built(struct hcomm_cost *c, struct hcomm_sched_args *args)
{
	struct hcomm_hop local = { HCOMM_LINK_LOCAL, 1 };
	const struct hcomm_step *steps;
	struct hcomm_plan *plan;
	uint32_t n, i;
	double work = 0;

	for (args->rank = 0; args->rank < args->nranks; args->rank++) {
		if (hcomm_sched_build(args, &plan))
			return -1;
		steps = hcomm_plan_steps(plan, &n);
		for (i = 0; i < n; i++) {
			if (steps[i].op == HCOMM_STEP_RECV ||
			    steps[i].op == HCOMM_STEP_RECV_REDUCE)
				work += cpu_busy(c, local, steps[i].len,
						 steps[i].op == HCOMM_STEP_RECV_REDUCE);
		}
		hcomm_plan_free(plan);
	}
	return work;
}

static void one_candidate(const struct hcomm_planner *p, const struct hcomm_sched_args *a,
			  const struct hcomm_decision *d)
{
	struct hcomm_call_shape call;
	struct hcomm_cost c = {
		.m = &p->model, .s = &p->shape, .lim = &p->lim, .call = &call, .cand = &d->cand,
	};
	struct hcomm_sched_args args = *a;
	double said, is;

	hcomm_call_shape(a, &call);
	c.n = a->nranks;
	c.v = (double)call.bytes;
	hcomm_decision_apply(d, &args);
	said = hcomm_cost_work(&c);
	is = built(&c, &args);
	CHECK(said > 0 && is > 0 && said < CLOSE * is && is < CLOSE * said,
	      "%s by %s, radix %u, %u ranks, %llu bytes: said %.1f us, built %.1f",
	      hcomm_coll_name(a->coll), hcomm_algo_name(d->cand.algo), d->cand.radix, a->nranks,
	      (unsigned long long)call.bytes, said * 1e6, is * 1e6);
}

static const uint32_t colls[] = {
	HCOMM_COLL_ALLREDUCE, HCOMM_COLL_BROADCAST, HCOMM_COLL_REDUCE, HCOMM_COLL_REDUCE_SCATTER,
	HCOMM_COLL_ALLGATHER, HCOMM_COLL_GATHER, HCOMM_COLL_SCATTER, HCOMM_COLL_ALLTOALL,
	HCOMM_COLL_SCAN, HCOMM_COLL_EXSCAN,
};

static void test_work(void)
{
	static const uint32_t ranks[] = { 2, 3, 4, 5, 8, 12, 16, 21 };
	static const uint64_t counts[] = { 64, 16384, 1 << 20 };
	struct hcomm_decision list[HCOMM_MAX_CANDIDATES];
	struct hcomm_sched_topo *topo;
	uint32_t node[32] = { 0 };
	struct hcomm_planner p;
	uint32_t i, k, m, n, j;

	for (i = 0; i < ARRAY_SIZE(ranks); i++) {
		planner_make(&p, ranks[i], 0);
		CHECK(!hcomm_sched_topo_create(ranks[i], node, NULL, &topo), "topology");
		for (k = 0; k < ARRAY_SIZE(colls); k++) {
			for (m = 0; m < ARRAY_SIZE(counts); m++) {
				struct hcomm_sched_args args = {
					.coll = colls[k], .nranks = ranks[i], .count = counts[m],
					.dtype = HCOMM_DT_FP32, .topo = topo,
				};

				n = hcomm_planner_candidates(&p, &args, list);
				for (j = 0; j < n; j++)
					one_candidate(&p, &args, &list[j]);
			}
		}
		hcomm_sched_topo_free(topo);
	}
}

static uint32_t choice(uint32_t coll, uint32_t nranks, uint32_t cpus, uint64_t count)
{
	struct hcomm_sched_args args = {
		.coll = coll, .nranks = nranks, .count = count, .dtype = HCOMM_DT_FP32,
	};
	struct hcomm_decision d;
	struct hcomm_planner p;

	planner_make(&p, nranks, cpus);
	return CHECK(!hcomm_planner_decide(&p, &args, &d), "decided") ? d.cand.algo : 0;
}

static void test_choice(void)
{
	/* log n rounds in which all work, or one after the other: as much as has to be */
	CHECK(choice(HCOMM_COLL_SCAN, 8, 0, 16384) == HCOMM_ALGO_RECURSIVE_DOUBLING, "free");
	CHECK(choice(HCOMM_COLL_SCAN, 8, 8, 16384) == HCOMM_ALGO_RECURSIVE_DOUBLING, "enough");
	CHECK(choice(HCOMM_COLL_SCAN, 8, 1, 16384) == HCOMM_ALGO_LINEAR, "crowded");
	CHECK(choice(HCOMM_COLL_ALLREDUCE, 8, 1, 1 << 20) != HCOMM_ALGO_RECURSIVE_DOUBLING,
	      "a large AllReduce");
}

int main(void)
{
	RUN(test_work(), "what all messages cost is what the builders make");
	RUN(test_choice(), "who shares processors gets what takes less work");
	return tap_end();
}
