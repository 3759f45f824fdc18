// SPDX-License-Identifier: GPL-2.0-only
/*
 * How many system calls and allocations does a launch make?  The kernel's own
 * tracepoints are counted while rank 0 makes blocking AllReduce calls that were
 * made before: first all of rank 0's thread, then, on the whole node, those
 * allocations whose call site is in the module.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../common/args.h"
#include "../common/job.h"
#include "../common/util.h"
#include "tracing.h"

#define WARMUP		20

static const char *const events[] = {
	"raw_syscalls/sys_enter", "kmem/kmalloc", "kmem/kmem_cache_alloc",
	"kmem/mm_page_alloc", "hcomm/hcomm_launch",
};

struct options {
	uint64_t launches;
	uint64_t bytes;
	uint64_t local;
	bool verbose;
	const char *json;
};

/**
 * struct counts - events of one window
 * @ioctls: ioctl() calls
 * @others: other system calls
 * @allocs: slab allocations
 * @module_allocs: those from the module's code
 * @pages: page allocations
 * @launches: launches that the module reported
 */
struct counts {
	unsigned long ioctls;
	unsigned long others;
	unsigned long allocs;
	unsigned long module_allocs;
	unsigned long pages;
	unsigned long launches;
};

static const struct arg args[] = {
	ARG_NUMBER('n', "launches", "N", launches, 1, 10000, "Launches to watch (default: 200)"),
	ARG_SIZE('s', "size", bytes, 0, 1u << 30, "Bytes of the AllReduce (default: 64K)"),
	ARG_LOCAL('l'),
	ARG_FLAG('v', "verbose", verbose, "Print the allocations that were seen"),
	ARG_JSON('J'),
};

static const struct command_line command_line = {
	args, ARRAY_SIZE(args),
	.doc = "Count the system calls and the allocations of a launch, by tracing.\v"
	       "Exit status: 1 if a launch made more than one system call, or if the module allocated memory.",
};

/* --------------------------------------------------------------------- events */

static void count_line(const char *line, bool verbose, struct counts *c)
{
	const char *nr = strstr(line, "sys_enter: NR ");

	if (nr) {
		if (atol(nr + strlen("sys_enter: NR ")) == SYS_ioctl)
			c->ioctls++;
		else
			c->others++;
	} else if (strstr(line, " kmalloc: ") ||
		   strstr(line, " kmem_cache_alloc: ")) {
		c->allocs++;
		c->module_allocs += !!strstr(line, "[hcomm]");
	} else if (strstr(line, " mm_page_alloc: ")) {
		c->pages++;
	} else {
		c->launches += !!strstr(line, " hcomm_launch: ");
		return;
	}
	if (verbose && !nr)
		fputs(line, stderr);
}

static void count_events(bool verbose, struct counts *c)
{
	FILE *trace = tracing_read();
	char line[1024];

	memset(c, 0, sizeof(*c));
	while (tracing_line(trace, line, sizeof(line)))
		count_line(line, verbose, c);
	fclose(trace);
}

/* ----------------------------------------------------------------- the launches */

static void launch(void *data, uint64_t bytes, uint64_t count)
{
	uint64_t i;

	for (i = 0; i < count; i++)
		must(hcommAllReduce(data, data, bytes / 4, hcommFloat32,
				    hcommSum, COMM_WORLD), "AllReduce");
}

/* @on is -1 on ranks that do not watch */
static void window(const struct options *opt, void *data, uint64_t bytes,
		   uint64_t count, int on, struct counts *counts)
{
	must(hcommBarrier(COMM_WORLD), "Barrier");
	if (on >= 0 && write(on, "1", 1) != 1)
		fatal("tracing_on: %m");
	launch(data, bytes, count);
	if (on >= 0 && write(on, "0", 1) != 1)
		fatal("tracing_on: %m");
	if (on >= 0)
		count_events(opt->verbose, counts);
	must(hcommBarrier(COMM_WORLD), "Barrier");
}

static int report(const struct options *opt, const struct counts *mine,
		  const struct counts *node)
{
	/* the one that stops the trace is not the launch's */
	unsigned long others = mine->others ? mine->others - 1 : 0;
	bool good = mine->launches == opt->launches &&
		    mine->ioctls + others == opt->launches &&
		    !mine->module_allocs && !node->module_allocs;

	printf("%llu launches of an allreduce of %llu bytes: %lu ioctl calls, %lu other system calls\n",
	       (unsigned long long)opt->launches,
	       (unsigned long long)opt->bytes, mine->ioctls, others);
	printf("allocations in the calling thread: %lu (%lu by hcomm), pages: %lu\n",
	       mine->allocs, mine->module_allocs, mine->pages);
	printf("allocations by hcomm on the whole node: %lu of %lu\n",
	       node->module_allocs, node->allocs);
	if (mine->launches != opt->launches)
		complain("the trace has %lu launches", mine->launches);
	printf("one system call and no allocation per launch: %s\n",
	       good ? "PASS" : "FAIL");
	write_results(opt->json, "{\"launches\": %llu, \"bytes\": %llu, \"ioctls\": %lu, \"other_calls\": %lu, \"thread_allocs\": %lu, \"thread_pages\": %lu, \"module_allocs\": %lu}\n",
		      (unsigned long long)opt->launches,
		      (unsigned long long)opt->bytes, mine->ioctls, others,
		      mine->allocs, mine->pages, node->module_allocs);
	return good ? STATUS_OK : STATUS_FAILED;
}

static int run(void *arg)
{
	const struct options *opt = arg;
	struct counts mine = { 0 }, node = { 0 };
	int on = -1, status = STATUS_OK;
	unsigned int rank, size;
	char text[48];
	void *data;

	world(&rank, &size);
	data = must_hcomm_malloc(opt->bytes + 4);
	memset(data, 0, opt->bytes + 4);
	launch(data, opt->bytes, WARMUP);
	if (!rank) {
		tracing_start(events, ARRAY_SIZE(events));
		on = tracing_open("tracing_on", O_WRONLY);
	}
	/* A call of a new size loads a program: the trace must show that. */
	window(opt, data, opt->bytes + 4, 1, on, &node);
	if (!rank) {
		if (!node.module_allocs)
			fatal("the trace does not show allocations of the module");
		tracing_write("trace", "");
		snprintf(text, sizeof(text), "common_pid == %ld",
			 syscall(SYS_gettid));
		tracing_filter(events, ARRAY_SIZE(events), text);
	}
	window(opt, data, opt->bytes, opt->launches, on, &mine);
	if (!rank) {
		tracing_write("trace", "");
		tracing_filter(events, ARRAY_SIZE(events), "0");
	}
	window(opt, data, opt->bytes, opt->launches, on, &node);
	if (!rank) {
		close(on);
		status = report(opt, &mine, &node);
	}
	must(hcommBarrier(COMM_WORLD), "Barrier");
	hcommFree(data);
	return status;
}

int main(int argc, char **argv)
{
	struct options opt = { .launches = 200, .bytes = 64 << 10, .local = 2 };

	parse_args(argc, argv, &command_line, &opt);
	return run_job(argc, argv, opt.local, run, &opt);
}
