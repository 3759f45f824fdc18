// SPDX-License-Identifier: GPL-2.0-only
/*
 * Every builder, proven right by the checker: all rank counts from 1 to 64 and a
 * few odd ones beyond, roots, counts around the rank count, in and out of place,
 * messages of several chunks, the smallest staging pool.  And what the builders
 * promise beside: errors, sizes, time.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../../lib/check/check.h"

static int tests, failures;
static uint32_t max_ranks = 127;

static void ok(bool good, const char *fmt, ...)
{
	char name[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(name, sizeof(name), fmt, ap);
	va_end(ap);
	printf("%sok %d - %s\n", good ? "" : "not ", ++tests, name);
	if (!good)
		failures++;
}

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec * 1e-9;
}

static const uint32_t combos[][2] = {
	{ HCOMM_COLL_ALLREDUCE, HCOMM_ALGO_RING },
	{ HCOMM_COLL_REDUCE_SCATTER, HCOMM_ALGO_RING },
	{ HCOMM_COLL_ALLGATHER, HCOMM_ALGO_RING },
	{ HCOMM_COLL_BROADCAST, HCOMM_ALGO_BINOMIAL },
	{ HCOMM_COLL_REDUCE, HCOMM_ALGO_BINOMIAL },
	{ HCOMM_COLL_ALLREDUCE, HCOMM_ALGO_BINOMIAL },
	{ HCOMM_COLL_BROADCAST, HCOMM_ALGO_DOUBLE_TREE },
	{ HCOMM_COLL_REDUCE, HCOMM_ALGO_DOUBLE_TREE },
	{ HCOMM_COLL_ALLREDUCE, HCOMM_ALGO_DOUBLE_TREE },
	{ HCOMM_COLL_ALLREDUCE, HCOMM_ALGO_RECURSIVE_DOUBLING },
	{ HCOMM_COLL_ALLREDUCE, HCOMM_ALGO_DIRECT },
	{ HCOMM_COLL_BARRIER, HCOMM_ALGO_DISSEMINATION },
	{ HCOMM_COLL_P2P, HCOMM_ALGO_P2P },
};

#define NCOMBOS	(sizeof(combos) / sizeof(combos[0]))

struct tally {
	uint32_t cases;
	uint32_t bad;
	uint64_t chunks;
};

static void prove(const struct hcomm_sched_args *a, uint32_t chunk, uint32_t eager,
		  uint32_t window, uint32_t staging, struct tally *t)
{
	struct hcomm_check_opts o = {
		.chunk_size = chunk, .eager_size = eager,
		.window = window, .staging_slots = staging,
	};
	struct hcomm_check_result res;
	int err;

	err = hcomm_check_sched(a, &o, &res);
	t->cases++;
	t->chunks += res.chunks;
	if (!err)
		return;
	if (++t->bad <= 3)
		printf("# %s %s ranks %u root %u peer %u count %llu in-place %d chunk %u/%u "
		       "eager %u channels %u window %u staging %u: %d %s\n",
		       hcomm_algo_name(a->algo), hcomm_coll_name(a->coll), a->nranks,
		       a->root, a->peer, (unsigned long long)a->count, a->in_place,
		       a->chunk_size, chunk, eager, a->channels, window, staging, err,
		       res.text);
}

static bool rooted(uint32_t coll)
{
	return coll == HCOMM_COLL_BROADCAST || coll == HCOMM_COLL_REDUCE;
}

/* counts around the rank count; large ones only where that is not too slow */
static uint32_t counts_for(uint32_t n, uint64_t *counts)
{
	uint32_t k = 0;

	counts[k++] = 0;
	counts[k++] = 1;
	if (n > 2)
		counts[k++] = n - 1;
	if (n > 1)
		counts[k++] = n;
	counts[k++] = n + 1;
	counts[k++] = n <= 24 ? 5 * n + 3 : 2 * n + 1;
	if (n <= 9)
		counts[k++] = 257;
	return k;
}

static void prove_counts(struct hcomm_sched_args *a, struct tally *t)
{
	/* chunk sizes in bytes: one, two and five elements of fp32 */
	static const uint32_t chunks[] = { 4, 8, 20 };
	uint64_t counts[8];
	uint32_t n = a->nranks, nc = counts_for(n, counts), i;

	if (a->coll == HCOMM_COLL_BARRIER)
		nc = 1;
	for (i = 0; i < nc; i++) {
		a->count = counts[i];
		/* blocks of one rank: count is per rank, so keep it small */
		if ((a->coll == HCOMM_COLL_ALLGATHER ||
		     a->coll == HCOMM_COLL_REDUCE_SCATTER ||
		     a->algo == HCOMM_ALGO_DIRECT) && n > 12)
			a->count = i;
		a->chunk_size = chunks[(i + n) % 3];
		a->channels = 1 + (i + n + a->root) % 3;
		prove(a, a->chunk_size, 0, 1 + (i + n) % 4, 1 + (n % 2) * 3, t);
	}
}

static void test_combo(uint32_t coll, uint32_t algo)
{
	static const uint32_t more[] = { 65, 100, 127 };
	struct tally t = { 0 };
	double start = now();
	uint32_t i, n, root, step;

	for (i = 1; i <= 64 + 3 && (i <= max_ranks || max_ranks > 64); i++) {
		struct hcomm_sched_args a = {
			.coll = coll, .algo = algo, .dtype = HCOMM_DT_FP32,
			.redop = i % HCOMM_OP_COUNT,
		};

		n = i <= 64 ? i : more[i - 65];
		a.nranks = n;
		/* all roots of small groups, a few of large ones */
		step = rooted(coll) ? (n <= 9 ? 1 : n / 3) : n;
		for (root = 0; root < n; root += step) {
			a.root = rooted(coll) ? root : 0;
			if (coll == HCOMM_COLL_P2P) {
				a.root = n / 3;
				a.peer = n - 1;
			}
			a.in_place = false;
			prove_counts(&a, &t);
			a.in_place = true;
			prove_counts(&a, &t);
		}
	}
	ok(!t.bad, "%s %s: %u cases, %llu chunks, %u wrong, %.1f s",
	   hcomm_algo_name(algo), hcomm_coll_name(coll), t.cases,
	   (unsigned long long)t.chunks, t.bad, now() - start);
}

/* few ranks, much data: sections, slices of several chunks, reuse of scratch */
static void test_large(void)
{
	static const uint32_t ranks[] = { 2, 3, 4, 5, 8, 13 };
	struct tally t = { 0 };
	double start = now();
	uint32_t i, k, p;

	for (k = 0; k < NCOMBOS; k++) {
		for (i = 0; i < sizeof(ranks) / sizeof(ranks[0]); i++) {
			for (p = 0; p < 2; p++) {
				struct hcomm_sched_args a = {
					.coll = combos[k][0], .algo = combos[k][1],
					.nranks = ranks[i], .peer = 1,
					.root = combos[k][0] == HCOMM_COLL_ALLREDUCE ?
						0 : ranks[i] - 1,
					.count = 1009 + i, .dtype = HCOMM_DT_FP16,
					.in_place = p, .chunk_size = 8,
					.channels = 1 + p,
				};

				if (!rooted(a.coll) && a.coll != HCOMM_COLL_P2P)
					a.root = 0;
				prove(&a, 8, 0, 4, 4, &t);
				prove(&a, 64, 32, 2, 1, &t);
			}
		}
	}
	ok(!t.bad, "many chunks: %u cases, %llu chunks, %u wrong, %.1f s", t.cases,
	   (unsigned long long)t.chunks, t.bad, now() - start);
}

static void test_types(void)
{
	struct tally t = { 0 };
	uint32_t d, op, k;

	for (k = 0; k < NCOMBOS; k++) {
		for (d = 0; d < HCOMM_DT_COUNT; d++) {
			for (op = 0; op < HCOMM_OP_COUNT; op++) {
				struct hcomm_sched_args a = {
					.coll = combos[k][0], .algo = combos[k][1],
					.nranks = 5, .count = 37, .dtype = d,
					.redop = op, .chunk_size = 16, .peer = 3,
				};

				prove(&a, 16, 0, 2, 1, &t);
			}
		}
	}
	ok(!t.bad, "all types and operations: %u cases, %u wrong", t.cases, t.bad);
}

static int try_build(struct hcomm_sched_args a)
{
	struct hcomm_plan *plan = NULL;
	int err = hcomm_sched_build(&a, &plan);

	hcomm_plan_free(plan);
	return err;
}

static void test_errors(void)
{
	const struct hcomm_sched_args good = {
		.coll = HCOMM_COLL_ALLREDUCE, .algo = HCOMM_ALGO_RING, .rank = 1,
		.nranks = 4, .count = 10, .dtype = HCOMM_DT_FP32,
		.chunk_size = 4096,
	};
	struct hcomm_sched_args a;

#define EXPECT(want, ...) do {						\
	a = good;							\
	__VA_ARGS__;							\
	ok(try_build(a) == (want), "%s gives %s", #__VA_ARGS__,	#want);	\
} while (0)
	EXPECT(0, (void)a);
	EXPECT(-EINVAL, a.nranks = 0);
	EXPECT(-EINVAL, a.nranks = HCOMM_MAX_RANKS + 1);
	EXPECT(-EINVAL, a.rank = 4);
	EXPECT(-EINVAL, a.root = 4);
	EXPECT(-EINVAL, a.peer = 4);
	EXPECT(-EINVAL, a.dtype = HCOMM_DT_COUNT);
	EXPECT(-EINVAL, a.redop = HCOMM_OP_COUNT);
	EXPECT(-EINVAL, a.chunk_size = 0);
	EXPECT(-EINVAL, a.channels = HCOMM_SCHED_MAX_CHANNELS + 1);
	EXPECT(-EINVAL, a.algo = HCOMM_ALGO_NONE);
	EXPECT(-EINVAL, a.algo = HCOMM_ALGO_COUNT);
	EXPECT(-EOPNOTSUPP, a.coll = HCOMM_COLL_BARRIER);
	EXPECT(-EOPNOTSUPP, a.coll = 4000);
	EXPECT(-EOVERFLOW, a.count = 1ull << 60);
	EXPECT(-EOVERFLOW, a.count = ~0ull);
	/* a block of more than HCOMM_MAX_STEP_LEN bytes */
	EXPECT(-E2BIG, a.count = 1ull << 41);
	EXPECT(-E2BIG, a.nranks = 65536; a.channels = 64; a.count = 1 << 30);
	EXPECT(-E2BIG, a.algo = HCOMM_ALGO_DIRECT; a.nranks = 65536);
#undef EXPECT
}

static void test_names(void)
{
	uint32_t i, bad = 0;

	for (i = 0; i < HCOMM_ALGO_COUNT; i++)
		bad += hcomm_algo_by_name(hcomm_algo_name(i)) != (int)i;
	bad += !!hcomm_algo_name(HCOMM_ALGO_COUNT);
	bad += hcomm_algo_by_name("no such") != -EINVAL;
	bad += !!hcomm_coll_name(HCOMM_COLL_GROUP + 1);
	for (i = 0; i < NCOMBOS; i++)
		bad += !hcomm_algo_supports(combos[i][1], combos[i][0]);
	bad += hcomm_algo_supports(HCOMM_ALGO_P2P, HCOMM_COLL_BARRIER);
	bad += hcomm_dtype_bytes(HCOMM_DT_COUNT) != 0;
	ok(!bad, "names and numbers");
}

static void test_size(void)
{
	struct hcomm_sched_args a = {
		.coll = HCOMM_COLL_ALLREDUCE, .algo = HCOMM_ALGO_RING, .nranks = 1024,
		.rank = 511, .count = 100000007, .dtype = HCOMM_DT_FP32,
		.chunk_size = 262144,
	};
	struct hcomm_plan *plan;
	double start, best = 1e9;
	uint32_t nsteps = 0, i;
	uint64_t extent, scratch;

	for (i = 0; i < 5; i++) {
		start = now();
		if (hcomm_sched_build(&a, &plan))
			break;
		if (now() - start < best)
			best = now() - start;
		hcomm_plan_steps(plan, &nsteps);
		hcomm_plan_free(plan);
	}
	ok(nsteps == 4 * 1023 && best < 0.05,
	   "ring of 1024 ranks: %u steps in %.3f ms, limit 50 ms", nsteps, best * 1e3);

	a.nranks = HCOMM_MAX_RANKS;
	ok(try_build(a) == 0, "ring of 65536 ranks");
	a.algo = HCOMM_ALGO_DOUBLE_TREE;
	ok(try_build(a) == 0, "double tree of 65536 ranks");
	a.algo = HCOMM_ALGO_RECURSIVE_DOUBLING;
	ok(try_build(a) == 0, "recursive doubling of 65536 ranks");
	a.algo = HCOMM_ALGO_BINOMIAL;
	a.rank = 0;
	ok(try_build(a) == 0, "root of a binomial tree of 65536 ranks");

	/* scratch is bounded, however large the data */
	a.coll = HCOMM_COLL_REDUCE_SCATTER;
	a.algo = HCOMM_ALGO_RING;
	a.nranks = 4;
	a.count = 1u << 30;
	scratch = ~0ull;
	if (!hcomm_sched_build(&a, &plan)) {
		bool written;

		scratch = hcomm_plan_scratch_size(plan);
		extent = hcomm_plan_slot_extent(plan, HCOMM_SLOT_SEND, &written);
		ok(extent == 4ull * (4ull << 30) && !written, "extent of the input");
		extent = hcomm_plan_slot_extent(plan, HCOMM_SLOT_RECV, &written);
		ok(extent == 4ull << 30 && written, "extent of the output");
		ok(hcomm_plan_nslots(plan) == 3, "scratch is slot 2");
		hcomm_plan_free(plan);
	}
	ok(scratch <= 16u << 20, "scratch of a 4 GiB ReduceScatter: %llu bytes",
	   (unsigned long long)scratch);
}

/* an argument limits the ranks, for runs under sanitizers */
int main(int argc, char **argv)
{
	uint32_t i;

	if (argc > 1)
		max_ranks = atoi(argv[1]);
	printf("TAP version 13\n");
	for (i = 0; i < NCOMBOS; i++)
		test_combo(combos[i][0], combos[i][1]);
	test_large();
	test_types();
	test_errors();
	test_names();
	test_size();
	printf("1..%d\n", tests);
	return failures ? 1 : 0;
}
