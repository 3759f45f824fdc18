// SPDX-License-Identifier: GPL-2.0-only
/* The table and the JSON file; only rank 0 writes. */
#include <inttypes.h>
#include <unistd.h>

#include "../common/job.h"
#include "../common/util.h"
#include "perf.h"

static const char *const stat_names[] = { "mean", "median", "min" };
static const char *const average_names[] = { "rank 0", "mean", "min", "max" };
static const char *const way_names[] = { "out_of_place", "in_place" };

double timing_shown(const struct options *opt, const struct timing *timing)
{
	switch (opt->stat) {
	case STAT_MEAN:
		return timing->mean;
	case STAT_MEDIAN:
		return timing->median;
	default:
		return timing->min;
	}
}

/* bytes per microsecond are MB/s */
static double algbw(const struct line *line, double us)
{
	return us > 0 ? (double)line->bytes / us / 1000 : 0;
}

void print_table_head(const struct perf *perf)
{
	const struct options *opt = perf->opt;

	if (perf->rank)
		return;
	printf("# hcomm_perf %s: %u ranks, %" PRIu64 " iterations, %" PRIu64
	       " to warm up, %" PRIu64 " calls at once, check %d\n",
	       perf_coll_names[opt->coll], perf->size, opt->iters, opt->warmup,
	       opt->aggregate, opt->check);
	printf("# time: %s of the iterations, %s of the ranks; 1 GB = 10^9 bytes\n",
	       stat_names[opt->stat], average_names[opt->average]);
	printf("#\n#%12s %12s %8s %10s %6s  %34s  %34s\n", "", "", "", "", "",
	       "out of place             ", "in place               ");
	printf("#%12s %12s %8s %10s %6s  %9s %8s %8s %6s  %9s %8s %8s %6s\n",
	       "size", "count", "type", "redop", "root", "time", "algbw", "busbw",
	       "#wrong", "time", "algbw", "busbw", "#wrong");
	printf("#%12s %12s %8s %10s %6s  %9s %8s %8s %6s  %9s %8s %8s %6s\n",
	       "(B)", "(elements)", "", "", "", "(us)", "(GB/s)", "(GB/s)", "",
	       "(us)", "(GB/s)", "(GB/s)", "");
	fflush(stdout);
}

static void print_way(const struct perf *perf, const struct line *line, int way)
{
	const struct timing *timing = &line->way[way];
	double us = timing_shown(perf->opt, timing), bw = algbw(line, us), bus;
	char wrong[24] = "N/A";

	if (!line->has_way[way]) {
		printf("  %9s %8s %8s %6s", "N/A", "N/A", "N/A", "N/A");
		return;
	}
	if (timing->wrong >= 0)
		snprintf(wrong, sizeof(wrong), "%.0f", timing->wrong);
	bus = bw * perf_bus_factor(perf->opt->coll, perf->size);
	/* slow networks need the digits, fast ones do not */
	printf("  %9.*f %8.*f %8.*f %6s", us < 10000 ? 2 : 0, us,
	       bw < 1 ? 5 : 3, bw, bus < 1 ? 5 : 3, bus, wrong);
}

void print_line(const struct perf *perf, const struct line *line)
{
	const struct options *opt = perf->opt;

	if (perf->rank)
		return;
	printf(" %12" PRIu64 " %12" PRIu64 " %8s %10s %6d", line->bytes,
	       line->count, dtype_names[line->dtype],
	       perf_has_op(opt->coll) ? redop_name(line->op) : "none",
	       perf_has_root(opt->coll) ? line->root : -1);
	print_way(perf, line, 0);
	print_way(perf, line, 1);
	printf("\n");
	fflush(stdout);
}

static void json_head(const struct perf *perf)
{
	const struct options *opt = perf->opt;
	char host[65] = "";

	gethostname(host, sizeof(host) - 1);
	fprintf(perf->json,
		"{\n \"tool\": \"hcomm_perf\",\n \"collective\": \"%s\",\n"
		" \"host\": \"%s\",\n \"ranks\": %u,\n \"iterations\": %" PRIu64
		",\n \"warmup\": %" PRIu64 ",\n \"aggregate\": %" PRIu64
		",\n \"average\": \"%s\",\n \"bus_factor\": %.6f,\n \"results\": [",
		perf_coll_names[opt->coll], host, perf->size, opt->iters,
		opt->warmup, opt->aggregate, average_names[opt->average],
		perf_bus_factor(opt->coll, perf->size));
}

bool json_begin(struct perf *perf)
{
	int *ok = must_hcomm_malloc(sizeof(*ok)), opened;
	const char *path = perf->opt->json;

	if (path && !perf->rank) {
		perf->json = fopen(path, "w");
		if (!perf->json)
			complain("%s: %m", path);
	}
	/* others that go on would report that rank 0 is gone */
	*ok = !path || perf->json;
	must(hcommBroadcast(ok, ok, 1, hcommInt32, 0, COMM_WORLD), "Broadcast");
	opened = *ok;
	hcommFree(ok);
	if (perf->json)
		json_head(perf);
	return opened;
}

void json_line(struct perf *perf, const struct line *line)
{
	const struct options *opt = perf->opt;
	int way;

	if (!perf->json)
		return;
	fprintf(perf->json, "%s\n  {\"size\": %" PRIu64 ", \"count\": %" PRIu64
		", \"type\": \"%s\"", perf->lines++ ? "," : "", line->bytes,
		line->count, dtype_names[line->dtype]);
	if (perf_has_op(opt->coll))
		fprintf(perf->json, ", \"redop\": \"%s\"", redop_name(line->op));
	if (perf_has_root(opt->coll))
		fprintf(perf->json, ", \"root\": %d", line->root);
	for (way = 0; way < 2; way++) {
		const struct timing *timing = &line->way[way];
		double bw = algbw(line, timing_shown(opt, timing));

		if (!line->has_way[way])
			continue;
		fprintf(perf->json,
			", \"%s\": {\"mean_us\": %.3f, \"median_us\": %.3f, \"min_us\": %.3f, \"algbw\": %.6f, \"busbw\": %.6f",
			way_names[way], timing->mean, timing->median,
			timing->min, bw,
			bw * perf_bus_factor(opt->coll, perf->size));
		if (timing->wrong >= 0)
			fprintf(perf->json, ", \"wrong\": %.0f", timing->wrong);
		fprintf(perf->json, "}");
	}
	fprintf(perf->json, "}");
}

void json_end(struct perf *perf)
{
	if (!perf->json)
		return;
	fprintf(perf->json, "\n ]\n}\n");
	results_close(perf->json, perf->opt->json);
}
