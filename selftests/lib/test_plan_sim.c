// SPDX-License-Identifier: GPL-2.0-only
/*
 * Predictions against the simulator: the real engine in virtual time, with the
 * model's own numbers as its costs.
 *
 *   test_plan_sim		a grid of calls; what is printed is what the
 *				documentation tells
 *   test_plan_sim --all	each candidate of it
 */
#include <stdlib.h>
#include <string.h>

#include "../../lib/plan/decide.h"
#include "../../tools/hcomm_sched/simulate.h"
#include "tap.h"

/* simulations of more bytes in all take too long, under sanitizers all the more */
#if defined(__SANITIZE_ADDRESS__)
#define MAX_WORK	(512ull << 10)
#else
#define MAX_WORK	(16ull << 20)
#endif
/* how far the prediction of a choice may be from the simulation */
#define FACTOR		2.5
/* of 100 calls, how many must get a choice within 10 % of the best candidate */
#define WITHIN_10	95
/* and of each collective */
#define EACH_WITHIN_10	90

static bool show_all;

/**
 * struct tally - what the grid gave
 * @calls: calls
 * @within: calls whose choice was within 10 % of the best
 * @lost: sum over calls of choice over best
 * @worst: largest of these
 * @low: smallest prediction over simulation, of choices
 * @high: largest
 * @candidates: simulated
 * @near: candidates whose prediction was within FACTOR
 */
struct tally {
	uint32_t calls;
	uint32_t within;
	double lost;
	double worst;
	double low;
	double high;
	uint32_t candidates;
	uint32_t near;
};

static void planner_make(struct hcomm_planner *p, uint32_t nranks, uint32_t per_node,
			 struct hcomm_sched_topo **topo)
{
	uint32_t node[256], i;

	memset(p, 0, sizeof(*p));
	/* a fast network and fast nodes: the simulator's own defaults */
	p->model = (struct hcomm_model){
		.link = {
			{ 300e-9, 200e-9, 10e9 },
			{ 2e-6, 200e-9, 12.5e9 },
			{ 2e-6, 200e-9, 12.5e9 },
		},
		.copy_rate = 10e9,
		.reduce_rate = 8e9,
	};
	p->lim = (struct hcomm_limits){ 256 << 10, 4096, 4 };
	for (i = 0; i < nranks; i++)
		node[i] = i / per_node;
	CHECK(!hcomm_shape_make(&p->shape, nranks, node, NULL), "shape");
	CHECK(!hcomm_sched_topo_create(nranks, node, NULL, topo), "topology");
}

/* the best of each algorithm and the choice, simulated */
static void one_call(const struct hcomm_planner *p, struct hcomm_sched_args *a,
		     uint32_t per_node, uint64_t bytes, struct tally *t)
{
	struct hcomm_decision list[HCOMM_MAX_CANDIDATES];
	double best = 1e9, first = 0, ratio;
	struct hcomm_sched_args args;
	struct sim_result res;
	uint64_t seen = 0;
	uint32_t n, i;

	n = hcomm_planner_candidates(p, a, list);
	for (i = 0; i < n; i++) {
		/* who is predicted to be so slow can't be the best one */
		if (seen & 1ull << list[i].cand.algo ||
		    list[i].seconds > 2.5 * list[0].seconds)
			continue;
		seen |= 1ull << list[i].cand.algo;
		args = *a;
		hcomm_decision_apply(&list[i], &args);
		if (!CHECK(!simulate(&args, &p->model, &p->lim, per_node, &res), "%s",
			   hcomm_algo_name(args.algo)))
			continue;
		ratio = list[i].seconds / res.seconds;
		t->candidates++;
		t->near += ratio > 1 / FACTOR && ratio < FACTOR;
		if (show_all)
			printf("# %s %s n %u p %u bytes %llu: %.2f us, predicted %.2f (%.2f)\n",
			       hcomm_coll_name(a->coll), hcomm_algo_name(args.algo),
			       a->nranks, per_node, (unsigned long long)bytes,
			       res.seconds * 1e6, list[i].seconds * 1e6, ratio);
		if (res.seconds < best)
			best = res.seconds;
		if (i)
			continue;
		first = res.seconds;
		t->low = ratio < t->low ? ratio : t->low;
		t->high = ratio > t->high ? ratio : t->high;
	}
	if (!CHECK(n, "no candidate for %s", hcomm_coll_name(a->coll)))
		return;
	t->calls++;
	t->within += first <= 1.1 * best;
	t->lost += first / best;
	t->worst = first / best > t->worst ? first / best : t->worst;
	if (first > 1.1 * best)
		printf("# %s n %u p %u bytes %llu: %s is %.2f times the best\n",
		       hcomm_coll_name(a->coll), a->nranks, per_node,
		       (unsigned long long)bytes, hcomm_algo_name(list[0].cand.algo),
		       first / best);
}

static bool is_vector(uint32_t coll)
{
	return coll == HCOMM_COLL_ALLREDUCE || coll == HCOMM_COLL_BROADCAST ||
	       coll == HCOMM_COLL_REDUCE || coll == HCOMM_COLL_SCAN ||
	       coll == HCOMM_COLL_EXSCAN;
}

static void grid(uint32_t coll, bool in_place, struct tally *t)
{
	static const uint32_t ranks[] = { 2, 4, 7, 16, 48 }, per_node[] = { 1, 4, 64 };
	static const uint64_t sizes[] = { 8, 2048, 32 << 10, 512 << 10, 2 << 20 };
	struct hcomm_sched_topo *topo;
	struct hcomm_planner p;
	uint32_t i, j, k;
	uint64_t bytes;

	*t = (struct tally){ .low = 1e9 };
	for (i = 0; i < 5; i++) {
		for (j = 0; j < 3; j++) {
			if (per_node[j] == 4 && ranks[i] <= 4)
				continue;
			planner_make(&p, ranks[i], per_node[j], &topo);
			for (k = 0; k < 5; k++) {
				struct hcomm_sched_args a = {
					.coll = coll,
					.nranks = ranks[i],
					.dtype = HCOMM_DT_FP32,
					.chunk_size = 256 << 10,
					.in_place = in_place,
					.topo = topo,
				};

				bytes = sizes[k];
				if (!is_vector(coll) && bytes >= 4 * ranks[i])
					bytes = bytes / ranks[i];
				a.count = coll == HCOMM_COLL_BARRIER ? 0 : bytes / 4;
				if (sizes[k] * ranks[i] > MAX_WORK ||
				    (coll == HCOMM_COLL_BARRIER && k))
					continue;
				one_call(&p, &a, per_node[j], bytes, t);
			}
			hcomm_sched_topo_free(topo);
		}
	}
}

static void add(struct tally *sum, const struct tally *t)
{
	sum->calls += t->calls;
	sum->within += t->within;
	sum->lost += t->lost;
	sum->worst = t->worst > sum->worst ? t->worst : sum->worst;
	sum->candidates += t->candidates;
	sum->near += t->near;
}

static void report(const char *name, const struct tally *t)
{
	printf("# %-14s %3u calls, within 10 %% of the best %3.0f %%, mean loss %4.1f %%, worst %5.2f; choices predicted at %.2f to %.2f; %u of %u candidates within %.1f\n",
	       name, t->calls, 100.0 * t->within / t->calls,
	       100.0 * (t->lost / t->calls - 1), t->worst, t->low, t->high, t->near,
	       t->candidates, FACTOR);
}

static struct tally total = { .low = 1e9 };

static void test_coll(uint32_t coll, bool in_place, const char *name)
{
	struct tally t;

	grid(coll, in_place, &t);
	report(name, &t);
	CHECK(t.within * 100 >= EACH_WITHIN_10 * t.calls, "%u of %u", t.within, t.calls);
	CHECK(t.low > 1 / FACTOR && t.high < FACTOR,
	      "choices are predicted at %.2f to %.2f of the simulated time", t.low, t.high);
	add(&total, &t);
	if (t.low < total.low)
		total.low = t.low;
	if (t.high > total.high)
		total.high = t.high;
}

static void test_total(void)
{
	report("all", &total);
	CHECK(total.within * 100 >= WITHIN_10 * total.calls, "%u of %u", total.within,
	      total.calls);
}

/*
 * On one node a root copies its own data while the others read theirs.  So a broadcast takes
 * hardly longer when it is not in place, and what is best for one is so for the other.
 */
static void test_own_copy(void)
{
	static const uint32_t ranks[] = { 2, 3, 4, 8 };
	static const uint64_t sizes[] = { 16 << 10, 64 << 10, 1 << 20, 8 << 20 };
	struct sim_result in_place, apart;
	struct hcomm_sched_topo *topo;
	struct hcomm_decision d;
	struct hcomm_planner p;
	uint32_t i, k;

	for (i = 0; i < 4; i++) {
		planner_make(&p, ranks[i], 64, &topo);
		for (k = 0; k < 4; k++) {
			struct hcomm_sched_args a = {
				.coll = HCOMM_COLL_BROADCAST, .nranks = ranks[i],
				.dtype = HCOMM_DT_UINT8, .count = sizes[k],
				.chunk_size = 256 << 10, .topo = topo, .in_place = true,
			};

			if (!CHECK(!hcomm_planner_decide(&p, &a, &d), "a choice"))
				continue;
			hcomm_decision_apply(&d, &a);
			CHECK(!simulate(&a, &p.model, &p.lim, 64, &in_place), "in place");
			a.in_place = false;
			CHECK(!simulate(&a, &p.model, &p.lim, 64, &apart), "not in place");
			CHECK(apart.seconds < 1.1 * in_place.seconds,
			      "%u ranks, %llu bytes by %s: %.2f us, in place %.2f", ranks[i],
			      (unsigned long long)sizes[k], hcomm_algo_name(a.algo),
			      apart.seconds * 1e6, in_place.seconds * 1e6);
		}
		hcomm_sched_topo_free(topo);
	}
}

/*
 * Much data on nodes of few ranks, with the built-in numbers: slices of a hierarchical
 * AllReduce hardly overlap there, and are small.
 */
static void test_few_ranks(void)
{
	static const struct {
		uint32_t nranks, per_node, mib;
	} jobs[] = {
		{ 4, 2, 4 }, { 8, 2, 4 }, { 12, 2, 2 }, { 12, 2, 4 }, { 12, 2, 16 },
		{ 16, 2, 4 }, { 32, 2, 2 }, { 9, 3, 4 }, { 18, 3, 4 }, { 16, 4, 4 },
	};
	struct hcomm_decision list[HCOMM_MAX_CANDIDATES];
	struct hcomm_sched_topo *topo;
	struct hcomm_planner p;
	struct sim_result res;
	double ratio;
	uint32_t i, n;

	for (i = 0; i < sizeof(jobs) / sizeof(jobs[0]); i++) {
		struct hcomm_sched_args a = {
			.coll = HCOMM_COLL_ALLREDUCE, .nranks = jobs[i].nranks,
			.dtype = HCOMM_DT_FP32, .chunk_size = 256 << 10,
			.count = (uint64_t)jobs[i].mib << 18,
		};

		if ((uint64_t)jobs[i].nranks * jobs[i].mib << 20 > 16 * MAX_WORK)
			continue;
		planner_make(&p, jobs[i].nranks, jobs[i].per_node, &topo);
		hcomm_model_default(&p.model);
		CHECK(!hcomm_policy_algo(&p.policy, "hierarchical", NULL, 0), "wish");
		a.topo = topo;
		n = hcomm_planner_candidates(&p, &a, list);
		if (CHECK(n, "no candidate")) {
			hcomm_decision_apply(&list[0], &a);
			CHECK(!simulate(&a, &p.model, &p.lim, jobs[i].per_node, &res), "run");
			ratio = list[0].seconds / res.seconds;
			printf("# %u ranks, %u a node, %u MiB: %.0f us, predicted %.0f (%.2f)\n",
			       jobs[i].nranks, jobs[i].per_node, jobs[i].mib,
			       res.seconds * 1e6, list[0].seconds * 1e6, ratio);
			CHECK(ratio > 0.7 && ratio < 1.4, "predicted at %.2f", ratio);
		}
		hcomm_sched_topo_free(topo);
	}
}

/* an average takes as much longer than a sum as is predicted, and so does a scaled sum */
static void test_scaling(void)
{
	static const uint32_t colls[] = {
		HCOMM_COLL_ALLREDUCE, HCOMM_COLL_REDUCE, HCOMM_COLL_REDUCE_SCATTER,
	};
	static const uint32_t ops[] = { HCOMM_OP_AVG, HCOMM_OP_PREMUL_SUM };
	struct hcomm_decision sum, scaled;
	struct sim_result plain, longer;
	struct hcomm_sched_topo *topo;
	struct hcomm_planner p;
	double want, got;
	uint32_t i;

	planner_make(&p, 4, 1, &topo);
	for (i = 0; i < 6; i++) {
		struct hcomm_sched_args a = {
			.coll = colls[i / 2], .nranks = 4, .dtype = HCOMM_DT_FP32,
			.chunk_size = 256 << 10, .topo = topo, .count = 1 << 18,
			.in_place = true,
		};

		if (!CHECK(!hcomm_planner_decide(&p, &a, &sum), "sum"))
			break;
		hcomm_decision_apply(&sum, &a);
		CHECK(!simulate(&a, &p.model, &p.lim, 1, &plain), "sum");
		a.redop = ops[i % 2];
		CHECK(!hcomm_planner_decide(&p, &a, &scaled), "scaled");
		CHECK(scaled.cand.algo == sum.cand.algo, "another algorithm");
		CHECK(!simulate(&a, &p.model, &p.lim, 1, &longer), "scaled");
		want = scaled.seconds - sum.seconds;
		got = longer.seconds - plain.seconds;
		CHECK(want > 0.8 * got && want < 1.25 * got,
		      "%s, %u: %.2f us more predicted, %.2f simulated",
		      hcomm_coll_name(a.coll), a.redop, want * 1e6, got * 1e6);
	}
	hcomm_sched_topo_free(topo);
}

int main(int argc, char **argv)
{
	uint32_t coll;

	show_all = argc > 1 && !strcmp(argv[1], "--all");
	for (coll = HCOMM_COLL_BARRIER; coll <= HCOMM_COLL_EXSCAN; coll++)
		RUN(test_coll(coll, false, hcomm_coll_name(coll)), hcomm_coll_name(coll));
	RUN(test_coll(HCOMM_COLL_BROADCAST, true, "in place"), "broadcast in place");
	RUN(test_own_copy(), "a root's own copy on one node");
	RUN(test_few_ranks(), "hierarchical AllReduce, few ranks on a node");
	RUN(test_scaling(), "what scaling adds");
	RUN(test_total(), "choices within 10 % of the best candidate");
	return tap_end();
}
