// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>
#include <string.h>

#include "../common/args.h"
#include "../common/job.h"
#include "../common/util.h"
#include "perf.h"

#define MAX_BYTES	(1ull << 36)

static void coll_arg(struct argp_state *state, const char *text, void *options)
{
	struct options *opt = options;

	if (!perf_coll_by_name(text, &opt->coll))
		unknown_arg(state, text, "collective", perf_coll_names, PERF_COLLS);
}

static void dtype_arg(struct argp_state *state, const char *text, void *options)
{
	struct options *opt = options;
	hcommDataType_t dtype;

	if (!strcmp(text, "all"))
		opt->dtypes = (1u << DTYPES) - 1;
	else if (dtype_by_name(text, &dtype))
		opt->dtypes = 1u << dtype;
	else
		unknown_arg(state, text, "type", dtype_names, DTYPES);
}

static void op_arg(struct argp_state *state, const char *text, void *options)
{
	struct options *opt = options;
	hcommRedOp_t op;

	if (!strcmp(text, "all"))
		opt->ops = (2u << PERF_PREMUL) - 1;
	else if (!strcmp(text, redop_name(PREMUL_SUM)))
		opt->ops = 1u << PERF_PREMUL;
	else if (redop_by_name(text, &op))
		opt->ops = 1u << redop_index(op);
	else
		unknown_arg(state, text, "reduction", redop_names, REDOPS);
}

static void root_arg(struct argp_state *state, const char *text, void *options)
{
	struct options *opt = options;

	opt->root = -1;
	if (strcmp(text, "all"))
		opt->root = (int)number_arg(state, "root", text, 0, 65535);
}

static void check_arg(struct argp_state *state, const char *text, void *options)
{
	struct options *opt = options;

	opt->check = number_arg(state, "check", text, 0, 1);
}

static void average_arg(struct argp_state *state, const char *text, void *options)
{
	struct options *opt = options;

	opt->average = (enum perf_average)number_arg(state, "average", text, 0, 3);
}

static void stat_arg(struct argp_state *state, const char *text, void *options)
{
	struct options *opt = options;

	if (!strcmp(text, "mean"))
		opt->stat = STAT_MEAN;
	else if (!strcmp(text, "median"))
		opt->stat = STAT_MEDIAN;
	else if (!strcmp(text, "min"))
		opt->stat = STAT_MIN;
	else
		argp_error(state, "--stat %s: use mean, median or min", text);
}

static const char *misfit(const struct options *opt, unsigned int dtype, hcommRedOp_t op)
{
	return redop_misfit(op, (hcommDataType_t)dtype, perf_is_scan(opt->coll));
}

/* one reduction of one type that it does not have: there would be no rows */
static void check_op(struct argp_state *state, const struct options *opt)
{
	unsigned int op = (unsigned int)__builtin_ctz(opt->ops);
	unsigned int dtype = (unsigned int)__builtin_ctz(opt->dtypes);
	const char *why = NULL;

	if (!(opt->ops & (opt->ops - 1)) && op < REDOPS)
		why = misfit(opt, dtype, redops[op]);
	/* of all types some are integers */
	if (why && (!(opt->dtypes & (opt->dtypes - 1)) || redops[op] == hcommAvg))
		argp_error(state, "--op %s: %s", redop_names[op], why);
}

static void check_together(struct argp_state *state, const char *text, void *options)
{
	struct options *opt = options;

	(void)text;
	/* reductions matter only where something is reduced */
	if (!perf_has_op(opt->coll))
		opt->ops = 1u << hcommSum;
	check_op(state, opt);
	if (opt->min > opt->max)
		argp_error(state, "--minbytes is above --maxbytes");
	if (!opt->min && !opt->step && opt->max)
		argp_error(state, "sizes from 0 need --stepbytes");
}

static const struct arg args[] = {
	ARG_CALL('C', "coll", "NAME", coll_arg,
		 "What to measure: allreduce (default), reduce, broadcast, reduce_scatter, allgather, gather, scatter, alltoall, scan, exscan, sendrecv (ring), oneway (lower to upper half of the ranks), barrier"),
	ARG_TITLE("Sizes:"),
	ARG_SIZE('b', "minbytes", min, 0, MAX_BYTES, "First size (default: 1K)"),
	ARG_SIZE('e', "maxbytes", max, 0, MAX_BYTES, "Last size (default: 4M)"),
	ARG_SIZE('i', "stepbytes", step, 0, MAX_BYTES, "Add this from size to size"),
	ARG_NUMBER('f', "stepfactor", "N", factor, 2, 1 << 20,
		   "Multiply the size by this (default: 2)"),
	ARG_TITLE("Calls:"),
	ARG_CALL('o', "op", "OP", op_arg,
		 "sum (default), prod, min, max, avg, band, bor, bxor, land, lor, lxor, premul_sum, all"),
	ARG_CALL('d', "datatype", "TYPE", dtype_arg,
		 "fp32 (default), int8, uint8, int16, uint16, int32, uint32, int64, uint64, fp16, bf16, fp64, e4m3, e5m2, all"),
	ARG_CALL('r', "root", "RANK", root_arg, "Root (default: 0), or all"),
	ARG_TITLE("Iterations:"),
	ARG_NUMBER('n', "iters", "N", iters, 1, 1000000, "Iterations (default: 20)"),
	ARG_NUMBER('w', "warmup_iters", "N", warmup, 0, 1000000,
		   "Iterations before, not measured (default: 5)"),
	ARG_NUMBER('m', "agg_iters", "N", aggregate, 1, 1000000,
		   "Calls in flight at once in an iteration (default: 1)"),
	ARG_CALL('c', "check", "0|1", check_arg,
		 "Check the results and count wrong elements (default: 1)"),
	ARG_TITLE("Results:"),
	ARG_CALL('a', "average", "0-3", average_arg,
		 "Time of: 0 rank 0, 1 mean, 2 min, 3 max of the ranks (default: 3)"),
	ARG_CALL('s', "stat", "NAME", stat_arg,
		 "Time is the mean (default), median or min of the iterations"),
	ARG_TEXT('J', "json", "FILE", json,
		 "Write the results there, too, with all three times"),
	ARG_TITLE("Job:"),
	ARG_LOCAL('l'),
};

static const struct command_line command_line = {
	args, ARRAY_SIZE(args), .words = "[COLLECTIVE]", .word = coll_arg, .end = check_together,
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
	uint64_t bytes = opt->min, last = 0;

	if (!perf_moves_data(opt->coll)) {
		measure_line(perf, &line);
		return;
	}
	while (bytes <= opt->max) {
		line.count = perf_count(opt->coll, perf->size,
					dtype_size(dtype), bytes, &line.bytes);
		/* sizes below one element are the same */
		if (bytes == opt->min || line.bytes != last)
			measure_roots(perf, &line);
		last = line.bytes;
		if (!opt->step && !bytes)
			break;
		bytes = opt->step ? bytes + opt->step : bytes * opt->factor;
	}
}

static void measure_all(struct perf *perf)
{
	const struct options *opt = perf->opt;
	unsigned int dtype, i;

	for (dtype = 0; dtype < DTYPES; dtype++) {
		for (i = 0; i <= PERF_PREMUL; i++) {
			hcommRedOp_t op = i == PERF_PREMUL ? PREMUL_SUM : redops[i];

			if (opt->dtypes & 1u << dtype && opt->ops & 1u << i &&
			    !misfit(opt, dtype, op))
				measure_sizes(perf, (hcommDataType_t)dtype, op);
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
		perf.memory[i] = must_hcomm_malloc(opt->max + 8 * perf.size);
	if (!json_begin(&perf))
		return STATUS_ERROR;
	print_table_head(&perf);
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

	parse_args(argc, argv, &command_line, &opt);
	return run_job(argc, argv, opt.local, run, &opt);
}
