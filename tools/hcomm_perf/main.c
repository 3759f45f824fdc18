// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>
#include <string.h>

#include "../common/elems.h"
#include "../common/job.h"
#include "../common/util.h"
#include "perf.h"

#define MAX_BYTES	(1ull << 36)

const char *argp_program_version = "hcomm_perf (hcomm) 0.1";

static const struct argp_option option_table[] = {
	{ "coll", 'C', "NAME", 0, "What to measure: allreduce (default), reduce, broadcast, reduce_scatter, allgather, gather, scatter, alltoall, scan, exscan, sendrecv (ring), oneway (lower to upper half of the ranks), barrier", 0 },
	{ "minbytes", 'b', "SIZE", 0, "First size (default: 1K)", 1 },
	{ "maxbytes", 'e', "SIZE", 0, "Last size (default: 4M)", 1 },
	{ "stepbytes", 'i', "SIZE", 0, "Add this from size to size", 1 },
	{ "stepfactor", 'f', "N", 0, "Multiply the size by this (default: 2)", 1 },
	{ "op", 'o', "OP", 0, "sum (default), prod, min, max, avg, band, bor, bxor, land, lor, lxor, all", 2 },
	{ "datatype", 'd', "TYPE", 0, "fp32 (default), int8, uint8, int16, uint16, int32, uint32, int64, uint64, fp16, bf16, fp64, all", 2 },
	{ "root", 'r', "RANK", 0, "Root (default: 0), or all", 2 },
	{ "iters", 'n', "N", 0, "Iterations (default: 20)", 3 },
	{ "warmup_iters", 'w', "N", 0, "Iterations before, not measured (default: 5)", 3 },
	{ "agg_iters", 'm', "N", 0, "Calls in flight at once in an iteration (default: 1)", 3 },
	{ "check", 'c', "0|1", 0, "Check the results and count wrong elements (default: 1)", 3 },
	{ "average", 'a', "0-3", 0, "Time of: 0 rank 0, 1 mean, 2 min, 3 max of the ranks (default: 3)", 4 },
	{ "stat", 's', "NAME", 0, "Time is the mean (default), median or min of the iterations", 4 },
	{ "json", 'J', "FILE", 0, "Write the results there, too, with all three times", 4 },
	{ "local", 'l', "RANKS", 0, "Without a launcher: start so many ranks on this node (default: 2)", 5 },
	{ NULL, 0, NULL, 0, NULL, 0 },
};

static void coll_arg(struct argp_state *state, const char *arg,
		     struct options *opt)
{
	if (!perf_coll_by_name(arg, &opt->coll))
		argp_error(state, "'%s' is no collective; see --help", arg);
}

static void dtype_arg(struct argp_state *state, const char *arg,
		      struct options *opt)
{
	hcommDataType_t dtype;

	if (!strcmp(arg, "all"))
		opt->dtypes = (1u << DTYPES) - 1;
	else if (dtype_by_name(arg, &dtype))
		opt->dtypes = 1u << dtype;
	else
		argp_error(state, "'%s' is no type; see --help", arg);
}

static void op_arg(struct argp_state *state, const char *arg,
		   struct options *opt)
{
	hcommRedOp_t op;

	if (!strcmp(arg, "all"))
		opt->ops = (1u << REDOPS) - 1;
	else if (redop_by_name(arg, &op))
		opt->ops = 1u << redop_index(op);
	else
		argp_error(state, "'%s' is no reduction; see --help", arg);
}

static void stat_arg(struct argp_state *state, const char *arg,
		     struct options *opt)
{
	if (!strcmp(arg, "mean"))
		opt->stat = STAT_MEAN;
	else if (!strcmp(arg, "median"))
		opt->stat = STAT_MEDIAN;
	else if (!strcmp(arg, "min"))
		opt->stat = STAT_MIN;
	else
		argp_error(state, "--stat %s: use mean, median or min", arg);
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct options *opt = state->input;
	uint64_t n = 0;

	switch (key) {
	case 'C':
	case ARGP_KEY_ARG:
		if (key == ARGP_KEY_ARG && state->arg_num > 0)
			argp_error(state, "one collective only");
		coll_arg(state, arg, opt);
		break;
	case 'b':
		size_arg(state, "--minbytes", arg, 0, MAX_BYTES, &opt->min);
		break;
	case 'e':
		size_arg(state, "--maxbytes", arg, 0, MAX_BYTES, &opt->max);
		break;
	case 'i':
		size_arg(state, "--stepbytes", arg, 0, MAX_BYTES, &opt->step);
		break;
	case 'f':
		number_arg(state, "--stepfactor", arg, 2, 1 << 20, &opt->factor);
		break;
	case 'n':
		number_arg(state, "--iters", arg, 1, 1000000, &opt->iters);
		break;
	case 'w':
		number_arg(state, "--warmup_iters", arg, 0, 1000000,
			   &opt->warmup);
		break;
	case 'm':
		number_arg(state, "--agg_iters", arg, 1, 1000000,
			   &opt->aggregate);
		break;
	case 'c':
		number_arg(state, "--check", arg, 0, 1, &n);
		opt->check = n;
		break;
	case 'a':
		number_arg(state, "--average", arg, 0, 3, &n);
		opt->average = (enum perf_average)n;
		break;
	case 'r':
		opt->root = -1;
		if (!strcmp(arg, "all"))
			break;
		number_arg(state, "--root", arg, 0, 65535, &n);
		opt->root = (int)n;
		break;
	case 'o':
		op_arg(state, arg, opt);
		break;
	case 'd':
		dtype_arg(state, arg, opt);
		break;
	case 's':
		stat_arg(state, arg, opt);
		break;
	case 'J':
		opt->json = arg;
		break;
	case 'l':
		number_arg(state, "--local", arg, 1, MAX_LOCAL_RANKS, &opt->local);
		break;
	case ARGP_KEY_END:
		if (opt->min > opt->max)
			argp_error(state, "--minbytes is above --maxbytes");
		if (!opt->min && !opt->step && opt->max)
			argp_error(state, "sizes from 0 need --stepbytes");
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static const struct argp argp = {
	.options = option_table,
	.parser = parse_option,
	.args_doc = "[COLLECTIVE]",
	.doc = "Measure collectives.\v"
	       "The launcher's environment says which rank this process is; without a launcher, ranks of this node are started.  "
	       "reduce_scatter, allgather, gather, scatter and alltoall have the size of all blocks.  "
	       "busbw is algbw times 2(n-1)/n for allreduce, (n-1)/n for those with blocks, 1 for the others.  "
	       "Exit status: 0, 1 if a result was wrong, 2 if the job could not be done.",
};

static void measure_line(struct perf *perf, struct line *line)
{
	const struct options *opt = perf->opt;

	line->has_way[0] = true;
	line->has_way[1] = perf_has_in_place(opt->coll);
	perf_measure(perf, line, false);
	if (line->has_way[1])
		perf_measure(perf, line, true);
	print_line(perf, line);
	json_line(perf, line);
}

static void measure_roots(struct perf *perf, struct line *line)
{
	const struct options *opt = perf->opt;
	unsigned int i;

	if (!perf_has_root(opt->coll) || opt->root >= 0) {
		line->root = opt->root < 0 ? 0 : opt->root;
		measure_line(perf, line);
		return;
	}
	for (i = 0; i < perf->size; i++) {
		line->root = (int)i;
		measure_line(perf, line);
	}
}

static void measure_sizes(struct perf *perf, hcommDataType_t dtype,
			  hcommRedOp_t op)
{
	const struct options *opt = perf->opt;
	struct line line = { .dtype = dtype, .op = op };
	uint64_t bytes = opt->min;

	if (!perf_moves_data(opt->coll)) {
		measure_line(perf, &line);
		return;
	}
	while (bytes <= opt->max) {
		line.count = perf_count(opt->coll, perf->size,
					dtype_size(dtype), bytes, &line.bytes);
		measure_roots(perf, &line);
		if (!opt->step && !bytes)
			break;
		bytes = opt->step ? bytes + opt->step : bytes * opt->factor;
	}
}

static void measure_all(struct perf *perf)
{
	const struct options *opt = perf->opt;
	unsigned int dtype, op;

	for (dtype = 0; dtype < DTYPES; dtype++) {
		for (op = 0; op < REDOPS; op++) {
			if (opt->dtypes & 1u << dtype && opt->ops & 1u << op &&
			    redop_fits(redops[op], (hcommDataType_t)dtype) &&
			    !(redops[op] == hcommAvg && perf_is_scan(opt->coll)))
				measure_sizes(perf, (hcommDataType_t)dtype,
					      redops[op]);
		}
	}
}

static int run(void *arg)
{
	const struct options *opt = arg;
	struct perf perf = { .opt = opt };
	unsigned int i;

	world(&perf.rank, &perf.size);
	if (opt->root >= (int)perf.size)
		fatal("--root %d: there are %u ranks", opt->root, perf.size);
	if (opt->coll == PERF_ONEWAY && perf.size < 2)
		fatal("oneway needs two ranks");
	perf.samples = must_malloc(opt->iters * sizeof(*perf.samples));
	for (i = 0; i < ARRAY_SIZE(perf.memory); i++)
		perf.memory[i] = must_hcomm_malloc(opt->max + 64);
	print_table_head(&perf);
	json_begin(&perf);
	measure_all(&perf);
	json_end(&perf);
	for (i = 0; i < ARRAY_SIZE(perf.memory); i++)
		hcommFree(perf.memory[i]);
	free(perf.samples);
	if (perf.wrong > 0 && !perf.rank)
		complain("%.0f elements were wrong", perf.wrong);
	return perf.wrong > 0 ? STATUS_FAILED : STATUS_OK;
}

int main(int argc, char **argv)
{
	struct options opt = {
		.coll = PERF_ALLREDUCE, .min = 1024, .max = 4 << 20,
		.factor = 2, .iters = 20, .warmup = 5, .aggregate = 1,
		.check = true, .dtypes = 1u << hcommFloat32,
		.ops = 1u << hcommSum, .root = 0, .stat = STAT_MEAN,
		.average = AVERAGE_MAX, .local = 2,
	};

	argp_parse(&argp, argc, argv, 0, NULL, &opt);
	/* reductions matter only where something is reduced */
	if (!perf_has_op(opt.coll))
		opt.ops = 1u << hcommSum;
	return run_job(argc, argv, opt.local, run, &opt);
}
