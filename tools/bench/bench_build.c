// SPDX-License-Identifier: GPL-2.0-only
/*
 * How long does it take to build the program of one rank?  No device is needed.
 */
#include <errno.h>
#include <hcomm/sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../common/args.h"
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

static const struct arg args[] = {
	ARG_NUMBER('n', "ranks", "N", ranks, 1, HCOMM_MAX_RANKS,
		   "Ranks of the communicator (default: 1024)"),
	ARG_SIZE('s', "size", bytes, 0, 1ull << 40, "Bytes of the AllReduce (default: 64M)"),
	ARG_NUMBER('k', "sample", "N", sample, 1, HCOMM_MAX_RANKS,
		   "Build for so many of the ranks (default: 64)"),
	ARG_JSON('J'),
};

static const struct command_line command_line = {
	args, ARRAY_SIZE(args),
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

	parse_args(argc, argv, &command_line, &opt);
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
	write_results(opt.json, "{\"ranks\": %llu, \"bytes\": %llu, \"steps\": %u, \"median_ms\": %.4f, \"worst_ms\": %.4f}\n",
		      (unsigned long long)opt.ranks, (unsigned long long)opt.bytes,
		      steps, median, worst);
	free(ms);
	return worst < LIMIT_MS ? STATUS_OK : STATUS_FAILED;
}
