// SPDX-License-Identifier: GPL-2.0-only
/*
 * How long does it take to build the program of one rank?  No device is needed.
 */
#include <errno.h>
#include <hcomm/sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../common/job.h"
#include "../common/util.h"

/* what the worst rank may take, in milliseconds */
#define LIMIT_MS	50.0

struct options {
	uint64_t ranks;
	uint64_t bytes;
	uint64_t sample;
	const char *json;
};

const char *argp_program_version = "bench_build (hcomm) 0.1";

static const struct argp_option option_table[] = {
	{ "ranks", 'n', "N", 0, "Ranks of the communicator (default: 1024)", 0 },
	{ "size", 's', "SIZE", 0, "Bytes of the AllReduce (default: 64M)", 0 },
	{ "sample", 'k', "N", 0, "Build for so many of the ranks (default: 64)", 0 },
	{ "json", 'J', "FILE", 0, "Write the result there, too", 0 },
	{ NULL, 0, NULL, 0, NULL, 0 },
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct options *opt = state->input;

	switch (key) {
	case 'n':
		number_arg(state, "--ranks", arg, 1, HCOMM_MAX_RANKS, &opt->ranks);
		return 0;
	case 's':
		size_arg(state, "--size", arg, 0, 1ull << 40, &opt->bytes);
		return 0;
	case 'k':
		number_arg(state, "--sample", arg, 1, HCOMM_MAX_RANKS, &opt->sample);
		return 0;
	case 'J':
		opt->json = arg;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = option_table,
	.parser = parse_option,
	.doc = "Time to build a rank's program of a ring AllReduce.\v"
	       "Exit status: 1 if a rank took more than 50 ms.",
};

static double build_ms(const struct options *opt, uint32_t rank, uint32_t *steps)
{
	struct hcomm_sched_args args = {
		.coll = HCOMM_COLL_ALLREDUCE, .algo = HCOMM_ALGO_RING,
		.rank = rank, .nranks = (uint32_t)opt->ranks,
		.count = opt->bytes / 4, .dtype = HCOMM_DT_FP32,
		.redop = HCOMM_OP_SUM, .in_place = true,
		.chunk_size = 256 << 10,
	};
	struct hcomm_plan *plan;
	uint64_t begin = now_ns();
	int ret = hcomm_sched_build(&args, &plan);
	double ms = (double)(now_ns() - begin) / 1e6;

	if (ret)
		fatal("rank %u: %s", rank, strerror(-ret));
	hcomm_plan_steps(plan, steps);
	hcomm_plan_free(plan);
	return ms;
}

int main(int argc, char **argv)
{
	struct options opt = { .ranks = 1024, .bytes = 64 << 20, .sample = 64 };
	uint64_t i, n;
	double *ms, median, worst;
	uint32_t steps = 0;
	FILE *json;

	argp_parse(&argp, argc, argv, 0, NULL, &opt);
	n = opt.sample < opt.ranks ? opt.sample : opt.ranks;
	ms = must_malloc(n * sizeof(*ms));
	for (i = 0; i < n; i++)
		ms[i] = build_ms(&opt, (uint32_t)(i * opt.ranks / n), &steps);
	median = median_of(ms, n);
	worst = ms[n - 1];
	printf("ring allreduce, %llu ranks, %llu bytes: %u steps per rank, built in %.3f ms (median of %llu ranks), %.3f ms (worst); limit %.0f ms: %s\n",
	       (unsigned long long)opt.ranks, (unsigned long long)opt.bytes,
	       steps, median, (unsigned long long)n, worst, LIMIT_MS,
	       worst < LIMIT_MS ? "PASS" : "FAIL");
	if (opt.json) {
		json = results_open(opt.json);
		fprintf(json, "{\"ranks\": %llu, \"bytes\": %llu, \"steps\": %u, \"median_ms\": %.4f, \"worst_ms\": %.4f}\n",
			(unsigned long long)opt.ranks,
			(unsigned long long)opt.bytes, steps, median, worst);
		results_close(json, opt.json);
	}
	free(ms);
	return worst < LIMIT_MS ? STATUS_OK : STATUS_FAILED;
}
