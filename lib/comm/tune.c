// SPDX-License-Identifier: LGPL-2.1-or-later
/* Feedback from measured calls to the planner. */
#include <stdlib.h>

#include "../base/base.h"
#include "../mem/mem.h"
#include "comm.h"

#define TRIALS		8u	/* calls that are measured */
#define MIN_MAX_RUNS	2u	/* else the agreement would leave no room for calls */

static uint64_t agree_at(const struct hcomm_comm *comm)
{
	return TRIALS + comm->opts.max_runs;
}

static uint64_t settle_at(const struct hcomm_comm *comm)
{
	return agree_at(comm) + comm->opts.max_runs + 1;
}

/* nobody is done before everybody has begun */
static bool joins_all(uint32_t coll)
{
	return coll == HCOMM_COLL_ALLREDUCE || coll == HCOMM_COLL_REDUCE_SCATTER ||
	       coll == HCOMM_COLL_ALLGATHER || coll == HCOMM_COLL_ALLTOALL;
}

static struct hcomm_trial *lookup(struct hcomm_trials *t, uint32_t coll,
				  uint32_t dtype, uint64_t count)
{
	uint32_t i;

	for (i = 0; i < t->count; i++) {
		struct hcomm_trial *trial = t->list[i];

		if (trial->coll == coll && trial->dtype == dtype && trial->count == count)
			return trial;
	}
	return NULL;
}

static bool tuned(const struct hcomm_comm *comm, uint32_t coll, uint64_t count)
{
	return comm->opts.tune && comm->opts.max_runs >= MIN_MAX_RUNS &&
	       comm->nranks > 1 && count && joins_all(coll);
}

/* the best candidates of two algorithms, or two ways of one */
static bool pick_two(const struct hcomm_comm *comm, const struct hcomm_sched_args *args,
		     struct hcomm_trial *trial)
{
	struct hcomm_decision list[HCOMM_MAX_CANDIDATES], d;
	const struct hcomm_planner *p = &comm->chooser.planner;
	uint32_t n, i;

	/* who was told what to do does not try anything else */
	if (hcomm_planner_decide(p, args, &d) ||
	    (d.why != HCOMM_WHY_MODEL && d.why != HCOMM_WHY_MEASURED))
		return false;
	n = hcomm_planner_candidates(p, args, list);
	for (i = 1; i < n && list[i].cand.algo == list[0].cand.algo; i++)
		;
	if (i == n)
		i = 1;
	if (n < 2)
		return false;
	trial->cand[0] = list[0].cand;
	trial->cand[1] = list[i].cand;
	return true;
}

struct hcomm_trial *hcomm_tune_find(struct hcomm_comm *comm,
				    const struct hcomm_sched_args *args)
{
	struct hcomm_trials *t = &comm->trials;
	struct hcomm_trial *trial;

	if (!tuned(comm, args->coll, args->count) || args->counts || args->vector ||
	    args->fixed_order)
		return NULL;
	trial = lookup(t, args->coll, args->dtype, args->count);
	if (trial || t->count == HCOMM_TRIALS)
		return trial;
	trial = calloc(1, sizeof(*trial));
	if (!trial)
		return NULL;
	trial->coll = args->coll;
	trial->dtype = args->dtype;
	trial->count = args->count;
	trial->time[0] = UINT64_MAX;
	trial->time[1] = UINT64_MAX;
	/* a kind without a choice keeps its place, as it does on all ranks */
	trial->settled = !pick_two(comm, args, trial);
	t->list[t->count++] = trial;
	return trial;
}

uint32_t hcomm_tune_turn(const struct hcomm_trial *trial)
{
	/* calls that were taken back may be from before */
	if (trial->settled && trial->calls >= trial->settled_at)
		return trial->winner;
	return trial->calls < TRIALS ? trial->calls % 2 : 0;
}

void hcomm_tune_done(struct hcomm_trial *trial, uint32_t turn, uint64_t ns)
{
	if (!trial->asked && ns < trial->time[turn])
		trial->time[turn] = ns;
}

static hcommResult_t ask(struct hcomm_comm *comm, struct hcomm_trial *trial, bool wait)
{
	struct hcomm_call_args call = {
		.name = "tuning",
		.coll = HCOMM_COLL_ALLREDUCE,
		.dtype = HCOMM_DT_UINT64,
		.redop = HCOMM_OP_MAX,
		.count = 2,
		.in_place = true,
		.internal = true,
	};
	hcommResult_t ret = HCOMM_SUCCESS;
	void *mem = trial->both;
	uint64_t seen;

	if (!mem)
		ret = hcomm_mem_alloc(2 * sizeof(*trial->both), &mem);
	if (ret)
		return ret;
	trial->both = mem;
	pthread_mutex_lock(&comm->lock);
	trial->both[0] = trial->time[0];
	trial->both[1] = trial->time[1];
	pthread_mutex_unlock(&comm->lock);
	call.recv = trial->both;
	call.send = trial->both;
	for (;;) {
		seen = hcomm_dev_seen();
		ret = hcomm_op_start(comm, &call, &trial->agree);
		if (ret != HCOMM_ERR_BUSY || !wait)
			break;
		ret = hcomm_op_wait_room(seen, call.name);
		if (ret)
			break;
	}
	trial->asked = !ret;
	return ret;
}

static hcommResult_t settle(struct hcomm_comm *comm, struct hcomm_trial *trial)
{
	struct hcomm_planner *p = &comm->chooser.planner;
	struct hcomm_sched_args args = {
		.coll = trial->coll,
		.nranks = comm->nranks,
		.count = trial->count,
		.dtype = trial->dtype,
	};
	const uint64_t *t = trial->both;
	hcommResult_t ret;
	uint32_t i;

	ret = hcomm_op_wait(trial->agree);
	trial->agree = NULL;
	if (ret) {
		/* the communicator has failed */
		trial->settled = true;
		return ret;
	}
	pthread_mutex_lock(&comm->lock);
	trial->winner = t[1] < t[0];
	trial->settled_at = trial->calls;
	for (i = 0; i < 2 && t[0] != UINT64_MAX && t[1] != UINT64_MAX && !ret; i++) {
		/* without memory this rank would decide unlike the others */
		if (hcomm_planner_measured(p, &args, &trial->cand[i], (double)t[i] * 1e-9))
			ret = hcomm_fail_nomem("measured times");
	}
	trial->settled = true;
	hcomm_choose_again(comm);
	pthread_mutex_unlock(&comm->lock);
	if (!comm->rank)
		hcomm_decision("tuned: %s of %llu %s: %s %llu ns, %s %llu ns",
			       hcomm_coll_name(trial->coll),
			       (unsigned long long)trial->count,
			       hcomm_dtype_text(trial->dtype),
			       hcomm_algo_name(trial->cand[0].algo),
			       (unsigned long long)t[0],
			       hcomm_algo_name(trial->cand[1].algo),
			       (unsigned long long)t[1]);
	return ret;
}

hcommResult_t hcomm_tune_step(struct hcomm_comm *comm,
			      const struct hcomm_call_args *call, bool wait)
{
	struct hcomm_trial *trial;

	/* what ranks count alike: blocks of V forms need not be */
	if (!tuned(comm, call->coll, call->count) || call->internal || call->vector)
		return HCOMM_SUCCESS;
	pthread_mutex_lock(&comm->lock);
	trial = lookup(&comm->trials, call->coll, call->dtype, call->count);
	pthread_mutex_unlock(&comm->lock);
	if (!trial || trial->settled)
		return HCOMM_SUCCESS;
	if (trial->calls == agree_at(comm) && !trial->asked)
		return ask(comm, trial, wait);
	if (trial->calls == settle_at(comm))
		return settle(comm, trial);
	return HCOMM_SUCCESS;
}

void hcomm_tune_stop(struct hcomm_comm *comm)
{
	uint32_t i;

	for (i = 0; i < comm->trials.count; i++) {
		struct hcomm_trial *trial = comm->trials.list[i];

		if (trial->agree)
			hcomm_op_wait(trial->agree);
		trial->agree = NULL;
		hcomm_mem_free(trial->both);
		trial->both = NULL;
	}
}

void hcomm_tune_exit(struct hcomm_comm *comm)
{
	while (comm->trials.count)
		free(comm->trials.list[--comm->trials.count]);
}
