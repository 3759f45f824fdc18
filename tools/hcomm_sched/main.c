// SPDX-License-Identifier: GPL-2.0-only
/* hcomm_sched: look at schedules: why they are chosen, what they do. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/plan/names.h"
#include "../common/elems.h"
#include "../common/job.h"
#include "../common/util.h"
#include "sched.h"

#define MAX_PRINT	(1u << 20)	/* steps of a picture */

const char *argp_program_version = "hcomm_sched (hcomm) 0.1";

enum {
	OPT_OP = 256, OPT_GROUPS, OPT_CHUNK, OPT_EAGER, OPT_GRAIN, OPT_CHANNELS, OPT_RADIX,
	OPT_MODEL, OPT_TABLE, OPT_PROTO, OPT_WISH, OPT_TUNER, OPT_SHOW, OPT_DOT, OPT_SVG,
	OPT_FIXED, OPT_PRINT_MODEL,
};

static const struct argp_option option_table[] = {
	{ NULL, 0, NULL, 0, "The call:", 1 },
	{ "coll", 'C', "NAME", 0, "Collective (default: allreduce)", 0 },
	{ "count", 'c', "N", 0, "Elements: of the vector, or of one rank's block (default: 1024; K, M and G are known)", 0 },
	{ "datatype", 'd', "TYPE", 0, "fp32 (default), int8 ... fp64", 0 },
	{ "op", OPT_OP, "OP", 0, "sum (default), prod, min, max, avg, band ... lxor", 0 },
	{ "root", 'r', "RANK", 0, "Root (default: 0)", 0 },
	{ "in-place", 'i', NULL, 0, "Input and output are one buffer", 0 },
	{ "fixed-order", OPT_FIXED, NULL, 0, "Reduce in the order of ranks", 0 },
	{ NULL, 0, NULL, 0, "The communicator:", 2 },
	{ "ranks", 'n', "N", 0, "Ranks (default: 4)", 0 },
	{ "nodes", 'k', "N", 0, "Nodes, with equally many ranks except for the last (default: 1)", 0 },
	{ "groups", OPT_GROUPS, "N", 0, "Groups of nodes (default: 1)", 0 },
	{ "chunk", OPT_CHUNK, "SIZE", 0, "Chunk size (default: 256K)", 0 },
	{ "eager", OPT_EAGER, "SIZE", 0, "Largest eager message (default: 4K)", 0 },
	{ NULL, 0, NULL, 0, "How it is planned:", 3 },
	{ "algo", 'a', "NAME", 0, "This algorithm, no choice", 0 },
	{ "grain", OPT_GRAIN, "SIZE", 0, "With --algo: grain of slices (default: the chunk size)", 0 },
	{ "channels", OPT_CHANNELS, "N", 0, "With --algo: channels (default: 1)", 0 },
	{ "radix", OPT_RADIX, "N", 0, "With --algo: radix of k-nomial (default: 4)", 0 },
	{ "wish", OPT_WISH, "TEXT", 0, "As HCOMM_ALGO, e.g. allreduce:ring,hd", 0 },
	{ "table", OPT_TABLE, "TEXT", 0, "As HCOMM_ALGO_TABLE", 0 },
	{ "proto", OPT_PROTO, "NAME", 0, "As HCOMM_PROTO", 0 },
	{ "tuner", OPT_TUNER, "FILE", 0, "As HCOMM_TUNER", 0 },
	{ "model", OPT_MODEL, "FILE", 0, "As HCOMM_MODEL (default: built-in numbers)", 0 },
	{ NULL, 0, NULL, 0, "What to do:", 4 },
	{ "print", 'p', "RANK", 0, "Print the plan of that rank, or of all", 0 },
	{ "check", 'x', NULL, 0, "Prove that the plans are right", 0 },
	{ "simulate", 's', "N", OPTION_ARG_OPTIONAL, "Simulate the choice; the N cheapest candidates", 0 },
	{ "dot", OPT_DOT, "FILE", 0, "Write a graph for graphviz", 0 },
	{ "svg", OPT_SVG, "FILE", 0, "Write a picture: ranks as lanes, steps, messages", 0 },
	{ "print-model", OPT_PRINT_MODEL, NULL, 0, "Print the cost model, in the form that --model takes", 0 },
	{ NULL, 0, NULL, 0, NULL, 0 },
};

/**
 * struct command - the command line
 * @job: what to look at
 * @ranks: as given
 * @count: as given
 * @chunk: as given
 * @eager: as given
 * @root: as given
 * @grain: as given, 0: none
 * @channels: as given
 * @radix: as given
 * @simulated: candidates to simulate
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
struct command {
	struct job job;
	uint64_t ranks, count, chunk, eager, root, grain, channels, radix;
	uint64_t simulated;
	uint64_t print;
	bool simulate, printed, print_all, check, print_model;
	const char *dot, *svg, *tuner;
};

static void plan_option(int key, char *arg, struct argp_state *state,
			struct command *cmd)
{
	struct hcomm_planner *p = &cmd->job.planner;
	char why[700];
	int algo;

	switch (key) {
	case 'a':
		algo = hcomm_algo_by_word(arg, strlen(arg));
		hcomm_algo_words(0, why, sizeof(why));
		if (algo < 0)
			argp_error(state, "'%s' is no algorithm; known are %s", arg, why);
		cmd->job.args.algo = (uint32_t)algo;
		cmd->job.fixed = true;
		break;
	case OPT_WISH:
		if (hcomm_policy_algo(&p->policy, arg, why, sizeof(why)))
			argp_error(state, "--wish: %s", why);
		break;
	case OPT_TABLE:
		if (hcomm_policy_table(&p->policy, arg, why, sizeof(why)))
			argp_error(state, "--table: %s", why);
		break;
	case OPT_PROTO:
		if (hcomm_policy_proto(&p->policy, arg, why, sizeof(why)))
			argp_error(state, "--proto: %s", why);
		break;
	case OPT_MODEL:
		if (hcomm_model_load(arg, &p->model, why, sizeof(why)))
			argp_error(state, "--model %s: %s", arg, why);
		break;
	}
}

static void coll_option(int key, char *arg, struct argp_state *state,
			struct command *cmd)
{
	struct hcomm_sched_args *args = &cmd->job.args;
	hcommDataType_t dtype;
	hcommRedOp_t op;
	char known[256];
	int coll;

	switch (key) {
	case 'C':
		coll = hcomm_coll_by_word(arg, strlen(arg));
		hcomm_coll_words(known, sizeof(known));
		if (coll < 0)
			argp_error(state, "'%s' is no collective; known are %s", arg,
				   known);
		args->coll = (uint32_t)coll;
		break;
	case 'd':
		if (!dtype_by_name(arg, &dtype))
			argp_error(state, "'%s' is no type", arg);
		args->dtype = dtype;
		break;
	case OPT_OP:
		if (!redop_by_name(arg, &op))
			argp_error(state, "'%s' is no reduction", arg);
		args->redop = op;
		break;
	}
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct command *cmd = state->input;
	struct job *job = &cmd->job;

	switch (key) {
	case 'C': case 'd': case OPT_OP:
		coll_option(key, arg, state, cmd);
		break;
	case 'a': case OPT_WISH: case OPT_TABLE: case OPT_PROTO: case OPT_MODEL:
		plan_option(key, arg, state, cmd);
		break;
	case 'c':
		size_arg(state, "--count", arg, 0, 1ull << 40, &cmd->count);
		break;
	case 'r':
		number_arg(state, "--root", arg, 0, HCOMM_MAX_RANKS - 1, &cmd->root);
		break;
	case 'i':
		job->args.in_place = true;
		break;
	case OPT_FIXED:
		job->args.fixed_order = true;
		break;
	case 'n':
		number_arg(state, "--ranks", arg, 1, HCOMM_MAX_RANKS, &cmd->ranks);
		break;
	case 'k':
		number_arg(state, "--nodes", arg, 1, HCOMM_MAX_RANKS, &job->nodes);
		break;
	case OPT_GROUPS:
		number_arg(state, "--groups", arg, 1, HCOMM_MAX_RANKS, &job->groups);
		break;
	case OPT_CHUNK:
		size_arg(state, "--chunk", arg, HCOMM_MIN_CHUNK_SIZE,
			 HCOMM_MAX_CHUNK_SIZE, &cmd->chunk);
		break;
	case OPT_EAGER:
		size_arg(state, "--eager", arg, 64, HCOMM_MAX_EAGER_SIZE, &cmd->eager);
		break;
	case OPT_GRAIN:
		size_arg(state, "--grain", arg, 64, HCOMM_MAX_CHUNK_SIZE, &cmd->grain);
		break;
	case OPT_CHANNELS:
		number_arg(state, "--channels", arg, 1, HCOMM_SCHED_MAX_CHANNELS,
			   &cmd->channels);
		break;
	case OPT_RADIX:
		number_arg(state, "--radix", arg, 2, HCOMM_SCHED_MAX_RADIX, &cmd->radix);
		break;
	case OPT_TUNER:
		cmd->tuner = arg;
		break;
	case 'p':
		cmd->printed = true;
		cmd->print_all = !strcmp(arg, "all");
		if (!cmd->print_all)
			number_arg(state, "--print", arg, 0, HCOMM_MAX_RANKS - 1,
				   &cmd->print);
		break;
	case 'x':
		cmd->check = true;
		break;
	case 's':
		cmd->simulate = true;
		if (arg)
			number_arg(state, "--simulate", arg, 0, HCOMM_MAX_CANDIDATES,
				   &cmd->simulated);
		break;
	case OPT_DOT:
		cmd->dot = arg;
		break;
	case OPT_SVG:
		cmd->svg = arg;
		break;
	case OPT_PRINT_MODEL:
		cmd->print_model = true;
		break;
	case ARGP_KEY_ARG:
		argp_error(state, "'%s' is not known", arg);
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static const struct argp argp = {
	.options = option_table,
	.parser = parse_option,
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
		fatal("%llu nodes for %u ranks", (unsigned long long)job->nodes, n);
	job->per_node = (n + job->nodes - 1) / job->nodes;
	job->nodes = (n + job->per_node - 1) / job->per_node;
	if (job->groups > job->nodes)
		fatal("%llu groups of %llu nodes", (unsigned long long)job->groups,
		      (unsigned long long)job->nodes);
	for (i = 0; i < n; i++)
		group[i] = (uint32_t)(i * job->groups / job->nodes);
	for (i = 0; i < n; i++) {
		node[i] = (uint32_t)(i / job->per_node);
		by_rank[i] = group[node[i]];
	}
	if (hcomm_shape_make(&job->planner.shape, n, node, group) ||
	    hcomm_sched_topo_create(n, node, by_rank, &job->topo))
		fatal("no memory");
	job->args.topo = job->topo;
	free(node);
	free(group);
	free(by_rank);
}

static void prepare(struct command *cmd)
{
	struct hcomm_planner *p = &cmd->job.planner;
	struct hcomm_sched_args *args = &cmd->job.args;
	char why[256];

	if (cmd->eager > cmd->chunk)
		fatal("the eager size is larger than the chunk size");
	args->nranks = (uint32_t)cmd->ranks;
	args->count = cmd->count;
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
static void choose(struct command *cmd)
{
	struct hcomm_sched_args *args = &cmd->job.args;
	struct hcomm_decision d;
	int err;

	if (cmd->job.fixed) {
		if (cmd->grain)
			args->chunk_size = (uint32_t)cmd->grain;
		args->channels = (uint32_t)cmd->channels;
		args->radix = (uint32_t)cmd->radix;
		err = hcomm_sched_check(args);
		if (err)
			fatal("%s can't do this: %s", hcomm_algo_name(args->algo),
			      strerror(-err));
		return;
	}
	print_candidates(&cmd->job, cmd->simulated);
	if (hcomm_planner_decide(&cmd->job.planner, args, &d))
		fatal("nothing does this");
	hcomm_decision_apply(&d, args);
}

static void show(struct command *cmd)
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
	struct command cmd = {
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
		.chunk = 256 << 10,
		.eager = 4096,
	};
	int status = STATUS_OK;
	char text[1024];

	hcomm_model_default(&cmd.job.planner.model);
	argp_parse(&argp, argc, argv, 0, NULL, &cmd);
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
