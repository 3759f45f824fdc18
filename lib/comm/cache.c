// SPDX-License-Identifier: LGPL-2.1-or-later
/* Plans that are loaded into the kernel, kept for the next call of their kind. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/base.h"
#include "comm.h"

/* the kernel keeps the state of a run for each of its steps: share out so many */
#define RUN_STEPS	16384u
#define MIN_RUNS	2u

static uint32_t bucket(const struct hcomm_plan_key *key)
{
	uint64_t words[sizeof(*key) / sizeof(uint64_t)], hash = 0;
	size_t i;

	_Static_assert(sizeof(*key) % sizeof(uint64_t) == 0, "a key is whole words");
	memcpy(words, key, sizeof(words));
	for (i = 0; i < ARRAY_SIZE(words); i++)
		hash = (hash ^ words[i]) * 0x9e3779b97f4a7c15ull;
	return (uint32_t)(hash >> 32) % HCOMM_CACHE_BUCKETS;
}

static void unlink_entry(struct hcomm_cache *cache, struct hcomm_entry *e)
{
	if (e->newer)
		e->newer->older = e->older;
	else
		cache->newest = e->older;
	if (e->older)
		e->older->newer = e->newer;
	else
		cache->oldest = e->newer;
}

static void link_newest(struct hcomm_cache *cache, struct hcomm_entry *e)
{
	e->newer = NULL;
	e->older = cache->newest;
	if (cache->newest)
		cache->newest->newer = e;
	else
		cache->oldest = e;
	cache->newest = e;
}

static bool same_arrays(const struct hcomm_arrays *a, const struct hcomm_arrays *b,
			uint32_t n)
{
	uint32_t i;

	for (i = 0; i < HCOMM_ARRAYS; i++) {
		if (!a->list[i] != !b->list[i] ||
		    (a->list[i] && memcmp(a->list[i], b->list[i], n * sizeof(uint64_t))))
			return false;
	}
	return true;
}

static struct hcomm_entry *lookup(struct hcomm_comm *comm,
				  const struct hcomm_plan_key *key,
				  const struct hcomm_arrays *arrays)
{
	struct hcomm_entry *e;

	for (e = comm->cache.buckets[bucket(key)]; e; e = e->next) {
		if (!memcmp(&e->key, key, sizeof(*key)) &&
		    same_arrays(&e->arrays, arrays, comm->nranks))
			return e;
	}
	return NULL;
}

/* an entry with arrays of its own, behind it; NULL: no memory */
static struct hcomm_entry *new_entry(const struct hcomm_plan_key *key,
				     const struct hcomm_arrays *arrays, uint32_t n)
{
	struct hcomm_entry *e;
	size_t used = 0, i;
	uint64_t *mem;

	for (i = 0; i < HCOMM_ARRAYS; i++)
		used += arrays->list[i] != NULL;
	e = calloc(1, sizeof(*e) + used * n * sizeof(uint64_t));
	if (!e)
		return NULL;
	e->key = *key;
	mem = (uint64_t *)(e + 1);
	for (i = 0; i < HCOMM_ARRAYS; i++) {
		if (!arrays->list[i])
			continue;
		e->arrays.list[i] = memcpy(mem, arrays->list[i], n * sizeof(uint64_t));
		mem += n;
	}
	return e;
}

static void drop(struct hcomm_cache *cache, struct hcomm_entry *e)
{
	struct hcomm_entry **p = &cache->buckets[bucket(&e->key)];

	while (*p != e)
		p = &(*p)->next;
	*p = e->next;
	unlink_entry(cache, e);
	cache->count--;
	hcomm_dev_destroy(e->prog_id);
	free(e);
}

static void evict(struct hcomm_comm *comm)
{
	struct hcomm_entry *e = comm->cache.oldest, *newer;

	for (; e && comm->cache.count > comm->opts.cache_size; e = newer) {
		newer = e->newer;
		if (e->pins || __atomic_load_n(&e->inflight, __ATOMIC_ACQUIRE))
			continue;
		drop(&comm->cache, e);
		comm->stats.plansEvicted++;
	}
}

static hcommResult_t load(struct hcomm_comm *comm, const struct hcomm_step *steps,
			  uint32_t nsteps, const uint32_t *deps, uint32_t ndeps,
			  struct hcomm_entry *e, const char *what)
{
	struct hcomm_prog_load arg = {
		.size = sizeof(arg),
		.comm_id = comm->id,
		.steps = (uintptr_t)steps,
		.deps = (uintptr_t)deps,
		.nsteps = nsteps,
		.ndeps = ndeps,
		.nslots = e->nslots,
	};
	int err;

	e->max_runs = RUN_STEPS / nsteps;
	if (e->max_runs < MIN_RUNS)
		e->max_runs = MIN_RUNS;
	if (e->max_runs > comm->opts.max_runs)
		e->max_runs = comm->opts.max_runs;
	arg.max_runs = e->max_runs;
	err = hcomm_dev_ioctl(HCOMM_PROG_LOAD, &arg);
	if (err == EINVAL && arg.err_reason)
		return hcomm_fail(HCOMM_ERR_INTERNAL,
				  "%s: the kernel refuses the plan: step %d: %s",
				  what, (int)arg.err_step,
				  hcomm_prog_error_name(arg.err_reason));
	if (err)
		return hcomm_comm_error(comm, err, what);
	e->prog_id = arg.out_prog_id;
	return HCOMM_SUCCESS;
}

/* a message needs one step, of no bytes too: it carries the call */
static hcommResult_t load_p2p(struct hcomm_comm *comm,
			      const struct hcomm_plan_key *key,
			      struct hcomm_entry *e)
{
	bool send = key->root == comm->rank;
	struct hcomm_step step = {
		.op = send ? HCOMM_STEP_SEND : HCOMM_STEP_RECV,
		.peer = send ? key->peer : key->root,
		.src_slot = send ? HCOMM_SLOT_SEND : 0,
		.dst_slot = send ? 0 : HCOMM_SLOT_RECV,
		.len = key->count,
	};
	uint32_t slot = send ? HCOMM_SLOT_SEND : HCOMM_SLOT_RECV;

	e->nslots = 2;
	e->extent[slot] = key->count;
	e->written[slot] = !send;
	return load(comm, &step, 1, NULL, 0, e, send ? "Send" : "Recv");
}

static hcommResult_t plan_failed(int err, const struct hcomm_plan_key *key)
{
	const char *coll = hcomm_call_name(key->coll, key->vector);
	const char *algo = hcomm_algo_name(key->cand.algo);
	char count[48] = "";

	if (err == -ENOMEM)
		return hcomm_fail_nomem("a plan");
	if (!key->vector)
		snprintf(count, sizeof(count), " of %llu elements",
			 (unsigned long long)key->count);
	if (err == -E2BIG)
		return hcomm_fail(HCOMM_ERR_UNSUPPORTED,
				  "%s%s by %s needs more steps than a program may have; make it several calls, or raise HCOMM_CHUNK_SIZE",
				  coll, count, algo);
	return hcomm_fail(HCOMM_ERR_INVALID_ARGUMENT, "%s%s by %s can't be planned: %s", coll,
			  count, algo, hcomm_strerror(-err));
}

static hcommResult_t load_coll(struct hcomm_comm *comm,
			       const struct hcomm_plan_key *key,
			       struct hcomm_entry *e)
{
	/*
	 * A call of no elements still meets the others: as a barrier does.  In a V
	 * form not all may know that there are none.
	 */
	bool empty = !key->count && !key->vector;
	struct hcomm_sched_args args = {
		.coll = empty ? HCOMM_COLL_BARRIER : key->coll,
		.algo = empty ? HCOMM_ALGO_DISSEMINATION : key->cand.algo,
		.rank = comm->rank,
		.nranks = comm->nranks,
		.root = empty ? 0 : key->root,
		.count = key->count,
		.dtype = empty ? 0 : key->dtype,
		.redop = empty ? 0 : key->redop,
		.operand = empty ? 0 : key->operand,
		.in_place = !empty && key->in_place,
		.chunk_size = empty ? comm->opts.chunk_size : key->cand.grain,
		.channels = empty ? 1 : key->cand.channels,
		.radix = empty ? 0 : key->cand.radix,
		.vector = key->vector,
		.counts = e->arrays.counts,
		.displs = e->arrays.displs,
		.rcounts = e->arrays.rcounts,
		.rdispls = e->arrays.rdispls,
		.topo = comm->chooser.topo,
	};
	const struct hcomm_step *steps;
	struct hcomm_plan *plan;
	uint32_t nsteps, ndeps, i;
	const uint32_t *deps;
	hcommResult_t ret;
	int err;

	err = hcomm_sched_build(&args, &plan);
	if (err)
		return plan_failed(err, key);
	e->nslots = hcomm_plan_nslots(plan);
	for (i = 0; i < e->nslots; i++)
		e->extent[i] = hcomm_plan_slot_extent(plan, i, &e->written[i]);
	steps = hcomm_plan_steps(plan, &nsteps);
	deps = hcomm_plan_deps(plan, &ndeps);
	ret = load(comm, steps, nsteps, deps, ndeps, e,
		   hcomm_call_name(key->coll, key->vector));
	hcomm_plan_free(plan);
	return ret;
}

/* errors of links are easier to tell here than in a launch */
static hcommResult_t open_links(struct hcomm_comm *comm)
{
	struct hcomm_link_open arg = {
		.size = sizeof(arg),
		.comm_id = comm->id,
		.peer = HCOMM_ALL_LINKS,
	};
	int err = hcomm_dev_ioctl(HCOMM_LINK_OPEN, &arg);

	if (!err)
		return HCOMM_SUCCESS;
	if (err == ETIMEDOUT)
		return hcomm_fail(HCOMM_ERR_LINK,
				  "no link from rank %u to rank %u within %u ms (HCOMM_CONNECT_TIMEOUT); check the network between the two nodes, HCOMM_NIC and HCOMM_TRANSPORT",
				  comm->rank, arg.out_peer,
				  comm->opts.connect_timeout_ms);
	return hcomm_comm_error(comm, err, "link");
}

hcommResult_t hcomm_cache_get(struct hcomm_comm *comm,
			      const struct hcomm_plan_key *key,
			      const struct hcomm_arrays *arrays,
			      struct hcomm_entry **out)
{
	struct hcomm_cache *cache = &comm->cache;
	struct hcomm_entry *e = lookup(comm, key, arrays);
	hcommResult_t ret;

	if (e) {
		comm->stats.planHits++;
		unlink_entry(cache, e);
		link_newest(cache, e);
		*out = e;
		return HCOMM_SUCCESS;
	}
	e = new_entry(key, arrays, comm->nranks);
	if (!e)
		return hcomm_fail_nomem("a plan");
	if (key->coll == HCOMM_COLL_P2P)
		ret = load_p2p(comm, key, e);
	else
		ret = load_coll(comm, key, e);
	if (ret) {
		free(e);
		return ret;
	}
	hcomm_decision("rank %u: %s of %llu %s: %s", comm->rank,
		       hcomm_coll_name(key->coll), (unsigned long long)key->count,
		       key->coll == HCOMM_COLL_P2P ? "bytes" :
		       hcomm_dtype_text(key->dtype), hcomm_algo_name(key->cand.algo));
	e->next = cache->buckets[bucket(key)];
	cache->buckets[bucket(key)] = e;
	link_newest(cache, e);
	cache->count++;
	comm->stats.plansBuilt++;
	/* in flight: nobody evicts it while the lock is not held */
	__atomic_add_fetch(&e->inflight, 1, __ATOMIC_RELAXED);
	evict(comm);
	pthread_mutex_unlock(&comm->lock);
	ret = open_links(comm);
	pthread_mutex_lock(&comm->lock);
	__atomic_sub_fetch(&e->inflight, 1, __ATOMIC_RELEASE);
	*out = e;
	return ret;
}

void hcomm_cache_clear(struct hcomm_comm *comm)
{
	while (comm->cache.oldest)
		drop(&comm->cache, comm->cache.oldest);
}
