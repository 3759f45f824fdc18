// SPDX-License-Identifier: GPL-2.0-only
/*
 * The checker, shown to find what is wrong.  Right programs are damaged in many
 * ways.  Damage of a kind that always breaks them must be found; for the rest
 * there is a second opinion that shares nothing with the checker: an executor
 * that moves real numbers in random order.  What the checker calls right must
 * give the right numbers there, whatever the order.  Small programs written by
 * hand cover each verdict, its rank, step and byte.
 */
#include <errno.h>
#include <stdarg.h>

#include "check_damage.h"

static int tests, failures;

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

static const struct damage {
	const char *name;
	enum effect (*make)(struct set *set);
} damages[] = {
	{ "drop a step", drop_step },
	{ "drop a message at both ends", drop_message },
	{ "drop a dependency", drop_dep },
	{ "swap offsets", swap_offsets },
	{ "shift an offset", shift_offset },
	{ "change type or operation", change_op },
	{ "lose a rank's own contribution", lose_own },
	{ "repeat a contribution", repeat_contribution },
	{ "shrink scratch", shrink_scratch },
	{ "swap messages", swap_messages },
	{ "send to a wrong peer", wrong_peer },
};

#define NDAMAGES	(sizeof(damages) / sizeof(damages[0]))

struct score {
	uint32_t done;
	uint32_t sure;
	uint32_t found;
	uint32_t harmless;
	uint32_t missed;
};

static void report_miss(const struct set *set, const char *what)
{
	printf("# %s %s ranks %u root %u count %llu in-place %d chunk %u: %s\n",
	       hcomm_algo_name(set->args.algo), hcomm_coll_name(set->args.coll),
	       set->args.nranks, set->args.root, (unsigned long long)set->args.count,
	       set->args.in_place, set->args.chunk_size, what);
}

static void damage_one(const struct set *good, const struct damage *d,
		       struct score *score, uint32_t times)
{
	struct hcomm_check_result res;
	enum effect e;
	struct set bad;

	set_copy(&bad, good);
	e = d->make(&bad);
	if (e != NOTHING) {
		score->done++;
		score->sure += e == SURELY;
		if (set_check(&bad, &res)) {
			score->found++;
			if (!res.kind || !res.text[0]) {
				score->missed++;
				report_miss(good, "refused without a reason");
			}
		} else if (e == SURELY || !exec_often(&bad, times)) {
			score->missed++;
			report_miss(good, d->name);
		} else {
			score->harmless++;
		}
	}
	set_free(&bad);
}

static void random_set_of(struct set *set, uint32_t coll, uint32_t algo, bool fixed)
{
	uint32_t n = 2 + rnd(7), shape = 0;

	memset(set, 0, sizeof(*set));
	set->topo = case_topo(n, rnd(CASE_TOPOS));
	set->args = (struct hcomm_sched_args){
		.coll = coll, .algo = algo, .nranks = n,
		.dtype = HCOMM_DT_UINT32, .redop = exec_fp32 ? HCOMM_OP_SUM : rnd(2),
		.in_place = rnd(2),
		.chunk_size = 4 << rnd(3), .channels = 1 + rnd(2), .radix = 2 + rnd(4),
		.count = case_blocks(coll) ? 1 + rnd(9) : 1 + rnd(3 * n + 4),
		.topo = rnd(4) ? set->topo : NULL,
		.fixed_order = fixed,
	};
	if (case_rooted(coll) || coll == HCOMM_COLL_P2P)
		set->args.root = rnd(n);
	if (coll == HCOMM_COLL_P2P)
		set->args.peer = (set->args.root + 1 + rnd(n - 1)) % n;
	if (case_supported(coll, algo, true, false) && rnd(2))
		shape = CASE_VECTOR | (rnd(2) ? CASE_PACKED : 0);
	case_make(&set->of, &set->args, shape);
	set->opts = (struct hcomm_check_opts){
		.chunk_size = set->args.chunk_size, .window = 1 + rnd(4),
		.staging_slots = 1 + rnd(4),
	};
	set_build(set);
}

static void random_set(struct set *set, uint32_t coll, uint32_t algo)
{
	bool may = case_reduces(coll) && case_supported(coll, algo, false, true);

	random_set_of(set, coll, algo, may && rnd(2));
}

struct damage_run {
	struct score score[NDAMAGES];
	uint32_t runs;
	uint32_t wrong;
};

static void damage_builder(uint32_t coll, uint32_t algo, struct damage_run *run)
{
	uint32_t before = run->wrong, d;
	struct hcomm_check_result res;
	struct set set;

	random_set(&set, coll, algo);
	run->runs++;
	if (set_check(&set, &res) || !exec_often(&set, 3)) {
		run->wrong++;
		report_miss(&set, res.text);
	}
	for (d = 0; d < NDAMAGES && before == run->wrong; d++)
		damage_one(&set, &damages[d], &run->score[d], 6);
	set_end(&set);
}

/* every builder in turn, and of each all kinds of damage */
static void test_damage(uint32_t rounds)
{
	struct damage_run run = { 0 };
	const struct score *s;
	uint32_t i, coll, algo, d;

	for (i = 0; i < rounds; i++) {
		for (coll = 0; coll <= HCOMM_COLL_EXSCAN; coll++) {
			for (algo = 0; algo < HCOMM_ALGO_COUNT; algo++) {
				if (hcomm_algo_supports(algo, coll))
					damage_builder(coll, algo, &run);
			}
		}
	}
	ok(!run.wrong, "%u undamaged sets are right, to checker and executor", run.runs);
	for (d = 0; d < NDAMAGES; d++) {
		s = &run.score[d];
		ok(!s->missed && s->found && s->done > rounds,
		   "%s: %u times (%u surely fatal), %u found, %u harmless, %u missed",
		   damages[d].name, s->done, s->sure, s->found, s->harmless, s->missed);
	}
}

/* ----------------------------------------------------------- programs by hand */

#define SEND(p, m, slot, off, n, ...) \
	{ .op = HCOMM_STEP_SEND, .peer = p, .msg = m, .src_slot = slot, \
	  .src_off = off, .len = n, __VA_ARGS__ }
#define RECV(p, m, slot, off, n, ...) \
	{ .op = HCOMM_STEP_RECV, .peer = p, .msg = m, .dst_slot = slot, \
	  .dst_off = off, .len = n, __VA_ARGS__ }
/* in the output, with the input */
#define RECV_REDUCE(p, m, from, n, ...) \
	{ .op = HCOMM_STEP_RECV_REDUCE, .dtype = HCOMM_DT_UINT32, .peer = p, \
	  .msg = m, .src_slot = from, .dst_slot = 1, .len = n, __VA_ARGS__ }
#define COPY(n, ...) \
	{ .op = HCOMM_STEP_COPY, .dst_slot = 1, .len = n, __VA_ARGS__ }
#define DEPS(first, n)	.dep_first = first, .dep_count = n
#define STREAM		HCOMM_DEP_STREAM
#define LEN(a)		(sizeof(a) / sizeof((a)[0]))
#define PROG(set, r, steps, deps) \
	set_prog(set, r, steps, LEN(steps), deps, LEN(deps), 0)

static void hand_set(struct set *set, uint32_t coll, uint32_t n, uint64_t count,
		     bool in_place)
{
	memset(set, 0, sizeof(*set));
	set->args = (struct hcomm_sched_args){
		.coll = coll, .nranks = n, .count = count, .in_place = in_place,
		.dtype = HCOMM_DT_UINT32, .peer = 1,
	};
	set->opts = (struct hcomm_check_opts){
		.chunk_size = 8, .window = 4, .staging_slots = 4,
	};
}

static void verdict(struct set *set, enum hcomm_check_kind kind, int64_t rank,
		    int64_t step, int64_t byte, const char *name)
{
	struct hcomm_check_result res;
	int err = set_check(set, &res);

	ok(err == (kind ? -EPROTO : 0) && res.kind == kind &&
	   (rank < 0 || res.rank == rank) && (step < 0 || res.step == step) &&
	   (byte < 0 || res.byte == (uint64_t)byte),
	   "%s: %s", name, kind ? res.text : "right");
	if (kind && res.kind != kind)
		printf("# verdict %u instead of %u\n", res.kind, kind);
}

/* two ranks exchange and reduce in place, each after its SEND */
static void test_hand_deadlock(void)
{
	static const uint32_t after[] = { 0 }, stream[] = { STREAM | 0 };
	const struct hcomm_step a[] = {
		SEND(1, 0, 1, 0, 16), RECV_REDUCE(1, 0, 1, 16, DEPS(0, 1)),
	}, b[] = {
		SEND(0, 0, 1, 0, 16), RECV_REDUCE(0, 0, 1, 16, DEPS(0, 1)),
	};
	struct set set;

	hand_set(&set, HCOMM_COLL_ALLREDUCE, 2, 4, true);
	PROG(&set, 0, a, after);
	PROG(&set, 1, b, after);
	verdict(&set, HCOMM_CHECK_DEADLOCK, 0, 0, -1,
		"both wait for their SEND before they accept");
	/* an eager SEND is complete without the peer, but credits may be short */
	set.opts.eager_size = 16;
	verdict(&set, HCOMM_CHECK_DEADLOCK, 0, 0, -1, "eager makes it no better");
	set.opts.eager_size = 0;
	set_free(&set);

	PROG(&set, 0, a, stream);
	PROG(&set, 1, b, stream);
	verdict(&set, HCOMM_CHECK_DEADLOCK, 0, 0, -1, "chunk by chunk neither");
	set.steps[1][1].dep_count = 0;
	set.prog[1].ndeps = 0;
	verdict(&set, HCOMM_CHECK_RACE, 1, 1, 0, "without the dependency it is a race");
	set_free(&set);
}

/* a message that comes first is accepted last, behind one that needs it */
static void test_hand_order(void)
{
	static const uint32_t d0[] = { 1 }, d1[] = { 0 };
	const struct hcomm_step a[] = {
		SEND(1, 0, 0, 0, 8), RECV(1, 0, 1, 0, 8),
		SEND(1, 1, 0, 8, 8, DEPS(0, 1)), RECV(1, 1, 1, 8, 8, DEPS(1, 0)),
	}, b[] = {
		RECV(0, 0, 1, 0, 8), RECV(0, 1, 1, 8, 8),
		SEND(0, 0, 0, 0, 8), SEND(0, 1, 0, 8, 8, DEPS(0, 1)),
	};
	struct set set;

	/* only that it ends: no collective has these values */
	hand_set(&set, HCOMM_COLL_ALLREDUCE, 2, 4, false);
	PROG(&set, 0, a, d0);
	PROG(&set, 1, b, d1);
	verdict(&set, HCOMM_CHECK_VALUE, 0, -1, 0, "no deadlock in a ping-pong");
	/* the answer waits for the second message, which waits for the answer */
	set.steps[1][3].dep_count = 0;
	set.steps[1][2].dep_count = 1;
	set.steps[1][3].dep_first = 1;
	set.deps[1][0] = 1;
	verdict(&set, HCOMM_CHECK_DEADLOCK, -1, -1, -1,
		"an answer that waits for a later message");
	set_free(&set);
}

/* of two RECV_REDUCEs, the first gets its message only after the second */
static void test_hand_staging(void)
{
	static const uint32_t d0[] = { 0 }, d2[] = { 1 }, none[] = { 0 };
	const struct hcomm_step r0[] = {
		RECV(2, 0, 1, 0, 8), SEND(2, 0, 0, 0, 8, DEPS(0, 1)),
	}, r1[] = {
		SEND(2, 0, 0, 0, 8),
	}, r2[] = {
		RECV_REDUCE(0, 0, 0, 8),
		{ .op = HCOMM_STEP_RECV_REDUCE, .dtype = HCOMM_DT_UINT32, .peer = 1,
		  .src_off = 8, .dst_slot = 1, .dst_off = 8, .len = 8 },
		SEND(0, 0, 1, 8, 8, DEPS(0, 1)),
	};
	struct set set;

	hand_set(&set, HCOMM_COLL_ALLREDUCE, 3, 4, false);
	PROG(&set, 0, r0, d0);
	set_prog(&set, 1, r1, LEN(r1), none, 0, 0);
	PROG(&set, 2, r2, d2);
	set.opts.staging_slots = 1;
	verdict(&set, HCOMM_CHECK_DEADLOCK, -1, -1, -1, "one staging chunk is too few");
	set.opts.staging_slots = 2;
	verdict(&set, HCOMM_CHECK_VALUE, -1, -1, -1, "two are enough to go on");
	set_free(&set);
}

/* two writers on one rank, ordered only through the other rank */
static void test_hand_cross(void)
{
	static const uint32_t d0[] = { 0, 2 }, d1[] = { 0 };
	const struct hcomm_step a[] = {
		COPY(8), SEND(1, 0, 0, 0, 8, DEPS(0, 1)),
		{ .op = HCOMM_STEP_RECV, .peer = 1, .dst_slot = 1, .dst_off = 8,
		  .len = 8, DEPS(1, 0) },
		COPY(8, DEPS(1, 1)),
	}, b[] = {
		RECV(0, 0, 1, 0, 8), SEND(0, 0, 1, 0, 8, DEPS(0, 1)),
	};
	struct set set;

	hand_set(&set, HCOMM_COLL_ALLREDUCE, 2, 4, false);
	PROG(&set, 0, a, d0);
	PROG(&set, 1, b, d1);
	verdict(&set, HCOMM_CHECK_VALUE, -1, -1, -1, "an order through another rank");
	/* the answer no longer waits for the question */
	set.steps[1][1] = (struct hcomm_step)SEND(0, 0, 0, 0, 8);
	set.steps[1][1].dep_first = 0;
	set.prog[1].ndeps = 0;
	verdict(&set, HCOMM_CHECK_RACE, 0, 3, 0, "that is gone when it does not wait");
	set_free(&set);
}

static void test_hand_values(void)
{
	static const uint32_t d[] = { 0, 1 }, none[] = { 0 };
	const struct hcomm_step send[] = { SEND(1, 0, 0, 0, 16) };
	const struct hcomm_step recv[] = { RECV(0, 0, 1, 0, 16) };
	struct hcomm_step all[3][4];
	struct set set;
	uint32_t r, k;

	hand_set(&set, HCOMM_COLL_P2P, 2, 4, false);
	set_prog(&set, 0, send, 1, none, 0, 0);
	set_prog(&set, 1, recv, 1, none, 0, 0);
	verdict(&set, HCOMM_CHECK_OK, -1, -1, -1, "a message");
	set.steps[1][0].dst_off = 4;
	verdict(&set, HCOMM_CHECK_RULE, 1, 0, 16, "beyond the buffer");
	set.steps[1][0].dst_off = 0;
	set.steps[1][0].len = 12;
	verdict(&set, HCOMM_CHECK_MATCH, 1, 0, -1, "unequal lengths");
	set.steps[0][0].len = 12;
	verdict(&set, HCOMM_CHECK_VALUE, 1, -1, 12, "the last element is missing");
	set.steps[0][0].src_off = 4;
	verdict(&set, HCOMM_CHECK_VALUE, 1, -1, 0, "elements from elsewhere");
	set.steps[1][0].msg = 1;
	verdict(&set, HCOMM_CHECK_RULE, 1, 0, -1, "a gap in message numbers");
	set.steps[1][0].msg = 0;
	set.steps[0][0].flags = 1;
	verdict(&set, HCOMM_CHECK_RULE, 0, 0, -1, "a reserved flag");
	set_free(&set);

	/* sums in each rank's own order: right values, different bits */
	hand_set(&set, HCOMM_COLL_ALLREDUCE, 3, 1, false);
	memset(all, 0, sizeof(all));
	for (r = 0; r < 3; r++) {
		for (k = 0; k < 2; k++) {
			uint32_t peer = (r + 1 + k) % 3;

			all[r][k] = (struct hcomm_step)SEND(peer, 0, 0, 0, 4);
			all[r][2 + k] = (struct hcomm_step)RECV_REDUCE(peer, 0, k, 4);
			all[r][2 + k].dep_count = k;
		}
		/* RECV_REDUCE 3 after 2 */
		set_prog(&set, r, all[r], 4, (const uint32_t[]){ 2 }, 1, 0);
	}
	verdict(&set, HCOMM_CHECK_ORDER, 1, -1, 0, "every rank sums in its own order");
	/* rank 0 sums b + c first; let it overwrite its input instead */
	set.steps[0][2].dst_slot = 0;
	verdict(&set, HCOMM_CHECK_INPUT, 0, 2, -1, "a written input");
	set_free(&set);

	hand_set(&set, HCOMM_COLL_BROADCAST, 2, 4, true);
	set_prog(&set, 0, (const struct hcomm_step[]){ RECV(1, 0, 1, 0, 16) }, 1,
		 none, 0, 0);
	set_prog(&set, 1, (const struct hcomm_step[]){ SEND(0, 0, 1, 0, 16) }, 1,
		 none, 0, 0);
	verdict(&set, HCOMM_CHECK_UNINIT, 1, 0, 0, "a broadcast the wrong way round");
	set_free(&set);

	hand_set(&set, HCOMM_COLL_BARRIER, 2, 0, false);
	set_prog(&set, 0, (const struct hcomm_step[]){ SEND(1, 0, 0, 0, 0) }, 1,
		 none, 0, 0);
	set_prog(&set, 1, (const struct hcomm_step[]){ RECV(0, 0, 0, 0, 0) }, 1,
		 none, 0, 0);
	verdict(&set, HCOMM_CHECK_SYNC, 0, -1, -1, "a barrier in one direction");
	set_free(&set);

	/* dependencies: forward, and a streaming one behind a plain one */
	hand_set(&set, HCOMM_COLL_P2P, 1, 4, false);
	set.args.peer = 0;
	set_prog(&set, 0, (const struct hcomm_step[]){
		COPY(16), { .op = HCOMM_STEP_NOP },
		{ .op = HCOMM_STEP_NOP, DEPS(0, 2) } }, 3, d, 2, 0);
	verdict(&set, HCOMM_CHECK_OK, -1, -1, -1, "a copy to oneself");
	set.deps[0][1] = 1 | STREAM;
	verdict(&set, HCOMM_CHECK_RULE, 0, 2, -1, "stream behind plain");
	set.deps[0][0] = 0 | STREAM;
	set.deps[0][1] = 1;
	verdict(&set, HCOMM_CHECK_RULE, 0, 2, -1, "stream between unequal steps");
	set.deps[0][0] = 2;
	verdict(&set, HCOMM_CHECK_RULE, 0, 2, -1, "a dependency on itself");
	set_free(&set);
}

/* a builder's programs, held against other promises than it made */
static void other_promise(uint32_t coll, uint32_t algo, uint32_t as, bool fixed,
			  enum hcomm_check_kind kind, const char *name)
{
	struct set set;
	uint32_t r;

	hand_set(&set, coll, 5, 7, false);
	set.args.peer = 0;
	set.args.algo = algo;
	case_make(&set.of, &set.args, 0);
	for (r = 0; r < 5; r++)
		set.of.ranks[r].chunk_size = 8;
	set_build(&set);
	for (r = 0; r < 5; r++) {
		set.of.ranks[r].coll = as;
		set.of.ranks[r].fixed_order = fixed;
	}
	set.args.coll = as;
	verdict(&set, kind, -1, -1, -1, name);
	set_end(&set);
}

static void test_hand_promises(void)
{
	other_promise(HCOMM_COLL_ALLREDUCE, HCOMM_ALGO_DIRECT, HCOMM_COLL_ALLREDUCE, true,
		      HCOMM_CHECK_OK, "the mesh keeps the fixed order");
	other_promise(HCOMM_COLL_ALLREDUCE, HCOMM_ALGO_RING, HCOMM_COLL_ALLREDUCE, true,
		      HCOMM_CHECK_ORDER, "the ring does not");
	other_promise(HCOMM_COLL_ALLREDUCE, HCOMM_ALGO_RING, HCOMM_COLL_SCAN, false,
		      HCOMM_CHECK_VALUE, "an AllReduce is no Scan");
	other_promise(HCOMM_COLL_SCAN, HCOMM_ALGO_LINEAR, HCOMM_COLL_EXSCAN, false,
		      HCOMM_CHECK_INPUT, "a Scan is no Exscan");
	other_promise(HCOMM_COLL_EXSCAN, HCOMM_ALGO_DIRECT, HCOMM_COLL_SCAN, false,
		      HCOMM_CHECK_VALUE, "an Exscan is no Scan");
}

/* blocks of 1 and 2 elements in an output of 6, at 4 and at 1 */
static void test_hand_gaps(void)
{
	static const uint64_t counts[] = { 1, 2 }, displs[] = { 4, 1 };
	const struct hcomm_step a[] = {
		SEND(1, 0, 0, 0, 4), RECV(1, 0, 1, 4, 8),
		{ .op = HCOMM_STEP_COPY, .dst_slot = 1, .dst_off = 16, .len = 4 },
	}, b[] = {
		SEND(0, 0, 0, 0, 8), RECV(0, 0, 1, 16, 4),
		{ .op = HCOMM_STEP_COPY, .dst_slot = 1, .dst_off = 4, .len = 8 },
	};
	static const uint32_t none[] = { 0 };
	struct set set;

	hand_set(&set, HCOMM_COLL_ALLGATHER, 2, 0, false);
	set.args.counts = counts;
	set.args.displs = displs;
	set_prog(&set, 0, a, LEN(a), none, 0, 0);
	set_prog(&set, 1, b, LEN(b), none, 0, 0);
	verdict(&set, HCOMM_CHECK_OK, -1, -1, -1, "blocks apart");
	set.steps[1][2].len = 4;
	verdict(&set, HCOMM_CHECK_VALUE, 1, -1, 8, "half a block");
	set.steps[1][2].len = 8;
	set.steps[0][2].dst_off = 12;
	verdict(&set, HCOMM_CHECK_VALUE, 0, -1, 16, "a block before its place");
	set.steps[0][2].dst_off = 16;
	/* once more, where no block is */
	set.prog[0].nsteps = 4;
	set.steps[0][3] = set.steps[0][2];
	set.steps[0][3].dst_off = 0;
	verdict(&set, HCOMM_CHECK_INPUT, 0, -1, 0, "a write between blocks");
	set_free(&set);
}

/*
 * Floating-point sums of all algorithms in fixed order, of any chunk size and number
 * of channels, have the bits of the plain sum in the order of ranks.  That this is
 * a promise is shown by the others, which do not all keep it.
 */
static void test_fixed_bits(void)
{
	uint32_t coll, algo, k, sets = 0, algos = 0, wrong = 0, others = 0;
	struct set set;

	exec_fp32 = true;
	for (coll = 0; coll <= HCOMM_COLL_EXSCAN; coll++) {
		for (algo = 0; algo < HCOMM_ALGO_COUNT; algo++) {
			bool fixed = case_supported(coll, algo, false, true);

			if (!case_reduces(coll) || !hcomm_algo_supports(algo, coll))
				continue;
			algos += fixed;
			for (k = 0; k < 12; k++) {
				random_set_of(&set, coll, algo, fixed);
				sets += fixed;
				if (!exec_often(&set, 2) && fixed && ++wrong < 3)
					report_miss(&set, "other bits");
				else if (!fixed && !exec_often(&set, 1))
					others++;
				set_end(&set);
			}
		}
	}
	exec_fp32 = false;
	ok(!wrong && algos > 8 && others,
	   "fixed order: %u sets of %u builders have the bits of one order, %u do not; %u of others differ",
	   sets, algos, wrong, others);
}

static void test_args(void)
{
	struct hcomm_check_result res;
	struct set set;
	uint32_t i, bad = 0;

	hand_set(&set, HCOMM_COLL_P2P, 2, 4, false);
	set_prog(&set, 0, (const struct hcomm_step[]){ SEND(1, 0, 0, 0, 16) }, 1,
		 NULL, 0, 0);
	set_prog(&set, 1, (const struct hcomm_step[]){ RECV(0, 0, 1, 0, 16) }, 1,
		 NULL, 0, 0);
	for (i = 0; i < 7; i++) {
		struct set s = set;

		switch (i) {
		case 0:
			s.args.nranks = 0;
			break;
		case 1:
			s.opts.chunk_size = 6;
			break;
		case 2:
			s.opts.window = 0;
			break;
		case 3:
			s.opts.staging_slots = 0;
			break;
		case 4:
			s.args.coll = HCOMM_COLL_GROUP;
			break;
		case 5:
			s.args.root = 2;
			break;
		case 6:
			s.args.dtype = HCOMM_DT_COUNT;
			break;
		}
		bad += set_check(&s, &res) != -EINVAL;
	}
	ok(!bad, "arguments out of range give -EINVAL");
	set_free(&set);
}

int main(int argc, char **argv)
{
#ifdef __SANITIZE_ADDRESS__
	uint32_t rounds = 12;	/* all is several times slower */
#else
	uint32_t rounds = 40;
#endif

	if (argc > 1)
		rounds = atoi(argv[1]);
	seed = argc > 2 ? strtoull(argv[2], NULL, 0) | 1 : 0x1234567;
	printf("TAP version 13\n");
	test_hand_deadlock();
	test_hand_order();
	test_hand_staging();
	test_hand_cross();
	test_hand_values();
	test_hand_promises();
	test_hand_gaps();
	test_fixed_bits();
	test_args();
	test_damage(rounds);
	printf("1..%d\n", tests);
	return failures ? 1 : 0;
}
