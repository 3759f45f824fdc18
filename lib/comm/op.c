// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * A call from its arguments to its completion: find the plan, bind the buffers,
 * number it, launch it, wait, give everything back.
 *
 * The number is taken last, when nothing of this rank can fail any more but the
 * launch itself, and given back if that fails: the ranks' numbers stay equal.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../base/base.h"
#include "request.h"

/* between looks at calls that are not launched yet */
#define PREPARE_US	50

/* ------------------------------------------------------------------ in flight */

static uint32_t load_count(const uint32_t *count)
{
	return __atomic_load_n(count, __ATOMIC_ACQUIRE);
}

static void uncount(struct hcomm_request *r)
{
	__atomic_sub_fetch(&r->entry->inflight, 1, __ATOMIC_RELEASE);
	__atomic_sub_fetch(&r->comm->inflight, 1, __ATOMIC_RELEASE);
}

/* comm locked: is there room for a call more?  Then it is counted */
static bool count_in(struct hcomm_request *r)
{
	if (load_count(&r->comm->inflight) >= r->comm->opts.max_runs ||
	    load_count(&r->entry->inflight) >= r->entry->max_runs)
		return false;
	__atomic_add_fetch(&r->comm->inflight, 1, __ATOMIC_RELAXED);
	__atomic_add_fetch(&r->entry->inflight, 1, __ATOMIC_RELAXED);
	return true;
}

static hcommResult_t busy(const struct hcomm_comm *comm,
			  const struct hcomm_entry *e, const char *name)
{
	if (load_count(&comm->inflight) >= comm->opts.max_runs)
		return hcomm_fail(HCOMM_ERR_BUSY,
				  "%s: %u calls are in flight, as many as the communicator allows; wait for one, or raise HCOMM_MAX_RUNS",
				  name, comm->opts.max_runs);
	return hcomm_fail(HCOMM_ERR_BUSY,
			  "%s: %u calls of this kind are in flight, as many as its plan allows; wait for one",
			  name, e->max_runs);
}

static uint64_t hash_array(uint64_t hash, const uint64_t *array, uint32_t n)
{
	uint32_t i;

	for (i = 0; array && i < n; i++) {
		hash = (hash ^ array[i]) * 0x9e3779b97f4a7c15ull;
		hash ^= hash >> 29;
	}
	return hash * 3 + !array;
}

/* what the ranks compare: all that all of them know, and no more */
static void fill_common(struct hcomm_request *r, const struct hcomm_call_args *call,
			const struct hcomm_plan_key *key)
{
	uint32_t n = r->comm->nranks, i;
	uint64_t hash = 0;

	r->count = call->vector ? 0 : call->count;
	r->hash = hcomm_candidate_id(&key->cand) & ~HCOMM_CALL_VECTOR;
	if (!call->vector)
		return;
	if (call->coll == HCOMM_COLL_ALLGATHER || call->coll == HCOMM_COLL_REDUCE_SCATTER) {
		hash = hash_array(0, call->arrays.counts, n);
		for (i = 0; i < n; i++)
			r->count += call->arrays.counts[i];
	}
	r->hash ^= (uint32_t)(hash ^ hash >> 32) | HCOMM_CALL_VECTOR;
}

/* comm locked */
static hcommResult_t fill_key(struct hcomm_request *r,
			      const struct hcomm_call_args *call,
			      struct hcomm_plan_key *key)
{
	struct hcomm_comm *comm = r->comm;
	struct hcomm_sched_args args = {
		.coll = call->coll,
		.rank = comm->rank,
		.nranks = comm->nranks,
		.root = call->root,
		.count = call->count,
		.dtype = call->dtype,
		.redop = call->redop,
		.operand = call->operand,
		.vector = call->vector,
		.counts = call->arrays.counts,
		.displs = call->arrays.displs,
		.rcounts = call->arrays.rcounts,
		.rdispls = call->arrays.rdispls,
		.topo = comm->chooser.topo,
	};
	struct hcomm_decision decision;
	hcommResult_t ret;
	uint32_t i;

	memset(key, 0, sizeof(*key));
	key->count = call->count;
	key->coll = call->coll;
	key->root = call->root;
	key->peer = call->peer;
	key->dtype = (uint8_t)call->dtype;
	key->redop = (uint8_t)call->redop;
	key->operand = call->operand;
	key->in_place = call->in_place;
	key->vector = call->vector;
	for (i = 0; call->vector && i < HCOMM_ARRAYS; i++)
		key->arrays = hash_array(key->arrays, call->arrays.list[i], comm->nranks);
	if (call->coll == HCOMM_COLL_P2P) {
		key->cand.algo = HCOMM_ALGO_P2P;
		return HCOMM_SUCCESS;
	}
	/* made by each rank when it likes, so nothing that changes plays a part */
	if (r->again) {
		ret = hcomm_choose_lasting(comm, &args, &decision);
		key->cand = decision.cand;
		return ret;
	}
	r->trial = call->internal ? NULL : hcomm_tune_find(comm, &args);
	if (r->trial && r->trial->cand[0].algo) {
		r->turn = hcomm_tune_turn(r->trial);
		key->cand = r->trial->cand[r->turn];
		return HCOMM_SUCCESS;
	}
	ret = hcomm_choose(comm, &args, &decision);
	key->cand = decision.cand;
	return ret;
}

hcommResult_t hcomm_op_wait_room(uint64_t seen, const char *name)
{
	int err = hcomm_dev_wait_any(seen);

	if (!err)
		return HCOMM_SUCCESS;
	if (err != EDEADLK)
		return hcomm_fail_errno(err, "%s: waiting for room", name);
	/* none is in flight: another thread prepares the one that is counted */
	usleep(PREPARE_US);
	return HCOMM_SUCCESS;
}

/* the plan, counted in flight; @wait: until there is room for a call more */
static hcommResult_t reserve(struct hcomm_request *r,
			     const struct hcomm_call_args *call, bool wait)
{
	struct hcomm_comm *comm = r->comm;
	struct hcomm_plan_key key;
	struct hcomm_entry *e = NULL;
	hcommResult_t ret;
	uint64_t seen;

	for (;;) {
		seen = hcomm_dev_seen();
		pthread_mutex_lock(&comm->lock);
		ret = fill_key(r, call, &key);
		if (!ret)
			ret = hcomm_cache_get(comm, &key, &call->arrays, &e);
		r->entry = e;
		if (!ret && count_in(r)) {
			fill_common(r, call, &key);
			pthread_mutex_unlock(&comm->lock);
			return HCOMM_SUCCESS;
		}
		if (!ret && !wait)
			ret = busy(comm, e, call->name);
		pthread_mutex_unlock(&comm->lock);
		if (ret)
			return ret;
		ret = hcomm_op_wait_room(seen, call->name);
		if (ret)
			return ret;
	}
}

hcommResult_t hcomm_request_bind(struct hcomm_request *r)
{
	struct hcomm_comm *comm = r->comm;
	struct hcomm_plan_key key;
	hcommResult_t ret;

	pthread_mutex_lock(&comm->lock);
	ret = fill_key(r, r->again, &key);
	if (!ret)
		ret = hcomm_cache_get(comm, &key, &r->again->arrays, &r->entry);
	if (!ret) {
		r->entry->pins++;
		fill_common(r, r->again, &key);
	}
	pthread_mutex_unlock(&comm->lock);
	if (ret)
		return ret;
	ret = hcomm_buffers_bind(r, r->again);
	if (ret)
		hcomm_request_release(r);
	return ret;
}

void hcomm_request_release(struct hcomm_request *r)
{
	hcomm_buffers_unbind(r, false);
	pthread_mutex_lock(&r->comm->lock);
	/* plans end with their communicator */
	if (!r->comm->ended)
		r->entry->pins--;
	pthread_mutex_unlock(&r->comm->lock);
}

/* -------------------------------------------------------------------- launch */

static hcommResult_t take_number(struct hcomm_request *r,
				 const struct hcomm_call_args *call,
				 struct hcomm_number *n)
{
	struct hcomm_comm *comm = r->comm;
	bool send = call->root == comm->rank;
	hcommResult_t ret = HCOMM_SUCCESS;

	pthread_mutex_lock(&comm->lock);
	if (call->coll != HCOMM_COLL_P2P)
		n->run = hcomm_seq_next(comm);
	else if (hcomm_flow_next(comm, send ? call->peer : call->root, send,
				 call->tag, &n->seq))
		n->run = hcomm_p2p_key(call->root, call->peer, call->tag, n->seq);
	else
		ret = hcomm_fail(HCOMM_ERR_NO_MEMORY,
				 "%s: no memory for tag %u, or more than a million pairs of rank and tag are in use",
				 call->name, call->tag);
	comm->stats.launches += !ret;
	if (r->trial)
		r->trial->calls += !ret;
	pthread_mutex_unlock(&comm->lock);
	return ret;
}

void hcomm_request_unnumber(struct hcomm_request *r, const struct hcomm_call_args *call,
			    const struct hcomm_number *n)
{
	struct hcomm_comm *comm = r->comm;
	bool send = call->root == comm->rank;

	pthread_mutex_lock(&comm->lock);
	if (call->coll == HCOMM_COLL_P2P)
		hcomm_flow_undo(comm, send ? call->peer : call->root, send,
				call->tag, n->seq);
	else
		hcomm_seq_undo(comm, n->run);
	comm->stats.launches--;
	if (r->trial)
		r->trial->calls--;
	pthread_mutex_unlock(&comm->lock);
}

hcommResult_t hcomm_request_number(struct hcomm_request *r,
				   const struct hcomm_call_args *call,
				   struct hcomm_launch *arg, struct hcomm_number *number)
{
	const struct hcomm_entry *e = r->entry;
	struct hcomm_comm *comm = r->comm;
	hcommResult_t ret;

	*number = (struct hcomm_number){ 0 };
	ret = take_number(r, call, number);
	if (ret)
		return ret;
	*arg = (struct hcomm_launch){
		.prog_id = e->prog_id,
		.slots = (uintptr_t)r->slots,
		.nslots = e->nslots,
		.run = number->run,
		.call = {
			.coll = (uint16_t)call->coll,
			.dtype = (uint8_t)call->dtype,
			.redop = (uint8_t)call->redop,
			.root = call->root,
			.count = r->count,
			.algo = e->key.cand.algo,
			.hash = r->hash,
		},
		.timeout_ms = comm->opts.run_timeout_ms,
	};
	/* in this order: plans end when nothing is in flight on their communicator */
	r->run.counters[0] = &r->entry->inflight;
	r->run.counters[1] = &comm->inflight;
	return HCOMM_SUCCESS;
}

static hcommResult_t launch(struct hcomm_request *r,
			    const struct hcomm_call_args *call, uint32_t flags)
{
	struct hcomm_number number;
	struct hcomm_launch arg;
	hcommResult_t ret;
	uint64_t seen;
	int err;

	ret = hcomm_request_number(r, call, &arg, &number);
	if (ret)
		return ret;
	arg.flags = flags;
	do {
		seen = hcomm_dev_seen();
		err = hcomm_dev_launch(&arg, &r->run);
		/* our own limits hold, so the ring is full: make room */
	} while (err == EBUSY && !hcomm_dev_wait_any(seen));
	if (!err)
		return HCOMM_SUCCESS;
	hcomm_request_unnumber(r, call, &number);
	if (err == ENOENT && r->again && !hcomm_comm_query(r->comm))
		return hcomm_fail(HCOMM_ERR_INVALID_USAGE,
				  "%s: a buffer of this request was deregistered or freed since it was made; free the request first",
				  call->name);
	return hcomm_comm_error(r->comm, err, call->name);
}

/* a persistent request, counted in flight; @wait: until there is room for it */
static hcommResult_t reserve_again(struct hcomm_request *r, bool wait)
{
	struct hcomm_comm *comm = r->comm;
	hcommResult_t ret = HCOMM_SUCCESS;
	bool ended, room = false;
	uint64_t seen;

	while (!ret && !room) {
		seen = hcomm_dev_seen();
		pthread_mutex_lock(&comm->lock);
		ended = comm->ended;
		if (!ended)
			room = count_in(r);
		pthread_mutex_unlock(&comm->lock);
		if (ended)
			ret = hcomm_fail(HCOMM_ERR_INVALID_USAGE,
					 "%s: the communicator was destroyed", r->name);
		else if (!room && wait)
			ret = hcomm_op_wait_room(seen, r->name);
		else if (!room)
			ret = busy(comm, r->entry, r->name);
	}
	return ret;
}

hcommResult_t hcomm_request_relaunch(struct hcomm_request *r, bool wait)
{
	hcommResult_t ret = reserve_again(r, wait);

	if (ret)
		return ret;
	memset(&r->run, 0, sizeof(r->run));
	ret = launch(r, r->again, 0);
	if (ret)
		uncount(r);
	return ret;
}

hcommResult_t hcomm_request_prepare(struct hcomm_comm *comm, struct hcomm_request *r,
				    const struct hcomm_call_args *call, bool wait)
{
	hcommResult_t ret;

	memset(r, 0, sizeof(*r));
	r->comm = comm;
	r->name = call->name;
	ret = hcomm_tune_step(comm, call, wait);
	if (ret)
		return ret;
	ret = reserve(r, call, wait);
	if (ret)
		return ret;
	ret = hcomm_buffers_bind(r, call);
	if (ret)
		uncount(r);
	return ret;
}

void hcomm_request_undo(struct hcomm_request *r)
{
	hcomm_buffers_unbind(r, false);
	uncount(r);
}

static hcommResult_t begin(struct hcomm_comm *comm, struct hcomm_request *r,
			   const struct hcomm_call_args *call, uint32_t flags)
{
	hcommResult_t ret;

	ret = hcomm_request_prepare(comm, r, call, flags & HCOMM_LAUNCH_WAIT);
	if (ret)
		return ret;
	ret = launch(r, call, flags);
	if (ret)
		hcomm_request_undo(r);
	return ret;
}

static hcommResult_t finish(struct hcomm_request *r)
{
	hcomm_buffers_unbind(r, !r->run.status);
	if (!r->run.status && r->trial) {
		pthread_mutex_lock(&r->comm->lock);
		hcomm_tune_done(r->trial, r->turn, r->run.duration_ns);
		pthread_mutex_unlock(&r->comm->lock);
	}
	if (!r->run.status)
		return HCOMM_SUCCESS;
	return hcomm_comm_error(r->comm, -r->run.status, r->name);
}

hcommResult_t hcomm_op_run(struct hcomm_comm *comm,
			   const struct hcomm_call_args *call)
{
	struct hcomm_request r;
	hcommResult_t ret = begin(comm, &r, call, HCOMM_LAUNCH_WAIT);

	return ret ? ret : finish(&r);
}

hcommResult_t hcomm_op_start(struct hcomm_comm *comm,
			     const struct hcomm_call_args *call,
			     hcommRequest_t *req)
{
	struct hcomm_request *r = malloc(sizeof(*r));
	hcommResult_t ret;

	if (!r)
		return hcomm_fail_nomem("a request");
	hcomm_dev_drain();
	ret = begin(comm, r, call, 0);
	if (ret) {
		free(r);
		return ret;
	}
	hcomm_comm_get(comm);
	*req = r;
	return HCOMM_SUCCESS;
}

bool hcomm_op_test(hcommRequest_t r)
{
	for (; r; r = r->more) {
		if ((!r->again || r->active) && !hcomm_dev_poll(&r->run))
			return false;
	}
	return true;
}

static hcommResult_t wait_one(struct hcomm_request *r)
{
	struct hcomm_comm *comm = r->comm;
	hcommResult_t ret;
	int err;

	if (r->again && !r->active)
		return HCOMM_SUCCESS;
	err = hcomm_dev_wait(&r->run);
	/* it is in flight still: its memory must stay */
	if (err)
		return hcomm_fail_errno(err, "%s: waiting", r->name);
	if (r->again) {
		r->active = false;
		return r->run.status ?
		       hcomm_comm_error(comm, -r->run.status, r->name) : HCOMM_SUCCESS;
	}
	ret = finish(r);
	free(r);
	hcomm_comm_put(comm);
	return ret;
}

hcommResult_t hcomm_op_wait(hcommRequest_t r)
{
	struct hcomm_first_error first;
	struct hcomm_request *more;

	first.result = HCOMM_SUCCESS;
	for (; r; r = more) {
		more = r->more;
		hcomm_error_keep(&first, wait_one(r));
	}
	return hcomm_error_restore(&first);
}
