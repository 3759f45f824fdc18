// SPDX-License-Identifier: GPL-2.0-only
/*
 * Feedback and requests on several ranks at once: a device of the test's own takes the place of
 * the kernel's.  A run is over when all ranks have launched it, as with every
 * collective that joins all of them, and not before: who waits for one that can't
 * end by then has found a deadlock.  Ranks take turns by chance and run ahead of one
 * another as far as calls in flight allow.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/base/base.h"
#include "../../lib/comm/comm.h"
#include "../../lib/mem/mem.h"
#include "tap.h"

#define RANKS	4
#define RUNS	4096
#define MEMS	16384
#define FLIGHT	64	/* calls of a rank that are not waited for */

static struct hcomm_comm *comms[RANKS];
static uint32_t now_rank, deadlocks, mismatches;

/* what each rank launched under a run number */
static struct launched {
	bool there[RANKS];
	bool over[RANKS];
	struct hcomm_run *run[RANKS];
	struct hcomm_call call[RANKS];
	uint64_t *data[RANKS];
} runs[RUNS];

static const void *mems[MEMS];
static uint32_t nmems, nprogs;
static uint64_t slow[HCOMM_ALGO_COUNT][RANKS];

/* ------------------------------------------------------------------ the device */

hcommResult_t hcomm_dev_get(void)
{
	return HCOMM_SUCCESS;
}

void hcomm_dev_put(void)
{
}

bool hcomm_dev_is_open(void)
{
	return true;
}

uint32_t hcomm_dev_epoch(void)
{
	return 1;
}

hcommResult_t hcomm_dev_check_fork(void)
{
	return HCOMM_SUCCESS;
}

const struct hcomm_info *hcomm_dev_info(void)
{
	static const struct hcomm_info info;

	return &info;
}

int hcomm_dev_ioctl(unsigned long cmd, void *arg)
{
	if (cmd == HCOMM_PROG_LOAD)
		((struct hcomm_prog_load *)arg)->out_prog_id = ++nprogs;
	return 0;
}

void hcomm_dev_destroy(uint32_t id)
{
	(void)id;
}

hcommResult_t hcomm_dev_register(const void *addr, uint64_t len, bool read_only,
				 uint32_t *id)
{
	(void)len;
	(void)read_only;
	if (!CHECK(nmems + 1 < MEMS, "memory objects"))
		exit(1);
	mems[++nmems] = addr;
	*id = nmems;
	return HCOMM_SUCCESS;
}

static bool complete(const struct launched *l)
{
	uint32_t i, n = 0;

	for (i = 0; i < RANKS; i++)
		n += l->there[i];
	return n == RANKS;
}

/* the last rank came: the maximum for all; do the calls agree? */
static void reduce(struct launched *l)
{
	uint64_t max[2] = { 0, 0 };
	uint32_t i, k;

	for (i = 1; i < RANKS; i++)
		mismatches += !!memcmp(&l->call[0], &l->call[i], sizeof(l->call[0]));
	for (i = 0; i < RANKS; i++) {
		for (k = 0; l->data[i] && k < 2; k++)
			max[k] = l->data[i][k] > max[k] ? l->data[i][k] : max[k];
	}
	for (i = 0; i < RANKS; i++) {
		if (l->data[i])
			memcpy(l->data[i], max, sizeof(max));
	}
}

int hcomm_dev_launch(struct hcomm_launch *arg, struct hcomm_run *run)
{
	const struct hcomm_slot *slots = (const void *)(uintptr_t)arg->slots;
	struct launched *l = &runs[arg->run % RUNS];
	uint32_t r = now_rank;

	CHECK(!l->there[r], "run %llu twice", (unsigned long long)arg->run);
	l->there[r] = true;
	l->run[r] = run;
	l->call[r] = arg->call;
	/* the library's own, of two numbers */
	if (arg->call.redop == HCOMM_OP_MAX && arg->call.count == 2)
		l->data[r] = (uint64_t *)((const char *)mems[slots[1].mem_id] +
					  slots[1].offset);
	if (complete(l))
		reduce(l);
	return 0;
}

/* what is complete and this rank's is over now */
void hcomm_dev_drain(void)
{
	uint32_t i, k;

	for (i = 0; i < RUNS; i++) {
		struct launched *l = &runs[i];
		struct hcomm_run *run = l->run[now_rank];

		if (!run || l->over[now_rank] || !complete(l))
			continue;
		l->over[now_rank] = true;
		run->duration_ns = slow[l->call[now_rank].algo][now_rank];
		for (k = 0; k < 2; k++) {
			if (run->counters[k])
				--*run->counters[k];
		}
		run->done = true;
	}
}

bool hcomm_dev_poll(struct hcomm_run *run)
{
	hcomm_dev_drain();
	return run->done;
}

int hcomm_dev_wait(struct hcomm_run *run)
{
	if (hcomm_dev_poll(run))
		return 0;
	deadlocks++;
	return EDEADLK;
}

uint64_t hcomm_dev_seen(void)
{
	return 0;
}

int hcomm_dev_wait_any(uint64_t seen)
{
	(void)seen;
	deadlocks++;
	return EDEADLK;
}

/* ------------------------------------------------------------------- the ranks */

static void comm_make(uint32_t rank, uint32_t max_runs)
{
	struct hcomm_comm *comm = calloc(1, sizeof(*comm));
	struct hcomm_planner *p;

	if (!CHECK(comm, "memory"))
		exit(1);
	comm->rank = rank;
	comm->nranks = RANKS;
	comm->refs = 1;
	comm->opts.max_runs = max_runs;
	comm->opts.cache_size = 64;
	comm->opts.chunk_size = 256 << 10;
	comm->opts.bounce_size = 64 << 10;
	comm->opts.tune = 1;
	pthread_mutex_init(&comm->lock, NULL);
	p = &comm->chooser.planner;
	hcomm_model_default(&p->model);
	p->lim = (struct hcomm_limits){ 256 << 10, 4096, 4 };
	CHECK(!hcomm_shape_make(&p->shape, RANKS, NULL, NULL), "shape");
	comms[rank] = comm;
}

struct rank {
	hcommRequest_t flight[FLIGHT];
	uint32_t first;
	uint32_t count;
	uint32_t calls;
	void *buf;
};

static struct rank ranks[RANKS];
static uint64_t seed;

static uint32_t chance(uint32_t n)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(seed >> 33) % n;
}

/* the oldest call of a rank, if it can be over */
static bool finish_one(uint32_t r)
{
	struct rank *k = &ranks[r];
	hcommRequest_t *slot = &k->flight[k->first % FLIGHT];

	if (!k->count || !hcomm_op_test(*slot))
		return false;
	CHECK(!hcomm_op_wait(*slot), "wait");
	k->first++;
	k->count--;
	return true;
}

static bool begin_one(uint32_t r, uint64_t count)
{
	struct rank *k = &ranks[r];
	struct hcomm_call_args call = {
		.name = "AllReduce", .coll = HCOMM_COLL_ALLREDUCE,
		.dtype = HCOMM_DT_FP32, .redop = HCOMM_OP_SUM, .count = count,
		.in_place = true, .send = k->buf, .recv = k->buf,
	};
	hcommResult_t ret;

	if (k->count == FLIGHT)
		return false;
	ret = hcomm_op_start(comms[r], &call,
			     &k->flight[(k->first + k->count) % FLIGHT]);
	if (ret == HCOMM_ERR_BUSY)
		return false;
	if (!CHECK(!ret, "rank %u, call %u: %s", r, k->calls, hcomm_error_text()))
		exit(1);
	k->count++;
	k->calls++;
	return true;
}

/*
 * All ranks make @calls calls of two kinds, ahead of one another as it comes.
 * @prompt: each call is waited for as soon as it is over, so that its time counts.
 */
static void job(uint32_t max_runs, uint32_t calls, bool prompt)
{
	uint32_t i, idle = 0, left = RANKS * calls;

	memset(runs, 0, sizeof(runs));
	memset(ranks, 0, sizeof(ranks));
	deadlocks = 0;
	mismatches = 0;
	for (i = 0; i < RANKS; i++) {
		comm_make(i, max_runs);
		CHECK(!hcomm_mem_alloc(1 << 20, &ranks[i].buf), "memory");
	}
	while (left && idle < 10000 && !deadlocks) {
		uint32_t r = chance(RANKS);

		now_rank = r;
		/* by fits and starts, so that some get far ahead */
		for (i = chance(2 * max_runs) + 1; i; i--) {
			while (prompt && finish_one(r))
				idle = 0;
			if (ranks[r].calls < calls &&
			    begin_one(r, ranks[r].calls % 3 ? 20000 : 90000)) {
				left--;
				idle = 0;
			} else if (finish_one(r)) {
				idle = 0;
			} else {
				idle++;
				break;
			}
		}
	}
	CHECK(!left, "nobody gets on: %u calls are left", left);
	CHECK(!deadlocks, "somebody waits for what can't come");
	CHECK(!mismatches, "%u calls differ between ranks", mismatches);
	for (i = 0; i < RANKS; i++) {
		now_rank = i;
		while (finish_one(i))
			;
	}
}

static void job_end(void)
{
	uint32_t i;

	for (i = 0; i < RANKS; i++) {
		now_rank = i;
		CHECK(!hcomm_comm_destroy(comms[i]), "destroy");
		hcomm_mem_free(ranks[i].buf);
	}
}

static void test_agree(uint32_t max_runs, uint32_t calls, uint64_t base, bool prompt)
{
	const struct hcomm_trial *t, *first;
	uint32_t i, a;

	/* every rank finds another one faster; the slowest rank counts */
	seed = base;
	for (a = 0; a < HCOMM_ALGO_COUNT; a++) {
		for (i = 0; i < RANKS; i++)
			slow[a][i] = 1000 + chance(100000);
	}
	job(max_runs, calls, prompt);
	first = comms[0]->trials.list[0];
	CHECK(first->settled, "not settled after %u calls", calls);
	for (i = 0; i < RANKS; i++) {
		uint64_t most[2] = { 0, 0 };

		t = comms[i]->trials.list[0];
		for (a = 0; a < RANKS; a++) {
			most[0] = slow[t->cand[0].algo][a] > most[0] ?
				  slow[t->cand[0].algo][a] : most[0];
			most[1] = slow[t->cand[1].algo][a] > most[1] ?
				  slow[t->cand[1].algo][a] : most[1];
		}
		CHECK(t->winner == first->winner, "rank %u decides otherwise", i);
		CHECK(!prompt || t->winner == (most[1] < most[0]), "the slower one wins: %llu, %llu",
		      (unsigned long long)most[0], (unsigned long long)most[1]);
	}
	job_end();
}

static void test_all(void)
{
	uint32_t i;

	for (i = 0; i < 200; i++)
		test_agree(2 + i % 15, 300, i + 1, i % 2);
}

/* an end in the middle of an agreement */
static void test_end(void)
{
	uint32_t i;

	for (i = 0; i < 40; i++) {
		seed = i + 1;
		job(3, 3 * (i + 1), i % 2);
		job_end();
	}
}

/* persistent requests that outlive their communicators, started and never started */
static void test_persistent(void)
{
	static uint8_t mem[RANKS][80000];
	hcommRequest_t req[RANKS][2];
	uint32_t i;

	memset(runs, 0, sizeof(runs));
	for (i = 0; i < RANKS; i++) {
		struct hcomm_call_args call = {
			.name = "AllReduce", .coll = HCOMM_COLL_ALLREDUCE,
			.dtype = HCOMM_DT_INT8, .redop = HCOMM_OP_MAX, .in_place = true,
			.count = sizeof(mem[i]), .send = mem[i], .recv = mem[i],
		};

		now_rank = i;
		comm_make(i, 4);
		CHECK(!hcomm_op_init(comms[i], &call, &req[i][0]), "init");
		CHECK(!hcomm_op_init(comms[i], &call, &req[i][1]), "init");
		CHECK(!hcomm_op_again(req[i][0], false), "start");
	}
	for (i = 0; i < RANKS; i++) {
		now_rank = i;
		CHECK(hcomm_op_test(req[i][0]), "all have started it");
		CHECK(!hcomm_comm_destroy(comms[i]), "destroy");
		CHECK(!hcomm_op_wait(req[i][0]), "wait");
		CHECK(hcomm_op_again(req[i][0], false) == HCOMM_ERR_INVALID_USAGE, "start after the end");
		CHECK(hcomm_op_again(req[i][1], false) == HCOMM_ERR_INVALID_USAGE, "start after the end");
		CHECK(!hcomm_op_free(req[i][1]) && !hcomm_op_free(req[i][0]), "free");
	}
}

int main(void)
{
	RUN(test_all(), "all ranks agree, and nobody waits in a circle");
	RUN(test_end(), "communicators end at any moment of a trial");
	RUN(test_persistent(), "requests outlive their communicators");
	return tap_end();
}
