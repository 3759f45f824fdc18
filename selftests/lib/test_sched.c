// SPDX-License-Identifier: GPL-2.0-only
/*
 * Every builder, proven right by the checker: all rank counts from 1 to 64 and a
 * few odd ones beyond, roots, counts around the rank count, blocks of unequal
 * length, nodes of unequal size, fixed order, in and out of place, messages of
 * several chunks, the smallest staging pool.  And what the builders promise
 * beside: errors, sizes, time.
 */
#include <errno.h>
#include <stdarg.h>
#include <time.h>

#include "check_cases.h"

static int tests, failures;
#ifdef __SANITIZE_ADDRESS__
static uint32_t max_ranks = 32;	/* all is several times slower */
#else
static uint32_t max_ranks = 127;
#endif
static const char *only = "";

static void ok(bool good, const char *fmt, ...)
{
	char name[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(name, sizeof(name), fmt, ap);
	va_end(ap);
	printf("%sok %d - %s\n", good ? "" : "not ", ++tests, name);
	fflush(stdout);
	if (!good)
		failures++;
}

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return ts.tv_sec + ts.tv_nsec * 1e-9;
}

struct tally {
	uint32_t cases;
	uint32_t bad;
	uint64_t chunks;
};

/* how a communicator may be */
struct setting {
	uint32_t chunk;
	uint32_t eager;
	uint32_t window;
	uint32_t staging;
};

static void prove(const struct hcomm_sched_args *a, uint32_t shape,
		  const struct setting *s, struct tally *t)
{
	struct hcomm_check_opts o = {
		.chunk_size = s->chunk, .eager_size = s->eager,
		.window = s->window, .staging_slots = s->staging,
	};
	struct hcomm_check_result res;
	struct test_case c;
	int err;

	case_make(&c, a, shape);
	err = hcomm_check_sched_each(c.ranks, &o, &res);
	case_free(&c);
	t->cases++;
	t->chunks += res.chunks;
	if (!err)
		return;
	if (++t->bad <= 3)
		printf("# %s %s ranks %u root %u peer %u count %llu shape %u in-place %d "
		       "fixed %d radix %u chunk %u/%u eager %u channels %u window %u staging %u: "
		       "%d %s\n",
		       hcomm_algo_name(a->algo), hcomm_coll_name(a->coll), a->nranks,
		       a->root, a->peer, (unsigned long long)a->count, shape, a->in_place,
		       a->fixed_order, a->radix, a->chunk_size, s->chunk, s->eager,
		       a->channels, s->window, s->staging, err, res.text);
}

/* a count around the rank count; of blocks, which there are n of, a small one */
static uint64_t pick_count(const struct hcomm_sched_args *a, uint32_t i)
{
	uint32_t n = a->nranks;
	const uint64_t counts[] = { 2 * n + 1, 0, 1, n - 1, n + 1, 5 * n + 3, n, 257 };

	if ((case_blocks(a->coll) || a->algo == HCOMM_ALGO_DIRECT) && n > 12)
		return (i + n) % 5;
	if (n > 24 && (i % 8 == 5 || i % 8 == 7))
		return 3;
	return counts[i % 8];
}

/* one of the many combinations of what can be chosen freely */
static void prove_some(struct hcomm_sched_args *a, uint32_t i, struct tally *t)
{
	/* chunk sizes in bytes: one, two and five elements of fp32 */
	static const uint32_t chunks[] = { 4, 8, 20 };
	uint32_t n = a->nranks, shape = 0;
	struct hcomm_sched_topo *topo = NULL;
	struct setting s;

	a->count = pick_count(a, i);
	a->in_place = (i + n / 8) % 2;
	a->chunk_size = chunks[(i + n) % 3];
	a->channels = 1 + (i + n + a->root) % 3;
	a->redop = i % 4;
	a->radix = a->algo == HCOMM_ALGO_KNOMIAL ||
		   a->algo == HCOMM_ALGO_HIERARCHICAL ? 2 + (i + n) % 7 : 0;
	a->fixed_order = case_reduces(a->coll) && i % 4 < 2 &&
			 case_supported(a->coll, a->algo, false, true);
	if (i % 3 && case_supported(a->coll, a->algo, true, false))
		shape = CASE_VECTOR | (i % 2 ? CASE_PACKED : 0);
	if (a->algo == HCOMM_ALGO_HIERARCHICAL)
		topo = case_topo(n, (i + n) % CASE_TOPOS);
	a->topo = topo;
	s = (struct setting){
		.chunk = a->chunk_size, .window = 1 + (i + n) % 4,
		.staging = 1 + (n % 2) * 3,
	};
	prove(a, shape, &s, t);
	hcomm_sched_topo_free(topo);
	a->topo = NULL;
}

static void test_combo(uint32_t coll, uint32_t algo)
{
	static const uint32_t more[] = { 65, 100, 127 };
	struct tally t = { 0 };
	double start = now();
	uint32_t i, n, k, cases, root, step;

	for (i = 1; i <= 64 + 3 && (i <= max_ranks || max_ranks > 64); i++) {
		struct hcomm_sched_args a = {
			.coll = coll, .algo = algo, .dtype = HCOMM_DT_FP32,
		};

		n = i <= 64 ? i : more[i - 65];
		a.nranks = n;
		if (coll == HCOMM_COLL_P2P) {
			a.root = n / 3;
			a.peer = n - 1;
		}
		/* all roots of small groups, a few of large ones */
		step = case_rooted(coll) ? (n <= 9 ? 1 : n / 2) : n;
		cases = n <= 9 ? 16 : n <= 24 ? 8 : 4;
		if (coll == HCOMM_COLL_BARRIER && algo != HCOMM_ALGO_HIERARCHICAL)
			cases = 1;
		for (root = 0; root < n; root += step) {
			if (case_rooted(coll))
				a.root = root;
			for (k = 0; k < cases; k++)
				prove_some(&a, k * (k > 7 ? 3 : 1) + n / 4, &t);
		}
	}
	ok(!t.bad, "%s %s: %u cases, %llu chunks, %u wrong, %.1f s",
	   hcomm_algo_name(algo), hcomm_coll_name(coll), t.cases,
	   (unsigned long long)t.chunks, t.bad, now() - start);
}

/* nodes and groups of all kinds, whoever is the root: each rank has another place */
static void test_every_root(uint32_t coll)
{
	static const struct setting s = { 8, 0, 2, 1 };
	struct tally t = { 0 };
	double start = now();
	uint32_t n, root;

	for (n = 1; n <= 64 && n <= max_ranks; n++) {
		for (root = 0; root < n; root++) {
			struct hcomm_sched_topo *topo = case_topo(n, (n + root) % CASE_TOPOS);
			struct hcomm_sched_args a = {
				.coll = coll, .algo = HCOMM_ALGO_HIERARCHICAL, .nranks = n,
				.root = root, .count = 1 + root % 3, .dtype = HCOMM_DT_INT16,
				.chunk_size = 8, .in_place = root & 1,
				.radix = root % 5 ? 1 + root % 5 : HCOMM_SCHED_MAX_RADIX,
				.topo = topo,
			};

			prove(&a, 0, &s, &t);
			hcomm_sched_topo_free(topo);
		}
	}
	ok(!t.bad, "hierarchical %s, every root: %u cases, %llu chunks, %u wrong, %.1f s",
	   hcomm_coll_name(coll), t.cases, (unsigned long long)t.chunks, t.bad, now() - start);
}

/* flat trees: what leaves a node to another one is one message, whatever the root */
static void test_crossings(uint32_t coll)
{
	static const uint32_t node[13] = { 0, 0, 0, 1, 2, 2, 2, 2, 2, 3, 3, 4, 4 };
	static const uint32_t group[13] = { 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 2, 2 };
	struct hcomm_sched_args a = {
		.coll = coll, .algo = HCOMM_ALGO_HIERARCHICAL, .nranks = 13, .count = 3,
		.dtype = HCOMM_DT_FP32, .chunk_size = 4096, .radix = HCOMM_SCHED_MAX_RADIX,
	};
	uint32_t bad = 0, nsteps, nodes, groups, i;
	const struct hcomm_step *steps;
	struct hcomm_plan *plan;

	if (hcomm_sched_topo_create(13, node, group, (struct hcomm_sched_topo **)&a.topo))
		abort();
	for (a.root = 0; a.root < 13; a.root++) {
		nodes = 0;
		groups = 0;
		for (a.rank = 0; a.rank < 13; a.rank++) {
			if (hcomm_sched_build(&a, &plan))
				abort();
			steps = hcomm_plan_steps(plan, &nsteps);
			for (i = 0; i < nsteps; i++) {
				if (steps[i].op != HCOMM_STEP_SEND)
					continue;
				nodes += node[steps[i].peer] != node[a.rank];
				groups += group[steps[i].peer] != group[a.rank];
			}
			hcomm_plan_free(plan);
		}
		bad += nodes != 4 || groups != 2;
	}
	hcomm_sched_topo_free((struct hcomm_sched_topo *)a.topo);
	ok(!bad, "hierarchical %s: a message a node, and a group", hcomm_coll_name(coll));
}

/* few ranks, much data: sections, slices of several chunks, reuse of scratch */
static void large_combo(uint32_t coll, uint32_t algo, struct tally *t)
{
	static const uint32_t ranks[] = { 2, 3, 4, 5, 8, 13 };
	static const struct setting settings[] = {
		{ 8, 0, 4, 4 }, { 64, 32, 2, 1 },
	};
	uint32_t i, p;

	for (i = 0; i < sizeof(ranks) / sizeof(ranks[0]); i++) {
		for (p = 0; p < 4; p++) {
			struct hcomm_sched_args a = {
				.coll = coll, .algo = algo, .nranks = ranks[i],
				.peer = 1, .root = case_rooted(coll) ? ranks[i] - 1 : 0,
				.count = case_blocks(coll) ? 301 : 1009 + i,
				.dtype = HCOMM_DT_FP16, .in_place = p % 2,
				.chunk_size = 8, .channels = 1 + p % 2,
				.fixed_order = case_reduces(coll) && p % 2 == i % 2 &&
					       case_supported(coll, algo, false, true),
			};
			struct hcomm_sched_topo *topo = case_topo(ranks[i], 2 + p);

			/* others may look at it, too, or do without */
			if (algo == HCOMM_ALGO_HIERARCHICAL || i % 2)
				a.topo = topo;
			prove(&a, p > 1 && case_supported(coll, algo, true, false) ?
			      CASE_VECTOR : 0, &settings[p / 2], t);
			hcomm_sched_topo_free(topo);
		}
	}
}

static void test_large(void)
{
	struct tally t = { 0 };
	double start = now();
	uint32_t coll, algo;

	for (coll = 0; coll <= HCOMM_COLL_EXSCAN; coll++) {
		for (algo = 0; algo < HCOMM_ALGO_COUNT; algo++) {
			if (hcomm_algo_supports(algo, coll) &&
			    strstr(hcomm_algo_name(algo), only))
				large_combo(coll, algo, &t);
		}
	}
	ok(!t.bad, "many chunks: %u cases, %llu chunks, %u wrong, %.1f s", t.cases,
	   (unsigned long long)t.chunks, t.bad, now() - start);
}

/* many ranks, where steps are few; a sample of all ranks' roots and sizes */
static void test_many_ranks(void)
{
	static const uint32_t algos[][2] = {
		{ HCOMM_COLL_BARRIER, HCOMM_ALGO_DISSEMINATION },
		{ HCOMM_COLL_ALLREDUCE, HCOMM_ALGO_RECURSIVE_DOUBLING },
		{ HCOMM_COLL_ALLREDUCE, HCOMM_ALGO_BINOMIAL },
		{ HCOMM_COLL_ALLREDUCE, HCOMM_ALGO_DOUBLE_TREE },
		{ HCOMM_COLL_ALLREDUCE, HCOMM_ALGO_HALVING_DOUBLING },
		{ HCOMM_COLL_BROADCAST, HCOMM_ALGO_KNOMIAL },
		{ HCOMM_COLL_REDUCE, HCOMM_ALGO_DOUBLE_TREE },
		{ HCOMM_COLL_BROADCAST, HCOMM_ALGO_HIERARCHICAL },
		{ HCOMM_COLL_REDUCE, HCOMM_ALGO_HIERARCHICAL },
		{ HCOMM_COLL_BARRIER, HCOMM_ALGO_HIERARCHICAL },
		{ HCOMM_COLL_ALLREDUCE, HCOMM_ALGO_HIERARCHICAL },
		{ HCOMM_COLL_GATHER, HCOMM_ALGO_HIERARCHICAL },
		{ HCOMM_COLL_SCATTER, HCOMM_ALGO_HIERARCHICAL },
		{ HCOMM_COLL_SCAN, HCOMM_ALGO_RECURSIVE_DOUBLING },
		{ HCOMM_COLL_BROADCAST, HCOMM_ALGO_STAR },
		{ HCOMM_COLL_ALLREDUCE, HCOMM_ALGO_PIPELINE },
	};
	struct tally t = { 0 };
	double start = now();
	uint32_t i;

	for (i = 0; i < sizeof(algos) / sizeof(algos[0]); i++) {
		uint32_t n = i ? 500 + case_rnd(3597) : 4096;
		struct hcomm_sched_args a = {
			.coll = algos[i][0], .algo = algos[i][1], .nranks = n,
			.root = case_rooted(algos[i][0]) ? case_rnd(n) : 0,
			.count = 5, .dtype = HCOMM_DT_INT32, .chunk_size = 8,
		};
		struct hcomm_sched_topo *topo = case_topo(n, 2 + case_rnd(CASE_TOPOS - 2));
		const struct setting s = { 8, 8, 4, 4 };

		if (a.algo == HCOMM_ALGO_HIERARCHICAL)
			a.topo = topo;
		if (hcomm_algo_supports(a.algo, a.coll) &&
		    strstr(hcomm_algo_name(a.algo), only))
			prove(&a, 0, &s, &t);
		hcomm_sched_topo_free(topo);
	}
	ok(!t.bad, "up to 4096 ranks: %u cases, %llu chunks, %u wrong, %.1f s", t.cases,
	   (unsigned long long)t.chunks, t.bad, now() - start);
}

/* the n-th operation that a call may ask for */
static uint32_t call_op(uint32_t n)
{
	static const uint32_t more[] = { HCOMM_OP_AVG, HCOMM_OP_PREMUL_SUM };

	return n < HCOMM_OP_COUNT ? n : more[n - HCOMM_OP_COUNT];
}

static void test_types(void)
{
	const struct setting s = { 16, 0, 2, 1 };
	struct tally t = { 0 };
	uint32_t d, op, coll, algo;

	for (coll = 0; coll <= HCOMM_COLL_EXSCAN; coll++) {
		for (algo = 0; algo < HCOMM_ALGO_COUNT; algo++) {
			for (d = 0; d < HCOMM_DT_COUNT * (HCOMM_OP_COUNT + 2); d++) {
				struct hcomm_sched_args a = {
					.coll = coll, .algo = algo, .nranks = 5,
					.count = 17, .dtype = d % HCOMM_DT_COUNT,
					.chunk_size = 16, .peer = 3,
				};

				op = call_op(d / HCOMM_DT_COUNT);
				a.redop = op;
				a.operand = 2;
				a.in_place = d % 2;
				/* bits and truth values are of integers */
				if (!hcomm_algo_supports(algo, coll) ||
				    !strstr(hcomm_algo_name(algo), only) ||
				    (op && !case_reduces(coll)) ||
				    (op == HCOMM_OP_AVG &&
				     (coll == HCOMM_COLL_SCAN || coll == HCOMM_COLL_EXSCAN)) ||
				    (op < HCOMM_OP_COUNT && !HCOMM_OP_FITS(op, a.dtype)))
					continue;
				prove(&a, 0, &s, &t);
			}
		}
	}
	ok(!t.bad, "all types and operations: %u cases, %u wrong", t.cases, t.bad);
}

/* every collective in every form, for any number of ranks */
static void test_complete(void)
{
	uint32_t coll, algo, plain = 0, fixed, vector, missing = 0;

	for (coll = HCOMM_COLL_P2P; coll <= HCOMM_COLL_EXSCAN; coll++) {
		plain = fixed = vector = 0;
		for (algo = 0; algo < HCOMM_ALGO_COUNT; algo++) {
			plain += case_supported(coll, algo, false, false);
			fixed += case_supported(coll, algo, false, true);
			vector += case_supported(coll, algo, true, false);
		}
		missing += !plain || !fixed || (case_reduces(coll) && fixed < 2) ||
			   (case_blocks(coll) && !vector);
	}
	ok(!missing, "every collective has algorithms, with V form and fixed order");
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
	EXPECT(-EINVAL, a.radix = 1);
	EXPECT(-EINVAL, a.radix = HCOMM_SCHED_MAX_RADIX + 1);
	EXPECT(-EINVAL, a.vector = true);
	EXPECT(-EOPNOTSUPP, a.fixed_order = true);
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

static void test_vector_errors(void)
{
	const uint64_t counts[4] = { 1, 2, 3, 4 }, displs[4] = { 9, 6, 3, 0 };
	const uint64_t huge[4] = { 1, 1ull << 60, 1, 1 };
	const uint64_t wraps[4] = { 0, ~0ull, 0, 0 };
	const struct hcomm_sched_args good = {
		.coll = HCOMM_COLL_ALLGATHER, .algo = HCOMM_ALGO_RING, .rank = 1,
		.nranks = 4, .counts = counts, .displs = displs,
		.dtype = HCOMM_DT_FP32, .chunk_size = 4096,
	};
	struct hcomm_sched_args a;

#define EXPECT(want, ...) do {						\
	a = good;							\
	__VA_ARGS__;							\
	ok(try_build(a) == (want) && hcomm_sched_check(&a) == (want),	\
	   "V form: %s gives %s", #__VA_ARGS__, #want);			\
} while (0)
	EXPECT(0, (void)a);
	EXPECT(0, a.displs = NULL);
	EXPECT(-EINVAL, a.coll = HCOMM_COLL_ALLREDUCE);
	EXPECT(-EINVAL, a.coll = HCOMM_COLL_REDUCE_SCATTER);
	EXPECT(0, a.coll = HCOMM_COLL_REDUCE_SCATTER; a.displs = NULL);
	EXPECT(-EINVAL, a.coll = HCOMM_COLL_ALLTOALL; a.algo = HCOMM_ALGO_DIRECT);
	EXPECT(0, a.coll = HCOMM_COLL_ALLTOALL; a.algo = HCOMM_ALGO_DIRECT;
	       a.rcounts = counts);
	EXPECT(0, a.coll = HCOMM_COLL_ALLTOALL; a.algo = HCOMM_ALGO_DIRECT;
	       a.counts = NULL; a.vector = true; a.in_place = true; a.rcounts = counts);
	EXPECT(-EINVAL, a.coll = HCOMM_COLL_GATHER; a.algo = HCOMM_ALGO_STAR;
	       a.counts = NULL; a.vector = true; a.root = 1);
	EXPECT(0, a.coll = HCOMM_COLL_GATHER; a.algo = HCOMM_ALGO_STAR;
	       a.counts = NULL; a.vector = true; a.count = 2);
	EXPECT(-EOPNOTSUPP, a.algo = HCOMM_ALGO_RECURSIVE_DOUBLING);
	EXPECT(-EOVERFLOW, a.counts = huge);
	EXPECT(-EOVERFLOW, a.displs = wraps);
	EXPECT(-EOVERFLOW, a.displs = huge);
#undef EXPECT
	a = good;
	ok(hcomm_sched_buffer_size(&a, HCOMM_SLOT_RECV) == 40 &&
	   hcomm_sched_buffer_size(&a, HCOMM_SLOT_SEND) == 8,
	   "V form: buffers are as large as their last blocks need");
}

static void test_topo(void)
{
	static const uint32_t node[6] = { 70, 5, 70, 9, 5, 5 };
	static const uint32_t group[6] = { 1, 8, 1, 1, 8, 8 };
	static const uint32_t torn[6] = { 1, 8, 1, 1, 7, 8 };
	struct hcomm_sched_args a = {
		.coll = HCOMM_COLL_BARRIER, .algo = HCOMM_ALGO_HIERARCHICAL,
		.nranks = 5, .chunk_size = 4096,
	};
	struct hcomm_sched_topo *topo = NULL, *no = NULL;

	ok(!hcomm_sched_topo_create(6, node, group, &topo) &&
	   hcomm_sched_topo_nodes(topo) == 3 && hcomm_sched_topo_groups(topo) == 2,
	   "three nodes in two groups");
	a.topo = topo;
	ok(try_build(a) == -EINVAL, "a topology of another number of ranks");
	hcomm_sched_topo_free(topo);
	ok(!hcomm_sched_topo_create(6, node, NULL, &topo) &&
	   hcomm_sched_topo_groups(topo) == 1, "without groups there is one");
	hcomm_sched_topo_free(topo);
	ok(hcomm_sched_topo_create(6, node, torn, &no) == -EINVAL, "a node in two groups");
	ok(hcomm_sched_topo_create(0, node, NULL, &no) == -EINVAL &&
	   hcomm_sched_topo_create(HCOMM_MAX_RANKS + 1, node, NULL, &no) == -EINVAL &&
	   hcomm_sched_topo_create(6, NULL, NULL, &no) == -EINVAL && !no,
	   "topologies out of range");
	hcomm_sched_topo_free(NULL);
}

/* time and memory of a plan are those of its own steps, at any number of ranks */
static void test_growth(void)
{
	struct hcomm_sched_topo *topo = case_topo(HCOMM_MAX_RANKS, 2);
	uint32_t coll, algo, nsteps, ndeps, k, built = 0, slow = 0;
	struct hcomm_plan *plan;
	double start, best, limit;

	for (coll = 0; coll <= HCOMM_COLL_EXSCAN; coll++) {
		for (algo = 0; algo < HCOMM_ALGO_COUNT; algo++) {
			struct hcomm_sched_args a = {
				.coll = coll, .algo = algo, .nranks = HCOMM_MAX_RANKS,
				.rank = 12345, .root = 7, .peer = 12345, .count = 70000,
				.dtype = HCOMM_DT_FP32, .chunk_size = 4096, .topo = topo,
			};

			if (!hcomm_algo_supports(algo, coll))
				continue;
			if (!case_rooted(coll) && coll != HCOMM_COLL_P2P)
				a.root = 0;
			best = 1e9;
			for (k = 0; k < 3; k++) {
				start = now();
				/* everybody with everybody: more peers than there may be */
				if (hcomm_sched_build(&a, &plan))
					break;
				if (now() - start < best)
					best = now() - start;
				hcomm_plan_steps(plan, &nsteps);
				hcomm_plan_deps(plan, &ndeps);
				hcomm_plan_free(plan);
			}
			if (k < 3)
				continue;
			built++;
			limit = 200e-6 + 4e-6 * (nsteps + ndeps);
			if (best <= limit)
				continue;
			slow++;
			printf("# %s %s: %u steps in %.3f ms\n", hcomm_algo_name(algo),
			       hcomm_coll_name(coll), nsteps, best * 1e3);
		}
	}
	hcomm_sched_topo_free(topo);
	ok(!slow && built > 30, "%u plans of 65536 ranks take the time of their steps", built);
}

static void test_names(void)
{
	uint32_t i, bad = 0;

	for (i = 0; i < HCOMM_ALGO_COUNT; i++)
		bad += hcomm_algo_by_name(hcomm_algo_name(i)) != (int)i;
	bad += !!hcomm_algo_name(HCOMM_ALGO_COUNT);
	bad += hcomm_algo_by_name("no such") != -EINVAL;
	bad += !!hcomm_coll_name(HCOMM_COLL_GROUP + 1);
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
	a.algo = HCOMM_ALGO_NONUNIFORM_RING;
	scratch = ~0ull;
	if (!hcomm_sched_build(&a, &plan)) {
		scratch = hcomm_plan_scratch_size(plan);
		hcomm_plan_free(plan);
	}
	ok(scratch <= 16u << 20, "and by rings of growing stride: %llu bytes",
	   (unsigned long long)scratch);
}

/* arguments: the most ranks; part of an algorithm's name */
int main(int argc, char **argv)
{
	uint32_t coll, algo;

	if (argc > 1)
		max_ranks = atoi(argv[1]);
	if (argc > 2)
		only = argv[2];
	printf("TAP version 13\n");
	for (coll = 0; coll <= HCOMM_COLL_EXSCAN; coll++) {
		for (algo = 0; algo < HCOMM_ALGO_COUNT; algo++) {
			if (hcomm_algo_supports(algo, coll) &&
			    strstr(hcomm_algo_name(algo), only))
				test_combo(coll, algo);
		}
	}
	for (coll = HCOMM_COLL_GATHER; coll <= HCOMM_COLL_SCATTER; coll++) {
		if (strstr(hcomm_algo_name(HCOMM_ALGO_HIERARCHICAL), only))
			test_every_root(coll);
		test_crossings(coll);
	}
	test_large();
	test_many_ranks();
	test_types();
	test_complete();
	test_errors();
	test_vector_errors();
	test_topo();
	test_growth();
	test_names();
	test_size();
	printf("1..%d\n", tests);
	return failures ? 1 : 0;
}
