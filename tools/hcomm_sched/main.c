// SPDX-License-Identifier: GPL-2.0-only
/* hcomm_sched: look at schedules: why they are chosen, what they do. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/plan/names.h"
#include "../common/args.h"
#include "../common/elems.h"
#include "../common/job.h"
#include "../common/util.h"
#include "sched.h"

#define MAX_PRINT	(1u << 20)	/* steps of a picture */

enum {
	OPT_OP = 256, OPT_CPUS, OPT_GROUPS, OPT_CHUNK, OPT_EAGER, OPT_GRAIN, OPT_CHANNELS,
	OPT_RADIX, OPT_MODEL, OPT_TABLE, OPT_PROTO, OPT_WISH, OPT_TUNER, OPT_SHOW, OPT_DOT, OPT_SVG,
	OPT_FIXED, OPT_PRINT_MODEL,
};

/**
 * struct options - the command line
 * @job: what to look at
 * @ranks: as given
 * @count: as given
 * @chunk: as given
 * @eager: as given
 * @root: as given
 * @grain: as given, 0: none
 * @channels: as given
 * @radix: as given
 * @last: way of the last level, as the algorithm's word says
 * @simulated: candidates to simulate
 * @wished: something was said about the choice
 * @simulate: the choice is
 * @print: rank to print
 * @printed: a rank, or all, is
 * @print_all: all are
 * @check: prove
 * @print_model: the model is
 * @dot: file
 * @svg: file
 * @tuner: file
 */
struct options {
	struct job job;
	uint64_t ranks, count, chunk, eager, root, grain, channels, radix;
	uint64_t simulated;
	uint64_t print;
	uint32_t last;
	bool wished, simulate, printed, print_all, check, print_model;
	const char *dot, *svg, *tuner;
};

static void algo_arg(struct argp_state *state, const char *text, void *options)
{
	struct options *opt = options;
	int algo = hcomm_algo_by_word(text, strlen(text), &opt->last);
	char known[700];

	hcomm_algo_words(0, known, sizeof(known));
	if (algo < 0)
		argp_error(state, "'%s' is no algorithm; known are %s", text, known);
	opt->job.args.algo = (uint32_t)algo;
	opt->job.fixed = true;
}

typedef int set_policy(struct hcomm_policy *policy, const char *text, char *why,
		       size_t room);

static void policy_arg(struct argp_state *state, const char *name, const char *text,
		       struct options *opt, set_policy *set)
{
	char why[700];

	opt->wished = true;
	if (set(&opt->job.planner.policy, text, why, sizeof(why)))
		argp_error(state, "--%s %s: %s", name, text, why);
}

static void wish_arg(struct argp_state *state, const char *text, void *options)
{
	policy_arg(state, "wish", text, options, hcomm_policy_algo);
}

static void table_arg(struct argp_state *state, const char *text, void *options)
{
	policy_arg(state, "table", text, options, hcomm_policy_table);
}

static void proto_arg(struct argp_state *state, const char *text, void *options)
{
	policy_arg(state, "proto", text, options, hcomm_policy_proto);
}

static void model_arg(struct argp_state *state, const char *text, void *options)
{
	struct options *opt = options;
	char why[700];

	if (hcomm_model_load(text, &opt->job.planner.model, why, sizeof(why)))
		argp_error(state, "--model %s: %s", text, why);
}

static void coll_arg(struct argp_state *state, const char *text, void *options)
{
	struct options *opt = options;
	int coll = hcomm_coll_by_word(text, strlen(text));
	char known[256];

	hcomm_coll_words(known, sizeof(known));
	if (coll < 0)
		argp_error(state, "'%s' is no collective; known are %s", text, known);
	opt->job.args.coll = (uint32_t)coll;
}

static void dtype_arg(struct argp_state *state, const char *text, void *options)
{
	struct options *opt = options;
	hcommDataType_t dtype;

	if (!dtype_by_name(text, &dtype))
		unknown_arg(state, text, "type", dtype_names, DTYPES);
	opt->job.args.dtype = dtype;
}

static void op_arg(struct argp_state *state, const char *text, void *options)
{
	struct options *opt = options;
	hcommRedOp_t op;

	if (!redop_by_name(text, &op))
		unknown_arg(state, text, "reduction", redop_names, REDOPS);
	opt->job.args.redop = op;
}

static void print_arg(struct argp_state *state, const char *text, void *options)
{
	struct options *opt = options;

	opt->printed = true;
	opt->print_all = !strcmp(text, "all");
	if (!opt->print_all)
		opt->print = number_arg(state, "print", text, 0, HCOMM_MAX_RANKS - 1);
}

static void simulate_arg(struct argp_state *state, const char *text, void *options)
{
	struct options *opt = options;

	opt->simulate = true;
	if (text)
		opt->simulated = number_arg(state, "simulate", text, 0, HCOMM_MAX_CANDIDATES);
}

static const struct arg args[] = {
	ARG_TITLE("The call:"),
	ARG_CALL('C', "coll", "NAME", coll_arg, "Collective (default: allreduce)"),
	ARG_SIZE('c', "count", count, 0, 1ull << 40,
		 "Elements: of the vector, or of one rank's block (default: 1024)"),
	ARG_CALL('d', "datatype", "TYPE", dtype_arg, "fp32 (default), int8 ... fp64"),
	ARG_CALL(OPT_OP, "op", "OP", op_arg, "sum (default), prod, min, max, avg, band ... lxor"),
	ARG_NUMBER('r', "root", "RANK", root, 0, HCOMM_MAX_RANKS - 1, "Root (default: 0)"),
	ARG_FLAG('i', "in-place", job.args.in_place, "Input and output are one buffer"),
	ARG_FLAG(OPT_FIXED, "fixed-order", job.args.fixed_order, "Reduce in the order of ranks"),
	ARG_TITLE("The communicator:"),
	ARG_NUMBER('n', "ranks", "N", ranks, 1, HCOMM_MAX_RANKS, "Ranks (default: 4)"),
	ARG_NUMBER('k', "nodes", "N", job.nodes, 1, HCOMM_MAX_RANKS,
		   "Nodes, with equally many ranks except for the last (default: 1)"),
	ARG_NUMBER(OPT_CPUS, "cpus", "N", job.cpus, 0, HCOMM_MAX_RANKS,
		   "Processors that the ranks of one node share (default: 0, each has its own)"),
	ARG_NUMBER(OPT_GROUPS, "groups", "N", job.groups, 1, HCOMM_MAX_RANKS,
		   "Groups of nodes (default: 1)"),
	ARG_MULTIPLE(OPT_CHUNK, "chunk", chunk, HCOMM_MIN_CHUNK_SIZE, HCOMM_MAX_CHUNK_SIZE,
		     "Chunk size (default: 256K)"),
	ARG_MULTIPLE(OPT_EAGER, "eager", eager, 64, HCOMM_MAX_EAGER_SIZE,
		     "Largest eager message (default: 4K)"),
	ARG_TITLE("How it is planned:"),
	ARG_CALL('a', "algo", "NAME", algo_arg,
		 "This algorithm, no choice; e.g. ring, hierarchical/rd"),
	ARG_SIZE(OPT_GRAIN, "grain", grain, 64, HCOMM_MAX_CHUNK_SIZE,
		 "With --algo: grain of slices (default: the chunk size)"),
	ARG_NUMBER(OPT_CHANNELS, "channels", "N", channels, 1, HCOMM_SCHED_MAX_CHANNELS,
		   "With --algo: channels (default: 1)"),
	ARG_NUMBER(OPT_RADIX, "radix", "N", radix, 2, HCOMM_SCHED_MAX_RADIX,
		   "With --algo: radix of k-nomial, hierarchical Gather and Scatter (default: 4); hierarchical AllReduce: the last level, see --algo"),
	ARG_CALL(OPT_WISH, "wish", "TEXT", wish_arg, "As HCOMM_ALGO, e.g. allreduce:ring,hd"),
	ARG_CALL(OPT_TABLE, "table", "TEXT", table_arg, "As HCOMM_ALGO_TABLE"),
	ARG_CALL(OPT_PROTO, "proto", "NAME", proto_arg, "As HCOMM_PROTO"),
	ARG_TEXT(OPT_TUNER, "tuner", "FILE", tuner, "As HCOMM_TUNER"),
	ARG_CALL(OPT_MODEL, "model", "FILE", model_arg,
		 "As HCOMM_MODEL (default: built-in numbers)"),
	ARG_TITLE("What to do:"),
	ARG_CALL('p', "print", "RANK", print_arg, "Print the plan of that rank, or of all"),
	ARG_FLAG('x', "check", check, "Prove that the plans are right"),
	{ ARGS_CALL, 's', "simulate", "N",
	  "Simulate the choice; the N cheapest candidates",
	  .call = simulate_arg, .optional = true },
	ARG_TEXT(OPT_DOT, "dot", "FILE", dot, "Write a graph for graphviz"),
	ARG_TEXT(OPT_SVG, "svg", "FILE", svg,
		 "Write a picture: ranks as lanes, steps, messages"),
	ARG_FLAG(OPT_PRINT_MODEL, "print-model", print_model,
		 "Print the cost model, in the form that --model takes"),
};

/* what says how an algorithm is built is of an algorithm that was named and has that */
static void check_built(struct argp_state *state, const char *text, void *options)
{
	const struct options *opt = options;
	const struct hcomm_sched_args *a = &opt->job.args;
	bool levels = hcomm_has_last(a->algo, a->coll);

	(void)text;
	if (!opt->job.fixed && (opt->grain || opt->channels || opt->radix))
		argp_error(state, "--grain, --channels and --radix need --algo");
	if (opt->job.fixed && (opt->wished || opt->tuner || opt->simulated))
		argp_error(state, "--algo leaves no choice to --wish, --table, --proto and --tuner, nor candidates to --simulate=N");
	if (opt->last != HCOMM_LAST_ANY && (!levels || opt->radix))
		argp_error(state, "--algo with a last level is for a hierarchical allreduce, and says what --radix would");
	if (opt->radix && !hcomm_predict_uses_radix(a->algo, a->coll) && !(levels && hcomm_last_by_radix(opt->radix)))
		argp_error(state, "--radix %llu: use it for k-nomial, a hierarchical gather or scatter, and 2, 3, 5, 6 or 7 for a hierarchical allreduce",
			   (unsigned long long)opt->radix);
}

static const struct command_line command_line = {
	args, ARRAY_SIZE(args), .end = check_built,
	.doc = "Shows how a collective would be scheduled and why: all candidates with their predicted times, and the plan itself, printed, checked, simulated or drawn.",
};

/* ranks of a node are consecutive, so are the nodes of a group */
static void make_nodes(struct job *job)
{
	uint32_t n = job->args.nranks, i;
	uint32_t *node = must_malloc(n * sizeof(*node));
	uint32_t *group = must_malloc(n * sizeof(*group));
	uint32_t *by_rank = must_malloc(n * sizeof(*by_rank));

	if (job->nodes > n)
		fatal("%llu nodes are too many for %u ranks", (unsigned long long)job->nodes, n);
	job->per_node = (n + job->nodes - 1) / job->nodes;
	if ((n + job->per_node - 1) / job->per_node < job->nodes)
		fatal("%u ranks with %llu on a node do not fill %llu nodes", n,
		      (unsigned long long)job->per_node, (unsigned long long)job->nodes);
	if (job->groups > job->nodes)
		fatal("%llu groups are too many for %llu nodes",
		      (unsigned long long)job->groups, (unsigned long long)job->nodes);
	for (i = 0; i < n; i++)
		group[i] = (uint32_t)(i * job->groups / job->nodes);
	for (i = 0; i < n; i++) {
		node[i] = (uint32_t)(i / job->per_node);
		by_rank[i] = group[node[i]];
	}
	if (hcomm_shape_make(&job->planner.shape, n, node, group) ||
	    hcomm_sched_topo_create(n, node, by_rank, &job->topo))
		fatal("no memory");
	job->planner.shape.cpus = job->nodes == 1 ? (uint32_t)job->cpus : 0;
	job->args.topo = job->topo;
	free(node);
	free(group);
	free(by_rank);
}

static void check_call(const struct options *cmd)
{
	const struct hcomm_sched_args *args = &cmd->job.args;
	hcommRedOp_t op = (hcommRedOp_t)args->redop;
	hcommDataType_t dtype = (hcommDataType_t)args->dtype;
	const char *why = redop_misfit(op, dtype, args->coll == HCOMM_COLL_SCAN ||
				       args->coll == HCOMM_COLL_EXSCAN);

	if (cmd->root >= cmd->ranks)
		fatal("--root %llu: there are %llu ranks", (unsigned long long)cmd->root,
		      (unsigned long long)cmd->ranks);
	if (why)
		fatal("--op %s of %s: %s", redop_name(op), dtype_names[dtype], why);
	if (cmd->eager > cmd->chunk)
		fatal("the eager size is larger than the chunk size");
}

static void prepare(struct options *cmd)
{
	struct hcomm_planner *p = &cmd->job.planner;
	struct hcomm_sched_args *args = &cmd->job.args;
	char why[256];

	check_call(cmd);
	args->nranks = (uint32_t)cmd->ranks;
	args->count = args->coll == HCOMM_COLL_BARRIER ? 0 : cmd->count;
	args->root = (uint32_t)cmd->root;
	args->chunk_size = (uint32_t)cmd->chunk;
	p->lim = (struct hcomm_limits){
		.chunk_size = (uint32_t)cmd->chunk,
		.eager_size = (uint32_t)cmd->eager,
		.window = 4,
	};
	make_nodes(&cmd->job);
	if (!cmd->tuner)
		return;
	if (hcomm_tuner_load(cmd->tuner, &p->tuner, why, sizeof(why)))
		fatal("%s: %s", cmd->tuner, why);
	if (hcomm_tuner_open(p->tuner, &p->shape, &p->lim))
		fatal("%s: the plugin can't begin", cmd->tuner);
}

/* the choice, or what was given, into job->args */
static void choose(struct options *cmd)
{
	struct hcomm_sched_args *args = &cmd->job.args;
	struct hcomm_decision d;

	if (cmd->job.fixed) {
		if (cmd->grain)
			args->chunk_size = (uint32_t)cmd->grain;
		args->channels = (uint32_t)cmd->channels;
		args->radix = cmd->last == HCOMM_LAST_ANY ? (uint32_t)cmd->radix :
							    hcomm_last_radix(cmd->last);
		if (hcomm_sched_check(args))
			none_can(&cmd->job, hcomm_algo_name(args->algo));
		return;
	}
	if (hcomm_planner_decide(&cmd->job.planner, args, &d))
		none_can(&cmd->job, "what --wish leaves");
	print_candidates(&cmd->job, &d, cmd->simulated);
	hcomm_decision_apply(&d, args);
}

static void show(struct options *cmd)
{
	struct hcomm_plan **plans;
	uint32_t i, nsteps;
	uint64_t total = 0;
	FILE *f;

	plans = build_all(&cmd->job);
	for (i = 0; i < cmd->job.args.nranks; i++) {
		if (cmd->print_all || (cmd->printed && i == cmd->print))
			print_plan(plans[i], i);
		hcomm_plan_steps(plans[i], &nsteps);
		total += nsteps;
	}
	if ((cmd->dot || cmd->svg) && total > MAX_PRINT)
		fatal("%llu steps are too many for a picture",
		      (unsigned long long)total);
	if (cmd->dot) {
		f = results_open(cmd->dot);
		draw_dot(&cmd->job, plans, f);
		results_close(f, cmd->dot);
	}
	if (cmd->svg) {
		f = results_open(cmd->svg);
		draw_svg(&cmd->job, plans, f);
		results_close(f, cmd->svg);
	}
	free_all(&cmd->job, plans);
}

int main(int argc, char **argv)
{
	struct options cmd = {
		.job = {
			.args = {
				.coll = HCOMM_COLL_ALLREDUCE,
				.dtype = HCOMM_DT_FP32,
			},
			.nodes = 1,
			.groups = 1,
		},
		.ranks = 4,
		.count = 1024,
		.last = HCOMM_LAST_ANY,
		.chunk = 256 << 10,
		.eager = 4096,
	};
	int status = STATUS_OK;
	char text[1024];

	hcomm_model_default(&cmd.job.planner.model);
	parse_args(argc, argv, &command_line, &cmd);
	if (cmd.print_model) {
		hcomm_model_print(&cmd.job.planner.model, text, sizeof(text));
		fputs(text, stdout);
		return STATUS_OK;
	}
	prepare(&cmd);
	if (cmd.printed && !cmd.print_all && cmd.print >= cmd.ranks)
		fatal("there is no rank %llu", (unsigned long long)cmd.print);
	choose(&cmd);
	if (cmd.printed || cmd.dot || cmd.svg)
		show(&cmd);
	if (cmd.check && !check_plans(&cmd.job))
		status = STATUS_FAILED;
	if (cmd.simulate)
		print_simulation(&cmd.job);
	hcomm_planner_exit(&cmd.job.planner);
	hcomm_sched_topo_free(cmd.job.topo);
	return status;
}
