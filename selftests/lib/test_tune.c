// SPDX-License-Identifier: GPL-2.0-only
/* Feedback and probes, as far as they go without the module. */
#include <stdlib.h>
#include <string.h>

#include "../../lib/comm/comm.h"
#include "../../lib/comm/probe.h"
#include "tap.h"

#define RANKS	4

static struct hcomm_comm *comm_make(uint32_t rank, uint32_t tune)
{
	struct hcomm_comm *comm = calloc(1, sizeof(*comm));
	struct hcomm_planner *p;

	if (!CHECK(comm, "memory"))
		exit(1);
	comm->rank = rank;
	comm->nranks = RANKS;
	comm->opts.max_runs = 16;
	comm->opts.tune = tune;
	p = &comm->chooser.planner;
	hcomm_model_default(&p->model);
	p->lim = (struct hcomm_limits){ 256 << 10, 4096, 4 };
	CHECK(!hcomm_shape_make(&p->shape, RANKS, NULL, NULL), "shape");
	return comm;
}

static void comm_free(struct hcomm_comm *comm)
{
	hcomm_tune_exit(comm);
	hcomm_choose_exit(comm);
	free(comm);
}

static struct hcomm_sched_args call_of(uint32_t coll, uint64_t count)
{
	struct hcomm_sched_args a = {
		.coll = coll,
		.nranks = RANKS,
		.count = count,
		.dtype = HCOMM_DT_FP32,
		.chunk_size = 256 << 10,
	};

	return a;
}

/* trials begin, alternate and keep the best time of each candidate */
static void test_trial(void)
{
	struct hcomm_comm *comm = comm_make(0, 1);
	struct hcomm_sched_args a = call_of(HCOMM_COLL_ALLREDUCE, 100000);
	struct hcomm_trial *t = hcomm_tune_find(comm, &a);
	uint32_t turns[2] = { 0, 0 }, i;

	if (!CHECK(t && !t->settled, "no trial"))
		return;
	CHECK(t->cand[0].algo != t->cand[1].algo, "two ways of one algorithm");
	for (i = 0; i < 8; i++) {
		uint32_t turn = hcomm_tune_turn(t);

		turns[turn]++;
		hcomm_tune_done(t, turn, turn ? 500 - i : 900 - i);
		t->calls++;
	}
	CHECK(turns[0] == 4 && turns[1] == 4, "%u and %u", turns[0], turns[1]);
	CHECK(t->time[0] == 900 - 6 && t->time[1] == 500 - 7, "%llu %llu",
	      (unsigned long long)t->time[0], (unsigned long long)t->time[1]);
	CHECK(!hcomm_tune_turn(t), "after the trial the model's choice, until all agree");
	t->asked = true;
	hcomm_tune_done(t, 0, 1);
	CHECK(t->time[0] == 894, "a time counts that was not asked about");
	t->settled = true;
	t->winner = 1;
	CHECK(hcomm_tune_turn(t) == 1, "the winner");
	CHECK(hcomm_tune_find(comm, &a) == t, "found again");
	a.count = 100001;
	CHECK(hcomm_tune_find(comm, &a) != t, "another count");
	comm_free(comm);
}

/* what is not tuned: other collectives, told algorithms, too many kinds */
static void test_limits(void)
{
	struct hcomm_comm *comm = comm_make(0, 1), *off = comm_make(0, 0);
	struct hcomm_sched_args a = call_of(HCOMM_COLL_BROADCAST, 1000);
	struct hcomm_trial *t;
	char why[700];
	uint32_t i;

	CHECK(!hcomm_tune_find(comm, &a), "a broadcast does not join all ranks");
	a.coll = HCOMM_COLL_ALLREDUCE;
	CHECK(!hcomm_tune_find(off, &a), "it is off");
	a.fixed_order = true;
	CHECK(!hcomm_tune_find(comm, &a), "fixed order");
	a.fixed_order = false;
	CHECK(!hcomm_policy_table(&comm->chooser.planner.policy, "allreduce: 0-1M=ring",
				  why, sizeof(why)), "%s", why);
	t = hcomm_tune_find(comm, &a);
	CHECK(t && t->settled && !t->cand[0].algo, "the table decides");
	for (i = 1; i < 2 * HCOMM_TRIALS; i++) {
		a.count = 1000 + i;
		t = hcomm_tune_find(comm, &a);
		CHECK(!t == (i >= HCOMM_TRIALS), "kind %u", i);
	}
	comm->opts.max_runs = 1;
	a.count = 1000;
	CHECK(!hcomm_tune_find(comm, &a), "no room for the agreement");
	comm_free(comm);
	comm_free(off);
}

/* decisions are remembered, and made again when the model changes */
static void test_choices(void)
{
	struct hcomm_comm *comm = comm_make(1, 0);
	struct hcomm_sched_args a = call_of(HCOMM_COLL_ALLREDUCE, 5000);
	struct hcomm_decision first, d;
	uint32_t i;

	CHECK(!hcomm_choose(comm, &a, &first), "choice");
	for (i = 0; i < 100; i++)
		CHECK(!hcomm_choose(comm, &a, &d) &&
		      !memcmp(&d.cand, &first.cand, sizeof(d.cand)), "again");
	CHECK(comm->chooser.decided == 1, "the planner was asked %llu times",
	      (unsigned long long)comm->chooser.decided);
	for (i = 0; i < 1000; i++) {
		a.count = i + 1;
		CHECK(!hcomm_choose(comm, &a, &d), "many");
	}
	a.count = 5000;
	CHECK(!hcomm_planner_measured(&comm->chooser.planner, &a, &first.cand, 1), "slow");
	hcomm_choose_again(comm);
	CHECK(!hcomm_choose(comm, &a, &d) && d.cand.algo != first.cand.algo,
	      "a second for this is still the choice");
	/* what is planned ahead does not depend on when */
	CHECK(!hcomm_choose_lasting(comm, &a, &d) &&
	      !memcmp(&d.cand, &first.cand, sizeof(d.cand)), "lasting");
	comm_free(comm);
}

static void test_pairs(void)
{
	static const uint32_t node[6] = { 0, 1, 1, 2, 2, 3 };
	static const uint32_t group[6] = { 0, 1, 1, 1, 1, 1 };
	uint32_t a = 9, b = 9;

	CHECK(hcomm_probe_pair(node, group, 6, HCOMM_LINK_LOCAL, &a, &b) && a == 1 &&
	      b == 2, "local: %u %u", a, b);
	CHECK(hcomm_probe_pair(node, group, 6, HCOMM_LINK_NODE, &a, &b) && a == 1 &&
	      b == 3, "node: %u %u", a, b);
	CHECK(hcomm_probe_pair(node, group, 6, HCOMM_LINK_GROUP, &a, &b) && !a && b == 1,
	      "group: %u %u", a, b);
	CHECK(!hcomm_probe_pair(node, group, 1, HCOMM_LINK_LOCAL, &a, &b), "one rank");
	CHECK(!hcomm_probe_pair(node, group, 2, HCOMM_LINK_LOCAL, &a, &b), "none");
}

int main(void)
{
	RUN(test_trial(), "trials");
	RUN(test_limits(), "what is not tuned");
	RUN(test_choices(), "choices are remembered");
	RUN(test_pairs(), "who probes");
	return tap_end();
}
