// SPDX-License-Identifier: GPL-2.0-only
/*
 * What do idle communicators cost?  The node is watched twice, for the same time:
 * with communicators whose links are up and idle, and after they are destroyed.
 * The difference is theirs.  Start one process per rank.
 */
#include <argp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "../common/util.h"

/* a difference that is noise: of one CPU */
#define LIMIT_PERCENT	0.5

struct options {
	uint64_t comms;
	uint64_t seconds;
	uint64_t local;
	const char *json;
};

/**
 * struct usage - what happened on this node, and in this process
 * @busy_ms: time that CPUs were not idle
 * @switches: context switches
 * @process_ms: CPU time of this process
 */
struct usage {
	double busy_ms;
	double switches;
	double process_ms;
};

const char *argp_program_version = "bench_idle (hcomm) 0.1";

static const struct argp_option option_table[] = {
	{ "comms", 'c', "N", 0, "Communicators beside the first (default: 32)", 0 },
	{ "seconds", 't', "N", 0, "Seconds to watch (default: 10)", 0 },
	{ "local", 'l', "RANKS", 0, "Without a launcher: start so many ranks on this node (default: 2)", 0 },
	{ "json", 'J', "FILE", 0, "Write the result there, too", 0 },
	{ NULL, 0, NULL, 0, NULL, 0 },
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct options *opt = state->input;

	switch (key) {
	case 'c':
		if (!parse_number(arg, 1024, &opt->comms) || !opt->comms)
			argp_error(state, "--comms %s: use a number from 1 to 1024",
				   arg);
		return 0;
	case 't':
		if (!parse_number(arg, 3600, &opt->seconds) || !opt->seconds)
			argp_error(state, "--seconds %s: use a number from 1 to 3600",
				   arg);
		return 0;
	case 'l':
		if (!parse_number(arg, 1024, &opt->local) || !opt->local)
			argp_error(state, "--local %s: use a number from 1 to 1024",
				   arg);
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
	.doc = "CPU time of idle communicators.\v"
	       "Exit status: 1 if they used more than 0.5 % of one CPU.",
};

static struct usage usage_now(void)
{
	double tick_ms = 1000.0 / (double)sysconf(_SC_CLK_TCK);
	unsigned long long t[8] = { 0 };
	struct usage usage = { 0 };
	struct rusage self;
	char line[512];
	FILE *file = fopen("/proc/stat", "r");

	if (!file)
		fatal("/proc/stat: %m");
	while (fgets(line, sizeof(line), file)) {
		if (sscanf(line, "cpu  %llu %llu %llu %llu %llu %llu %llu %llu",
			   &t[0], &t[1], &t[2], &t[3], &t[4], &t[5], &t[6],
			   &t[7]) == 8)
			usage.busy_ms = tick_ms * (double)(t[0] + t[1] + t[2] +
							   t[5] + t[6]);
		sscanf(line, "ctxt %lf", &usage.switches);
	}
	fclose(file);
	getrusage(RUSAGE_SELF, &self);
	usage.process_ms = (double)(self.ru_utime.tv_sec + self.ru_stime.tv_sec) *
			   1e3 + (double)(self.ru_utime.tv_usec +
					  self.ru_stime.tv_usec) / 1e3;
	return usage;
}

static struct usage watch(const struct options *opt)
{
	struct usage before, after;

	/* what comes after the last call of hcomm is not idling */
	sleep(1);
	before = usage_now();
	sleep((unsigned int)opt->seconds);
	after = usage_now();
	after.busy_ms -= before.busy_ms;
	after.switches -= before.switches;
	after.process_ms -= before.process_ms;
	return after;
}

static hcommComm_t make_comm(int rank, int size)
{
	hcommUniqueId *id = must_hcomm_malloc(sizeof(*id));
	hcommComm_t comm;
	int32_t *data;

	if (!rank)
		must(hcommGetUniqueId(id), "GetUniqueId");
	must(hcommBcast(id, sizeof(*id), hcommUint8, 0, COMM_WORLD),
	     "Broadcast of the id");
	must(hcommCommInitRank(&comm, size, *id, rank), "CommInitRank");
	hcommFree(id);
	/* brings the links up */
	data = must_hcomm_malloc(4);
	*data = 1;
	must(hcommAllReduce(data, data, 1, hcommInt32, hcommSum, comm),
	     "AllReduce");
	if (*data != size)
		fatal("AllReduce of 1 over %d ranks is %d", size, *data);
	hcommFree(data);
	return comm;
}

static void write_json(const struct options *opt, int size,
		       const struct usage *with, const struct usage *without,
		       double percent)
{
	FILE *json = fopen(opt->json, "w");

	if (!json)
		fatal("%s: %m", opt->json);
	fprintf(json, "{\"ranks\": %d, \"communicators\": %llu, \"seconds\": %llu, \"busy_ms\": %.1f, \"busy_ms_without\": %.1f, \"switches\": %.0f, \"switches_without\": %.0f, \"process_ms\": %.3f, \"percent\": %.3f}\n",
		size, (unsigned long long)opt->comms,
		(unsigned long long)opt->seconds, with->busy_ms,
		without->busy_ms, with->switches, without->switches,
		with->process_ms, percent);
	if (fclose(json))
		fatal("%s: %m", opt->json);
}

static int run(const struct options *opt)
{
	hcommComm_t *comms = must_malloc(opt->comms * sizeof(*comms));
	struct usage with, without;
	int rank, size;
	double percent;
	uint64_t i;

	must(hcommCommRank(COMM_WORLD, &rank), "CommRank");
	must(hcommCommSize(COMM_WORLD, &size), "CommSize");
	for (i = 0; i < opt->comms; i++)
		comms[i] = make_comm(rank, size);
	must(hcommBarrier(COMM_WORLD), "Barrier");
	with = watch(opt);
	must(hcommBarrier(COMM_WORLD), "Barrier");
	for (i = 0; i < opt->comms; i++)
		must(hcommCommDestroy(comms[i]), "CommDestroy");
	free(comms);
	must(hcommBarrier(COMM_WORLD), "Barrier");
	without = watch(opt);
	must(hcommBarrier(COMM_WORLD), "Barrier");

	percent = (with.busy_ms - without.busy_ms) / 10 / (double)opt->seconds;
	if (!rank) {
		printf("%llu idle communicators of %d ranks, %llu s: node busy %.0f ms, %.0f context switches, process %.2f ms\n",
		       (unsigned long long)opt->comms, size,
		       (unsigned long long)opt->seconds, with.busy_ms,
		       with.switches, with.process_ms);
		printf("without them: node busy %.0f ms, %.0f context switches, process %.2f ms\n",
		       without.busy_ms, without.switches, without.process_ms);
		printf("difference: %.2f %% of one CPU (limit %.1f %%): %s\n",
		       percent, LIMIT_PERCENT,
		       percent <= LIMIT_PERCENT ? "PASS" : "FAIL");
		if (opt->json)
			write_json(opt, size, &with, &without, percent);
	}
	return rank || percent <= LIMIT_PERCENT ? STATUS_OK : STATUS_FAILED;
}

int main(int argc, char **argv)
{
	struct options opt = { .comms = 32, .seconds = 10, .local = 2 };
	int status;

	argp_parse(&argp, argc, argv, 0, NULL, &opt);
	need_device();
	if (!has_launcher())
		return run_local_ranks(argv, (unsigned int)opt.local);
	must(hcommInit(&argc, &argv), "hcommInit");
	status = run(&opt);
	must(hcommFinalize(), "hcommFinalize");
	return status;
}
