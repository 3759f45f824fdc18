// SPDX-License-Identifier: GPL-2.0-only
/* hcomm_sim: command line of the simulator. */
#include <getopt.h>
#include <stdio.h>
#include <time.h>
#include <hcomm/sched.h>
#include "reduce.h"
#include "sim.h"

bool sim_trace_all;

static const char * const dtype_names[] = {
	"int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64",
	"fp16", "bf16", "fp32", "fp64",
};

static const char * const op_names[] = { "sum", "prod", "min", "max" };

enum mode {
	MODE_COLL,
	MODE_RANDOM,
	MODE_COLLS,
	MODE_REPLAY,
	MODE_P2P,
	MODE_ALLOC,
	MODE_DEATH,
	MODE_BREAK,
	MODE_MISMATCH,
};

static const char * const mode_names[] = {
	NULL, "random", "colls", "replay", "p2p", "alloc", "death", "break", "mismatch",
};

enum {
	OPT_RANKS = 256, OPT_PER_NODE, OPT_COLL, OPT_ALGO, OPT_COUNT, OPT_DTYPE, OPT_OP,
	OPT_ROOT, OPT_PEER, OPT_IN_PLACE, OPT_CHANNELS, OPT_RUNS, OPT_LAUNCHES, OPT_CHUNK,
	OPT_EAGER, OPT_EAGER_SLOTS, OPT_WINDOW, OPT_STAGING, OPT_MAX_RUNS, OPT_LATENCY,
	OPT_LOCAL_LATENCY, OPT_BANDWIDTH, OPT_COPY_RATE, OPT_REDUCE_RATE, OPT_EVENT_COST,
	OPT_REORDER, OPT_EAGAIN, OPT_TX_DEPTH, OPT_SKEW, OPT_SLOW_RANK, OPT_SLOW_NODE,
	OPT_SLOW_FACTOR, OPT_KILL, OPT_KILL_PROCESS, OPT_BREAK_LINK, OPT_DETECT, OPT_SEED,
	OPT_SEEDS, OPT_LIMIT, OPT_SCALAR, OPT_TRACE, OPT_VERBOSE, OPT_HELP, OPT_MODE,
};

struct opt_help {
	int opt;
	const char *name;
	const char *arg;
	const char *text;
};

/* The one list of options: for getopt and for the help. */
static const struct opt_help options[] = {
	{ 0, NULL, NULL, "One simulation of a collective:" },
	{ OPT_COLL, "coll", "NAME", "collective (allreduce)" },
	{ OPT_ALGO, "algo", "NAME", "algorithm (ring)" },
	{ OPT_RANKS, "ranks", "N", "number of ranks (4)" },
	{ OPT_PER_NODE, "ranks-per-node", "N", "ranks with direct links among them (1)" },
	{ OPT_COUNT, "count", "N", "elements (65536)" },
	{ OPT_DTYPE, "dtype", "TYPE", "int8 ... uint64, fp16, bf16, fp32, fp64 (fp32)" },
	{ OPT_OP, "op", "OP", "sum, prod, min, max (sum)" },
	{ OPT_ROOT, "root", "RANK", "root, or sender of p2p (0)" },
	{ OPT_PEER, "peer", "RANK", "receiver of p2p (1)" },
	{ OPT_IN_PLACE, "in-place", NULL, "input and output are the same buffer" },
	{ OPT_CHANNELS, "channels", "N", "channels of the schedule (1)" },
	{ OPT_RUNS, "runs", "N", "runs at the same time (1)" },
	{ OPT_LAUNCHES, "launches", "N", "launches of each, one after the other (1)" },
	{ 0, NULL, NULL, "Communicator:" },
	{ OPT_CHUNK, "chunk", "BYTES", "chunk size (262144)" },
	{ OPT_EAGER, "eager", "BYTES", "largest eager message (4096)" },
	{ OPT_EAGER_SLOTS, "eager-slots", "N", "unexpected eager messages per link (16)" },
	{ OPT_WINDOW, "window", "N", "chunks in flight per run and link (4)" },
	{ OPT_STAGING, "staging", "N", "chunks of staging memory (16)" },
	{ OPT_MAX_RUNS, "max-runs", "N", "concurrent runs (8)" },
	{ 0, NULL, NULL, "Fabric (times in ns, rates in MB/s):" },
	{ OPT_LATENCY, "latency", "NS", "between nodes (2000)" },
	{ OPT_LOCAL_LATENCY, "local-latency", "NS", "within a node (300)" },
	{ OPT_BANDWIDTH, "bandwidth", "MBS", "of a node's NIC (12500)" },
	{ OPT_COPY_RATE, "copy-rate", "MBS", "of a CPU (10000)" },
	{ OPT_REDUCE_RATE, "reduce-rate", "MBS", "of a CPU (8000)" },
	{ OPT_EVENT_COST, "event-cost", "NS", "CPU time of one event (100)" },
	{ OPT_REORDER, "reorder", "NS", "longest extra delay of anything (0)" },
	{ OPT_EAGAIN, "eagain", "P", "how often a send finds no room, 0 to 1 (0)" },
	{ OPT_TX_DEPTH, "tx-depth", "N", "messages that a link holds before it has no room (no limit)" },
	{ OPT_SKEW, "skew", "NS", "latest launch (0)" },
	{ OPT_SLOW_RANK, "slow-rank", "RANK", "rank with a slow CPU" },
	{ OPT_SLOW_NODE, "slow-node", "NODE", "node with a slow NIC" },
	{ OPT_SLOW_FACTOR, "slow-factor", "N", "how slow (10)" },
	{ OPT_KILL, "kill", "RANK@EVENT", "its node falls silent before that event" },
	{ OPT_KILL_PROCESS, "kill-process", "RANK@EVENT", "its process ends, the kernel tells" },
	{ OPT_BREAK_LINK, "break-link", "A-B@EVENT", "the link breaks before that event of A" },
	{ OPT_DETECT, "detect", "NS", "until a silent node is noticed (1000000)" },
	{ 0, NULL, NULL, "Sets of small simulations, one or more per seed:" },
	{ OPT_MODE + MODE_RANDOM, "random", NULL, "random programs, random fabric" },
	{ OPT_MODE + MODE_COLLS, "colls", NULL, "random collectives, random fabric" },
	{ OPT_MODE + MODE_REPLAY, "replay", NULL, "a seed gives the same simulation twice" },
	{ OPT_MODE + MODE_P2P, "p2p", NULL, "many messages in another order than their receives" },
	{ OPT_MODE + MODE_ALLOC, "alloc", NULL, "each allocation fails in turn" },
	{ OPT_MODE + MODE_DEATH, "death", NULL, "each rank dies at each event" },
	{ OPT_MODE + MODE_BREAK, "break", NULL, "a link breaks at each event" },
	{ OPT_MODE + MODE_MISMATCH, "mismatch", NULL, "one rank makes another call" },
	{ OPT_LIMIT, "limit", "N", "simulations per seed of --death and --break (all)" },
	{ 0, NULL, NULL, "General:" },
	{ OPT_SEED, "seed", "S", "of everything (1)" },
	{ OPT_SEEDS, "seeds", "A..B", "from A to B" },
	{ OPT_SCALAR, "scalar", NULL, "reductions without vector units" },
	{ OPT_VERBOSE, "verbose", NULL, "tell about each simulation" },
	{ OPT_TRACE, "trace", NULL, "print all that happens" },
	{ OPT_HELP, "help", NULL, "this text" },
};

static void help(void)
{
	char left[48];
	size_t i;

	printf("Usage: hcomm_sim [options]\n"
	       "Runs the hcomm engine of many ranks over a fabric in virtual time.\n");
	for (i = 0; i < ARRAY_SIZE(options); i++) {
		const struct opt_help *o = &options[i];

		if (!o->name) {
			printf("\n%s\n", o->text);
			continue;
		}
		snprintf(left, sizeof(left), "--%s%s%s", o->name, o->arg ? " " : "",
			 o->arg ? o->arg : "");
		printf("  %-26s %s\n", left, o->text);
	}
	printf("\nExit status: 0 all well, 1 a check failed, 2 usage.\n");
}

__attribute__((noreturn))
static void usage(const char *opt, const char *arg)
{
	fprintf(stderr, "hcomm_sim: --%s: '%s' is not valid; see --help\n", opt, arg);
	exit(2);
}

static u64 number(const char *opt, const char *arg, u64 lo, u64 hi)
{
	char *end;
	u64 v;

	errno = 0;
	v = strtoull(arg, &end, 0);
	if (errno || end == arg || *end || *arg == '-' || v < lo || v > hi)
		usage(opt, arg);
	return v;
}

static u32 choose(const char *opt, const char *arg, const char * const *names, u32 n)
{
	u32 i;

	for (i = 0; i < n; i++)
		if (!strcmp(names[i], arg))
			return i;
	usage(opt, arg);
}

/* "A@B", "A-B@C" and "A..B": unsigned numbers between fixed separators. */
static void numbers(const char *opt, const char *arg, const char *format, u64 *a, u64 *b, u64 *c)
{
	unsigned long long x, y, z = 0;
	int used = 0;

	if (c ? sscanf(arg, format, &x, &y, &z, &used) != 3 :
		sscanf(arg, format, &x, &y, &used) != 2)
		usage(opt, arg);
	if (arg[used])
		usage(opt, arg);
	*a = x;
	*b = y;
	if (c)
		*c = z;
}

struct opts {
	struct sim_cfg cfg;
	struct coll_spec spec;
	enum mode mode;
	u64 first;
	u64 last;
	u32 limit;
	bool scalar;
	bool verbose;
};

static void set_option(struct opts *o, int opt, const char *name, const char *arg)
{
	struct sim_cfg *cfg = &o->cfg;
	struct coll_spec *s = &o->spec;
	u64 a, b, c;
	char *end;
	double p;
	int algo;

	switch (opt) {
	case OPT_COLL:
		for (s->coll = 1; hcomm_coll_name(s->coll); s->coll++)
			if (!strcmp(hcomm_coll_name(s->coll), arg))
				return;
		usage(name, arg);
	case OPT_ALGO:
		algo = hcomm_algo_by_name(arg);
		if (algo <= 0)
			usage(name, arg);
		s->algo = (u32)algo;
		break;
	case OPT_RANKS:
		cfg->nranks = number(name, arg, 1, HCOMM_MAX_RANKS);
		break;
	case OPT_PER_NODE:
		cfg->ranks_per_node = number(name, arg, 1, HCOMM_MAX_RANKS);
		break;
	case OPT_COUNT:
		s->count = number(name, arg, 0, 1ull << 40);
		break;
	case OPT_DTYPE:
		s->dtype = choose(name, arg, dtype_names, HCOMM_DT_COUNT);
		break;
	case OPT_OP:
		s->redop = choose(name, arg, op_names, HCOMM_OP_COUNT);
		break;
	case OPT_ROOT:
		s->root = number(name, arg, 0, HCOMM_MAX_RANKS - 1);
		break;
	case OPT_PEER:
		s->peer = number(name, arg, 0, HCOMM_MAX_RANKS - 1);
		break;
	case OPT_IN_PLACE:
		s->in_place = true;
		break;
	case OPT_CHANNELS:
		s->channels = number(name, arg, 1, HCOMM_SCHED_MAX_CHANNELS);
		break;
	case OPT_RUNS:
		s->runs = number(name, arg, 1, 65536);
		break;
	case OPT_LAUNCHES:
		s->launches = number(name, arg, 1, 1u << 30);
		break;
	case OPT_CHUNK:
		cfg->par.chunk_size = number(name, arg, 64, HCOMM_MAX_CHUNK_SIZE) & ~63u;
		break;
	case OPT_EAGER:
		cfg->par.eager_size = number(name, arg, 0, HCOMM_MAX_EAGER_SIZE) & ~63u;
		break;
	case OPT_EAGER_SLOTS:
		cfg->par.eager_slots = number(name, arg, 1, HCOMM_MAX_EAGER_SLOTS);
		break;
	case OPT_WINDOW:
		cfg->par.window = number(name, arg, 1, HCOMM_MAX_WINDOW);
		break;
	case OPT_STAGING:
		cfg->par.staging_slots = number(name, arg, 1, HCOMM_MAX_STAGING_SLOTS);
		break;
	case OPT_MAX_RUNS:
		cfg->par.max_runs = number(name, arg, 1, HCOMM_MAX_COMM_RUNS);
		break;
	case OPT_LATENCY:
		cfg->latency = number(name, arg, 0, 1ull << 40);
		break;
	case OPT_LOCAL_LATENCY:
		cfg->local_latency = number(name, arg, 0, 1ull << 40);
		break;
	case OPT_BANDWIDTH:
		cfg->bandwidth = number(name, arg, 1, 1ull << 32);
		break;
	case OPT_COPY_RATE:
		cfg->copy_rate = number(name, arg, 1, 1ull << 32);
		break;
	case OPT_REDUCE_RATE:
		cfg->reduce_rate = number(name, arg, 1, 1ull << 32);
		break;
	case OPT_EVENT_COST:
		cfg->event_cost = number(name, arg, 1, 1ull << 32);
		break;
	case OPT_REORDER:
		cfg->reorder = number(name, arg, 0, 1ull << 40);
		cfg->reorder_permille = cfg->reorder ? 500 : 0;
		break;
	case OPT_EAGAIN:
		p = strtod(arg, &end);
		if (end == arg || *end || p < 0 || p > 0.999)
			usage(name, arg);
		cfg->eagain_permille = (u32)(p * 1000);
		break;
	case OPT_TX_DEPTH:
		cfg->tx_depth = number(name, arg, 1, U32_MAX);
		break;
	case OPT_SKEW:
		cfg->skew = number(name, arg, 0, 1ull << 40);
		break;
	case OPT_SLOW_RANK:
		cfg->slow_rank = number(name, arg, 0, HCOMM_MAX_RANKS - 1);
		break;
	case OPT_SLOW_NODE:
		cfg->slow_link = number(name, arg, 0, HCOMM_MAX_RANKS - 1);
		break;
	case OPT_SLOW_FACTOR:
		cfg->slow_factor = number(name, arg, 1, 1u << 20);
		break;
	case OPT_KILL:
	case OPT_KILL_PROCESS:
		numbers(name, arg, "%llu@%llu%n", &a, &b, NULL);
		cfg->kill_rank = (u32)a;
		cfg->kill_event = b;
		cfg->kill_process = opt == OPT_KILL_PROCESS;
		break;
	case OPT_BREAK_LINK:
		numbers(name, arg, "%llu-%llu@%llu%n", &a, &b, &c);
		cfg->break_rank = (u32)a;
		cfg->break_peer = (u32)b;
		cfg->break_event = c;
		break;
	case OPT_DETECT:
		cfg->detect = number(name, arg, 0, 1ull << 40);
		break;
	case OPT_SEED:
		o->first = number(name, arg, 0, ~0ull);
		o->last = o->first;
		break;
	case OPT_SEEDS:
		numbers(name, arg, "%llu..%llu%n", &o->first, &o->last, NULL);
		if (o->last < o->first)
			usage(name, arg);
		break;
	case OPT_LIMIT:
		o->limit = number(name, arg, 1, U32_MAX);
		break;
	case OPT_SCALAR:
		o->scalar = true;
		break;
	case OPT_VERBOSE:
		o->verbose = true;
		break;
	case OPT_TRACE:
		sim_trace_all = true;
		break;
	case OPT_HELP:
		help();
		exit(0);
	default:
		o->mode = (enum mode)(opt - OPT_MODE);
	}
}

static double seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static void show_faults(struct sim *sim, const struct sim_cfg *cfg)
{
	u32 i, shown = 0;

	for (i = 0; i < cfg->nranks && shown < 16; i++) {
		const struct hcomm_fault *f = &sim_engine(sim, i)->fault;

		if (!f->error || sim_rank_dead(sim, i))
			continue;
		printf("rank %u: fault %d (reason %u) of rank %u, reported by %u, step %d\n",
		       i, f->error, f->reason, f->rank, f->reporter, (int)f->step);
		shown++;
	}
}

/* One simulation of a collective per seed. */
static void simulate(struct opts *o)
{
	u64 seed;

	for (seed = o->first; seed <= o->last; seed++) {
		const struct sim_stats *s;
		struct coll_job *job;
		struct sim *sim;
		double t0 = seconds(), t1, t2;

		o->cfg.seed = seed;
		o->cfg.trace = sim_trace_all;
		sim = sim_new(&o->cfg);
		job = sim ? coll_job_new(sim, &o->cfg, &o->spec) : NULL;
		if (!job)
			sim_die(sim, "out of memory");
		t1 = seconds();
		sim_go(sim);
		t2 = seconds();
		if (o->cfg.kill_rank == ~0u && o->cfg.break_rank == ~0u)
			coll_job_check(job, sim);
		s = sim_stats(sim);
		printf("%s, %u ranks, %u per node, seed %llu\n", coll_text(&o->spec),
		       o->cfg.nranks, o->cfg.ranks_per_node, (unsigned long long)seed);
		printf("time %.3f us  messages %llu  writes %llu  bytes %llu  events %llu  no room %llu  queue max %u of %u  hash %016llx\n",
		       (double)s->time / 1e3, (unsigned long long)s->messages,
		       (unsigned long long)s->writes, (unsigned long long)s->bytes,
		       (unsigned long long)s->events, (unsigned long long)s->eagain,
		       s->max_rx, hcomm_link_max_rx(&o->cfg.par), (unsigned long long)s->hash);
		if (o->verbose)
			printf("set up in %.2f s, simulated in %.2f s\n", t1 - t0, t2 - t1);
		show_faults(sim, &o->cfg);
		coll_job_free(job);
		sim_free(sim);
	}
}

static void validate(struct opts *o)
{
	struct sim_cfg *cfg = &o->cfg;
	struct coll_spec *s = &o->spec;
	const char *wrong = NULL;

	if (s->coll == HCOMM_COLL_BARRIER) {
		s->count = 0;
		s->dtype = 0;
		s->redop = 0;
	}
	if (s->coll != HCOMM_COLL_P2P)
		s->peer = 0;
	else if (s->peer == s->root)
		wrong = "--peer is --root";
	if (!hcomm_algo_supports(s->algo, s->coll))
		wrong = "--algo does not do that --coll";
	if (s->root >= cfg->nranks || s->peer >= cfg->nranks ||
	    (cfg->kill_rank != ~0u && cfg->kill_rank >= cfg->nranks) ||
	    (cfg->break_rank != ~0u &&
	     (cfg->break_rank >= cfg->nranks || cfg->break_peer >= cfg->nranks)))
		wrong = "there is no such rank";
	if (cfg->par.staging_slots < cfg->par.max_runs)
		cfg->par.staging_slots = cfg->par.max_runs;
	if (wrong) {
		fprintf(stderr, "hcomm_sim: %s; see --help\n", wrong);
		exit(2);
	}
}

static void parse(struct opts *o, int argc, char **argv)
{
	struct option longs[ARRAY_SIZE(options) + 1] = {};
	int opt, idx;
	size_t i, n = 0;

	for (i = 0; i < ARRAY_SIZE(options); i++) {
		if (!options[i].name)
			continue;
		longs[n++] = (struct option){
			.name = options[i].name, .has_arg = options[i].arg ? 1 : 0,
			.val = options[i].opt,
		};
	}
	while ((opt = getopt_long(argc, argv, "", longs, &idx)) != -1) {
		if (opt == '?')
			exit(2);
		set_option(o, opt, longs[idx].name, optarg);
	}
	if (optind < argc)
		usage("", argv[optind]);
}

int main(int argc, char **argv)
{
	struct opts o = {
		.spec = {
			.coll = HCOMM_COLL_ALLREDUCE, .algo = HCOMM_ALGO_RING,
			.count = 65536, .dtype = HCOMM_DT_FP32, .redop = HCOMM_OP_SUM,
			.peer = 1, .channels = 1, .runs = 1, .launches = 1, .pieces = 1,
		},
		.first = 1, .last = 1,
	};
	u64 n = 0;

	sim_cfg_default(&o.cfg);
	parse(&o, argc, argv);
	hcomm_reduce_init(!o.scalar);
	switch (o.mode) {
	case MODE_COLL:
		validate(&o);
		snprintf(sim_replay, sizeof(sim_replay), "the same options");
		simulate(&o);
		return 0;
	case MODE_RANDOM:
		n = mode_random(o.first, o.last, o.verbose);
		break;
	case MODE_COLLS:
		n = mode_colls(o.first, o.last, o.verbose);
		break;
	case MODE_REPLAY:
		n = mode_replay(o.first, o.last);
		break;
	case MODE_P2P:
		n = mode_p2p(o.first, o.last);
		break;
	case MODE_ALLOC:
		n = mode_alloc(o.first, o.last);
		break;
	case MODE_DEATH:
		n = mode_death(o.first, o.last, o.limit);
		break;
	case MODE_BREAK:
		n = mode_break(o.first, o.last, o.limit);
		break;
	case MODE_MISMATCH:
		n = mode_mismatch(o.first, o.last);
		break;
	}
	printf("%s: %llu simulations\n", mode_names[o.mode], (unsigned long long)n);
	return 0;
}
