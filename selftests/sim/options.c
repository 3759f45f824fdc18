// SPDX-License-Identifier: GPL-2.0-only
/*
 * The command line of hcomm_sim.  One table says of each option what it is
 * called, what it means and where its value goes.
 */
#include <getopt.h>
#include <stdio.h>
#include <hcomm/sched.h>
#include "cost.h"
#include "options.h"

struct option_desc {
	const char *name;	/* NULL: a heading */
	const char *arg;
	const char *text;
	void (*set)(struct sim_options *o, const struct option_desc *d, const char *arg);
	size_t off;		/* in struct sim_options */
	u32 size;
	u64 lo;			/* of a number; of a mode: its number */
	u64 hi;
};

#define FIELD(f) offsetof(struct sim_options, f), sizeof(((struct sim_options *)0)->f)
#define NS_MAX (1ull << 40)
#define RATE_MAX (1ull << 32)
/* of getopt: above all characters */
#define FIRST_VAL 256

__attribute__((noreturn))
static void usage(const char *opt, const char *arg)
{
	fprintf(stderr, "hcomm_sim: --%s: '%s' is not valid; see --help\n", opt, arg);
	exit(2);
}

static void store(struct sim_options *o, const struct option_desc *d, u64 v)
{
	void *at = (char *)o + d->off;

	switch (d->size) {
	case sizeof(bool):
		*(bool *)at = v;
		break;
	case sizeof(u32):
		*(u32 *)at = (u32)v;
		break;
	default:
		*(u64 *)at = v;
	}
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

static void set_number(struct sim_options *o, const struct option_desc *d, const char *arg)
{
	store(o, d, number(d->name, arg, d->lo, d->hi));
}

/* Bytes in whole cache lines. */
static void set_lines(struct sim_options *o, const struct option_desc *d, const char *arg)
{
	store(o, d, number(d->name, arg, d->lo, d->hi) & ~63ull);
}

static void set_flag(struct sim_options *o, const struct option_desc *d, const char *arg)
{
	(void)arg;
	store(o, d, 1);
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

static void set_coll(struct sim_options *o, const struct option_desc *d, const char *arg)
{
	for (o->spec.coll = 1; hcomm_coll_name(o->spec.coll); o->spec.coll++)
		if (!strcmp(hcomm_coll_name(o->spec.coll), arg))
			return;
	usage(d->name, arg);
}

static void set_algo(struct sim_options *o, const struct option_desc *d, const char *arg)
{
	int algo = hcomm_algo_by_name(arg);

	if (algo <= 0)
		usage(d->name, arg);
	o->spec.algo = (u32)algo;
}

static void set_name(struct sim_options *o, const struct option_desc *d, const char *arg,
		     const char *(*name)(u32 i))
{
	u32 i;

	for (i = 0; name(i); i++) {
		if (!strcmp(name(i), arg)) {
			store(o, d, i);
			return;
		}
	}
	usage(d->name, arg);
}

static void set_dtype(struct sim_options *o, const struct option_desc *d, const char *arg)
{
	set_name(o, d, arg, ref_dtype_name);
}

static void set_op(struct sim_options *o, const struct option_desc *d, const char *arg)
{
	set_name(o, d, arg, ref_op_name);
}

static void set_net(struct sim_options *o, const struct option_desc *d, const char *arg)
{
	set_name(o, d, arg, net_kind_name);
}

static void set_reorder(struct sim_options *o, const struct option_desc *d, const char *arg)
{
	set_number(o, d, arg);
	o->cfg.reorder_permille = o->cfg.reorder ? 500 : 0;
}

static void set_permille(struct sim_options *o, const struct option_desc *d, const char *arg)
{
	char *end;
	double p = strtod(arg, &end);

	if (end == arg || *end || p < 0 || p > 0.999)
		usage(d->name, arg);
	store(o, d, (u64)(p * 1000));
}

static void set_vector(struct sim_options *o, const struct option_desc *d, const char *arg)
{
	set_number(o, d, arg);
	o->spec.vector = true;
}

static void set_kill(struct sim_options *o, const struct option_desc *d, const char *arg)
{
	u64 rank;

	numbers(d->name, arg, "%llu@%llu%n", &rank, &o->cfg.kill_event, NULL);
	o->cfg.kill_rank = (u32)rank;
	o->cfg.kill_process = d->lo;
}

static void set_break(struct sim_options *o, const struct option_desc *d, const char *arg)
{
	u64 rank, peer;

	numbers(d->name, arg, "%llu-%llu@%llu%n", &rank, &peer, &o->cfg.break_event);
	o->cfg.break_rank = (u32)rank;
	o->cfg.break_peer = (u32)peer;
}

static void set_mode(struct sim_options *o, const struct option_desc *d, const char *arg)
{
	(void)arg;
	o->mode = (enum sim_mode)d->lo;
	o->mode_name = d->name;
}

static void set_seed(struct sim_options *o, const struct option_desc *d, const char *arg)
{
	o->first = number(d->name, arg, 0, ~0ull);
	o->last = o->first;
}

static void set_seeds(struct sim_options *o, const struct option_desc *d, const char *arg)
{
	numbers(d->name, arg, "%llu..%llu%n", &o->first, &o->last, NULL);
	if (o->last < o->first)
		usage(d->name, arg);
}

static void set_trace(struct sim_options *o, const struct option_desc *d, const char *arg)
{
	(void)o;
	(void)d;
	(void)arg;
	sim_trace_all = true;
}

__attribute__((noreturn))
static void set_help(struct sim_options *o, const struct option_desc *d, const char *arg);

#define HEAD(text_) { .text = text_ }
#define OPT(name_, arg_, text_, ...) \
	{ .name = name_, .arg = arg_, .text = text_, .set = __VA_ARGS__ }
#define MODE(name_, mode_, text_) OPT(name_, NULL, text_, set_mode, 0, 0, mode_, 0)

static const struct option_desc options[] = {
	HEAD("One simulation of a collective:"),
	OPT("coll", "NAME", "collective (allreduce)", set_coll),
	OPT("algo", "NAME", "algorithm (ring)", set_algo),
	OPT("ranks", "N", "number of ranks (4)",
	    set_number, FIELD(cfg.nranks), 1, COST_MAX_RANKS),
	OPT("ranks-per-node", "N", "ranks with direct links among them (1)",
	    set_number, FIELD(cfg.ranks_per_node), 1, HCOMM_MAX_RANKS),
	OPT("count", "N", "elements (65536)", set_number, FIELD(spec.count), 0, NS_MAX),
	OPT("dtype", "TYPE", "int8 ... uint64, fp16, bf16, fp32, fp64, e4m3, e5m2 (fp32)",
	    set_dtype, FIELD(spec.dtype)),
	OPT("op", "OP", "sum, prod, min, max, band ... lxor (sum)", set_op, FIELD(spec.redop)),
	OPT("root", "RANK", "root, or sender of p2p (0)",
	    set_number, FIELD(spec.root), 0, HCOMM_MAX_RANKS - 1),
	OPT("peer", "RANK", "receiver of p2p (1)",
	    set_number, FIELD(spec.peer), 0, HCOMM_MAX_RANKS - 1),
	OPT("in-place", NULL, "input and output are the same buffer",
	    set_flag, FIELD(spec.in_place)),
	OPT("fixed-order", NULL, "reduce in the order of ranks, whatever the algorithm",
	    set_flag, FIELD(spec.fixed_order)),
	OPT("vector", "SEED", "blocks of different lengths, --count in the mean",
	    set_vector, FIELD(spec.vseed), 0, ~0ull),
	OPT("apart", NULL, "such blocks lie in any order, with gaps",
	    set_flag, FIELD(spec.apart)),
	OPT("groups", "SEED", "nodes and groups of a hierarchical plan, 0: the fabric's (0)",
	    set_number, FIELD(spec.tseed), 0, ~0ull),
	OPT("radix", "N", "of trees that have one (4)",
	    set_number, FIELD(spec.radix), 2, HCOMM_SCHED_MAX_RADIX),
	OPT("channels", "N", "channels of the schedule (1)",
	    set_number, FIELD(spec.channels), 1, HCOMM_SCHED_MAX_CHANNELS),
	OPT("runs", "N", "runs at the same time (1)", set_number, FIELD(spec.runs), 1, 65536),
	OPT("launches", "N", "launches of each, one after the other (1)",
	    set_number, FIELD(spec.launches), 1, 1u << 30),
	MODE("cost", MODE_COST, "evaluate the plans alone: no engine, no data"),
	OPT("agree", "PERCENT", "fail if the plans alone take longer or shorter by more",
	    set_number, FIELD(agree), 1, 1000),
	OPT("csv", NULL, "as a line of a table",
	    set_flag, FIELD(csv)),
	HEAD("Communicator:"),
	OPT("chunk", "BYTES", "chunk size (262144)",
	    set_lines, FIELD(cfg.par.chunk_size), 64, HCOMM_MAX_CHUNK_SIZE),
	OPT("eager", "BYTES", "largest eager message (4096)",
	    set_lines, FIELD(cfg.par.eager_size), 0, HCOMM_MAX_EAGER_SIZE),
	OPT("eager-slots", "N", "unexpected eager messages per link (16)",
	    set_number, FIELD(cfg.par.eager_slots), 1, HCOMM_MAX_EAGER_SLOTS),
	OPT("window", "N", "chunks in flight per run and link (4)",
	    set_number, FIELD(cfg.par.window), 1, HCOMM_MAX_WINDOW),
	OPT("staging", "N", "chunks of staging memory (16)",
	    set_number, FIELD(cfg.par.staging_slots), 1, HCOMM_MAX_STAGING_SLOTS),
	OPT("max-runs", "N", "concurrent runs (8)",
	    set_number, FIELD(cfg.par.max_runs), 1, HCOMM_MAX_COMM_RUNS),
	HEAD("Fabric (times in ns, rates in MB/s):"),
	OPT("latency", "NS", "between nodes (2000)",
	    set_number, FIELD(cfg.net.latency), 0, NS_MAX),
	OPT("local-latency", "NS", "within a node (300)",
	    set_number, FIELD(cfg.local_latency), 0, NS_MAX),
	OPT("bandwidth", "MBS", "of a node's NIC (12500)",
	    set_number, FIELD(cfg.net.bandwidth), 1, RATE_MAX),
	OPT("copy-rate", "MBS", "of a CPU (10000)", set_number, FIELD(cfg.copy_rate), 1, RATE_MAX),
	OPT("reduce-rate", "MBS", "of a CPU (8000)",
	    set_number, FIELD(cfg.reduce_rate), 1, RATE_MAX),
	OPT("event-cost", "NS", "CPU time of one event (100)",
	    set_number, FIELD(cfg.event_cost), 1, RATE_MAX),
	OPT("fabric", "KIND", "flat, fat-tree, dragonfly (flat)", set_net, FIELD(cfg.net.kind)),
	OPT("nodes-per-group", "N", "nodes of a switch or group (square root of all)",
	    set_number, FIELD(cfg.net.nodes_per_group), 1, HCOMM_MAX_RANKS),
	OPT("taper", "N", "fat-tree: nodes per link up; dragonfly: rate between groups (2)",
	    set_number, FIELD(cfg.net.taper), 1, HCOMM_MAX_RANKS),
	OPT("group-latency", "NS", "more between groups (1000)",
	    set_number, FIELD(cfg.net.group_latency), 0, NS_MAX),
	OPT("packet", "BYTES", "longest message that waits for no longer one, 0: all wait (4352)",
	    set_number, FIELD(cfg.net.packet), 0, U32_MAX),
	OPT("reorder", "NS", "longest extra delay of anything (0)",
	    set_reorder, FIELD(cfg.reorder), 0, NS_MAX),
	OPT("eagain", "P", "how often a send finds no room, 0 to 1 (0)",
	    set_permille, FIELD(cfg.eagain_permille)),
	OPT("tx-depth", "N", "messages that a link holds before it has no room (no limit)",
	    set_number, FIELD(cfg.tx_depth), 1, U32_MAX),
	OPT("skew", "NS", "latest launch (0)", set_number, FIELD(cfg.skew), 0, NS_MAX),
	OPT("slow-rank", "RANK", "rank with a slow CPU",
	    set_number, FIELD(cfg.slow_rank), 0, HCOMM_MAX_RANKS - 1),
	OPT("slow-node", "NODE", "node with a slow NIC",
	    set_number, FIELD(cfg.net.slow_node), 0, HCOMM_MAX_RANKS - 1),
	OPT("slow-factor", "N", "how slow (10)",
	    set_number, FIELD(cfg.slow_factor), 1, 1u << 20),
	OPT("kill", "RANK@EVENT", "its node falls silent before that event",
	    set_kill, 0, 0, false, 0),
	OPT("kill-process", "RANK@EVENT", "its process ends, the kernel tells",
	    set_kill, 0, 0, true, 0),
	OPT("break-link", "A-B@EVENT", "the link breaks before that event of A", set_break),
	OPT("detect", "NS", "until a silent node is noticed (1000000)",
	    set_number, FIELD(cfg.detect), 0, NS_MAX),
	HEAD("Sets of small simulations, one or more per seed:"),
	MODE("random", MODE_RANDOM, "random programs, random fabric"),
	MODE("colls", MODE_COLLS, "random collectives, random fabric"),
	MODE("replay", MODE_REPLAY, "a seed gives the same simulation twice"),
	MODE("p2p", MODE_P2P, "many messages in another order than their receives"),
	MODE("alloc", MODE_ALLOC, "each allocation fails in turn"),
	MODE("death", MODE_DEATH, "each rank dies at each event"),
	MODE("break", MODE_BREAK, "a link breaks at each event"),
	MODE("mismatch", MODE_MISMATCH, "one rank makes another call"),
	OPT("limit", "N", "simulations per seed of --death and --break (all)",
	    set_number, FIELD(limit), 1, U32_MAX),
	HEAD("General:"),
	OPT("seed", "S", "of everything (1)", set_seed),
	OPT("seeds", "A..B", "from A to B", set_seeds),
	OPT("cases", "N", "so many seeds, from --seed on", set_number, FIELD(cases), 1, U32_MAX),
	OPT("scalar", NULL, "reductions without vector units", set_flag, FIELD(scalar)),
	OPT("verbose", NULL, "tell about each simulation", set_flag, FIELD(verbose)),
	OPT("trace", NULL, "print all that happens", set_trace),
	OPT("help", NULL, "this text", set_help),
};

static void set_help(struct sim_options *o, const struct option_desc *unused, const char *arg)
{
	const struct option_desc *d;
	char left[48];

	(void)o;
	(void)unused;
	(void)arg;
	printf("Usage: hcomm_sim [options]\n"
	       "Runs the hcomm engine of many ranks over a fabric in virtual time.\n");
	for (d = options; d < options + ARRAY_SIZE(options); d++) {
		if (!d->name) {
			printf("\n%s\n", d->text);
			continue;
		}
		snprintf(left, sizeof(left), "--%s%s%s", d->name, d->arg ? " " : "",
			 d->arg ? d->arg : "");
		printf("  %-26s %s\n", left, d->text);
	}
	printf("\nExit status: 0 all well, 1 a check failed, 2 usage.\n");
	exit(0);
}

static void validate(struct sim_options *o)
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
	else if (!wrong && s->root < cfg->nranks && !coll_valid(s, cfg))
		wrong = "--algo does not do that --coll so";
	if (s->root >= cfg->nranks || s->peer >= cfg->nranks ||
	    (o->mode != MODE_COST && cfg->nranks > HCOMM_MAX_RANKS) ||
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

void options_parse(struct sim_options *o, int argc, char **argv)
{
	struct option longs[ARRAY_SIZE(options) + 1] = {};
	const struct option_desc *d;
	size_t i, n = 0;
	int opt;

	*o = (struct sim_options){
		.spec = {
			.coll = HCOMM_COLL_ALLREDUCE, .algo = HCOMM_ALGO_RING,
			.count = 65536, .dtype = HCOMM_DT_FP32, .redop = HCOMM_OP_SUM,
			.peer = 1, .channels = 1, .runs = 1, .launches = 1, .pieces = 1,
		},
		.first = 1, .last = 1,
	};
	sim_cfg_default(&o->cfg);
	sim_cfg_real(&o->cfg);
	for (i = 0; i < ARRAY_SIZE(options); i++) {
		if (!options[i].name)
			continue;
		longs[n++] = (struct option){
			.name = options[i].name, .has_arg = !!options[i].arg,
			.val = FIRST_VAL + (int)i,
		};
	}
	while ((opt = getopt_long(argc, argv, "", longs, NULL)) != -1) {
		if (opt == '?')
			exit(2);
		d = &options[opt - FIRST_VAL];
		d->set(o, d, optarg);
	}
	if (optind < argc)
		usage("", argv[optind]);
	if (o->cases)
		o->last = o->first + o->cases - 1;
	if (o->mode == MODE_COLL || o->mode == MODE_COST)
		validate(o);
}
