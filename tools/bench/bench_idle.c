// SPDX-License-Identifier: GPL-2.0-only
/*
 * What do idle communicators cost?  The node is watched twice, for the same time:
 * with communicators whose links are up and idle, and after they are destroyed.
 * The module runs only in system calls, work items, timers and the interrupts of
 * messages: the kernel's tracepoints tell exactly how many of its work items and
 * timers ran.  CPU times are shown beside, with what else the node did.
 */
#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../common/args.h"
#include "../common/job.h"
#include "../common/util.h"
#include "tracing.h"

static const char *const events[] = {
	"workqueue/workqueue_execute_start", "timer/timer_expire_entry",
	"timer/hrtimer_expire_entry",
};

struct options {
	uint64_t comms;
	uint64_t seconds;
	uint64_t local;
	const char *json;
};

/**
 * struct usage - what happened on this node
 * @tasks_ms: CPU time of this process and of all other programs and kernel threads
 * @switches: context switches
 * @interrupts: interrupts
 * @ran: work items and timers of the module
 */
struct usage {
	double tasks_ms;
	double switches;
	double interrupts;
	unsigned long ran;
};

static const struct arg args[] = {
	ARG_NUMBER('c', "comms", "N", comms, 1, 1024,
		   "Communicators beside the first (default: 32)"),
	ARG_NUMBER('t', "seconds", "N", seconds, 1, 3600, "Seconds to watch (default: 10)"),
	ARG_LOCAL('l'),
	ARG_JSON('J'),
};

static const struct command_line command_line = {
	args, ARRAY_SIZE(args),
	.doc = "What idle communicators cost.\v"
	       "Needs root, for tracing.  Exit status: 1 if any code of the module ran.",
};

/*
 * /proc/stat samples CPU time at ticks, and an idle node has few of them: what
 * threads used is known to the nanosecond.  The ranks themselves are left out,
 * because looking at all threads is most of what they do; see own_ms().
 */
static double thread_ms(const char *directory)
{
	char path[300], name[32] = "";
	double ns = 0;
	FILE *file;

	/* it may have ended */
	snprintf(path, sizeof(path), "%.256s/comm", directory);
	file = fopen(path, "r");
	if (!file)
		return 0;
	if (fscanf(file, "%31s", name) != 1)
		*name = 0;
	fclose(file);
	if (!strcmp(name, program_invocation_short_name))
		return 0;
	snprintf(path, sizeof(path), "%.256s/schedstat", directory);
	file = fopen(path, "r");
	if (!file)
		return 0;
	if (fscanf(file, "%lf", &ns) != 1)
		ns = 0;
	fclose(file);
	return ns / 1e6;
}

static double other_threads_ms(void)
{
	double ms = 0;
	glob_t found;
	size_t i;

	if (glob("/proc/[0-9]*/task/[0-9]*", GLOB_NOSORT, NULL, &found))
		fatal("/proc has no threads");
	for (i = 0; i < found.gl_pathc; i++)
		ms += thread_ms(found.gl_pathv[i]);
	globfree(&found);
	return ms;
}

static double own_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (double)ts.tv_sec * 1e3 + (double)ts.tv_nsec / 1e6;
}

static struct usage usage_now(void)
{
	struct usage usage = { 0 };
	FILE *file = fopen("/proc/stat", "r");
	char line[8192];

	if (!file)
		fatal("/proc/stat: %m");
	while (fgets(line, sizeof(line), file)) {
		sscanf(line, "ctxt %lf", &usage.switches);
		sscanf(line, "intr %lf", &usage.interrupts);
	}
	fclose(file);
	usage.tasks_ms = other_threads_ms();
	return usage;
}

static unsigned long count_module(void)
{
	FILE *trace = tracing_read();
	unsigned long count = 0;
	char line[1024];

	while (tracing_line(trace, line, sizeof(line)))
		count += !!strstr(line, "[hcomm]");
	fclose(trace);
	return count;
}

/* @tracing: this rank looks at the trace */
static struct usage watch(const struct options *opt, bool tracing)
{
	struct usage before, after;
	double own;

	/* what comes after the last call of hcomm is not idling */
	sleep(1);
	before = usage_now();
	if (tracing) {
		tracing_write("trace", "");
		tracing_write("tracing_on", "1");
	}
	own = own_ms();
	sleep((unsigned int)opt->seconds);
	own = own_ms() - own;
	if (tracing)
		tracing_write("tracing_on", "0");
	after = usage_now();
	after.ran = tracing ? count_module() : 0;
	after.tasks_ms += own - before.tasks_ms;
	after.switches -= before.switches;
	after.interrupts -= before.interrupts;
	return after;
}

static hcommComm_t make_comm(unsigned int rank, unsigned int size)
{
	hcommUniqueId *id = must_hcomm_malloc(sizeof(*id));
	hcommComm_t comm;
	int32_t *data;

	if (!rank)
		must(hcommGetUniqueId(id), "GetUniqueId");
	must(hcommBcast(id, sizeof(*id), hcommUint8, 0, COMM_WORLD),
	     "Broadcast of the id");
	must(hcommCommInitRank(&comm, (int)size, *id, (int)rank), "CommInitRank");
	hcommFree(id);
	/* brings the links up */
	data = must_hcomm_malloc(4);
	*data = 1;
	must(hcommAllReduce(data, data, 1, hcommInt32, hcommSum, comm),
	     "AllReduce");
	if (*data != (int32_t)size)
		fatal("AllReduce of 1 over %u ranks is %d", size, *data);
	hcommFree(data);
	return comm;
}

static int run(void *arg)
{
	const struct options *opt = arg;
	hcommComm_t *comms = must_malloc(opt->comms * sizeof(*comms));
	struct usage with, without;
	unsigned int rank, size;
	uint64_t i;

	world(&rank, &size);
	if (!rank) {
		tracing_start(events, ARRAY_SIZE(events));
		tracing_write("tracing_on", "1");
	}
	for (i = 0; i < opt->comms; i++)
		comms[i] = make_comm(rank, size);
	if (!rank) {
		tracing_write("tracing_on", "0");
		/* links are made by work items */
		if (!count_module())
			fatal("the trace does not show the module at work");
	}
	must(hcommBarrier(COMM_WORLD), "Barrier");
	with = watch(opt, !rank);
	must(hcommBarrier(COMM_WORLD), "Barrier");
	for (i = 0; i < opt->comms; i++)
		must(hcommCommDestroy(comms[i]), "CommDestroy");
	free(comms);
	must(hcommBarrier(COMM_WORLD), "Barrier");
	without = watch(opt, !rank);
	must(hcommBarrier(COMM_WORLD), "Barrier");

	if (!rank) {
		printf("%llu idle communicators of %u ranks, %llu s: all threads of the node used %.1f ms, %.0f context switches, %.0f interrupts\n",
		       (unsigned long long)opt->comms, size,
		       (unsigned long long)opt->seconds, with.tasks_ms,
		       with.switches, with.interrupts);
		printf("without them: %.1f ms, %.0f context switches, %.0f interrupts\n",
		       without.tasks_ms, without.switches, without.interrupts);
		printf("work items and timers of the module that ran: %lu: %s\n",
		       with.ran, with.ran ? "FAIL" : "PASS");
		write_results(opt->json, "{\"ranks\": %u, \"communicators\": %llu, \"seconds\": %llu, \"cpu_ms\": %.1f, \"cpu_ms_without\": %.1f, \"switches\": %.0f, \"switches_without\": %.0f, \"interrupts\": %.0f, \"interrupts_without\": %.0f, \"ran\": %lu}\n",
			      size, (unsigned long long)opt->comms,
			      (unsigned long long)opt->seconds, with.tasks_ms,
			      without.tasks_ms, with.switches, without.switches,
			      with.interrupts, without.interrupts, with.ran);
	}
	return with.ran ? STATUS_FAILED : STATUS_OK;
}

int main(int argc, char **argv)
{
	struct options opt = { .comms = 32, .seconds = 10, .local = 2 };

	parse_args(argc, argv, &command_line, &opt);
	return run_job(argc, argv, opt.local, run, &opt);
}
