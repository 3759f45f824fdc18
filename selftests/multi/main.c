// SPDX-License-Identifier: GPL-2.0-only
/*
 * Several nodes over RDMA, by raw ioctls: one rank per node.  Runs on all nodes
 * at once; the nodes are numbered by LAB_NODE, their addresses are LAB_ADDRS.
 * With the same address for all, these are ranks of one kernel.
 *
 * Each scenario runs in a child on every node, and meets the others over TCP on
 * a port of its own, so that a scenario that ends badly does not disturb the
 * next.  Node 0 collects the verdicts and prints TAP.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <arpa/inet.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/wait.h>
#include "multi.h"

#define PORT 47000

uint32_t me, nodes;
struct in_addr addrs[MAX_NODES];
int checks_failed;

bool check_failed(const char *file, int line, const char *what, const char *fmt, ...)
{
	va_list ap;

	printf("# rank %u, %s:%d: %s: ", me, file, line, what);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	printf("\n");
	fflush(stdout);
	checks_failed++;
	return false;
}

struct scenario {
	const char *name;
	void (*run)(void);
};

static const struct scenario scenarios[] = {
	{ "exchange of all sizes, unaligned, reduced", exchange },
	{ "small chunks, little staging", small_chunks },
	{ "eight runs in any order", many_runs },
	{ "loopback over RDMA on one node", loopback },
	{ "the higher rank connects", higher_connects },
	{ "both ranks connect at once", both_connect },
	{ "another secret is refused", other_secret },
	{ "other options are named on both sides", other_options },
	{ "another call is named on both sides", other_call },
	{ "a killed rank is named by all", killed },
	{ "a rank killed while data flows", killed_busy },
	{ "a rank that leaves is named by all", left },
	{ "an abort ends all runs", aborted },
	{ "a time limit ends the run on all", timed_out },
	{ "strangers do not disturb", strangers },
	{ "a cut link fails in bounded time", link_down },
	{ "all works after the link is back", link_up },
	{ "100 communicators in sequence", sequence },
};

/* In a child: 0 passed, else not. */
static int run_scenario(const struct scenario *s, int port)
{
	int status, ret;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid < 0)
		return 1;
	if (!pid) {
		alarm(SCENARIO_LIMIT);
		ret = boot_open(&boot, port, nodes);
		if (!CHECK(!ret, "bootstrap: %s", strerror(-ret)))
			exit(1);
		s->run();
		fflush(stdout);
		_exit(checks_failed != 0);
	}
	if (waitpid(pid, &status, 0) != pid)
		return 1;
	/* The one that is to be killed. */
	if (s->run == killed && me == nodes - 1)
		return !(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	if (WIFSIGNALED(status))
		printf("# rank %u: ended by signal %d\n", me, WTERMSIG(status));
	return !(WIFEXITED(status) && !WEXITSTATUS(status));
}

static bool parse_env(void)
{
	const char *list = getenv("LAB_ADDRS"), *node = getenv("LAB_NODE");
	char *copy, *word, *save = NULL;

	if (!list || !node)
		return false;
	copy = strdup(list);
	for (word = strtok_r(copy, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
		if (nodes == MAX_NODES || !inet_aton(word, &addrs[nodes]))
			return false;
		nodes++;
	}
	free(copy);
	me = atoi(node);
	return nodes >= 2 && me < nodes;
}

/* A verdict of each node; also keeps the nodes in step. */
static uint32_t verdicts(int port, int failed)
{
	uint8_t all[MAX_NODES] = {};
	uint32_t sum = 0;
	struct boot b;
	int ret;

	all[me] = failed;
	/* A node that does not come ends the test. */
	alarm(SCENARIO_LIMIT + 60);
	ret = boot_open(&b, port, nodes);
	NEED(!ret, "verdicts: %s", strerror(-ret));
	boot_gather(&b, all, 1, nodes);
	for (uint32_t i = 0; i < nodes; i++) {
		if (b.peer[i] >= 0)
			close(b.peer[i]);
		if (all[i] && !me)
			printf("# failed on node %u\n", i);
		sum += all[i];
	}
	alarm(0);
	return sum;
}

/* Words of the command line select scenarios by a part of their name. */
int main(int argc, char **argv)
{
	uint32_t n = 0, failed = 0;

	setvbuf(stdout, NULL, _IOLBF, 0);
	signal(SIGPIPE, SIG_IGN);
	if (!parse_env()) {
		fprintf(stderr, "LAB_NODE and LAB_ADDRS are to name the nodes\n");
		return 2;
	}
	for (uint32_t i = 0; i < ARRAY_LEN(scenarios); i++) {
		bool wanted = argc < 2;
		double start = now();
		uint32_t bad;

		for (int k = 1; k < argc; k++)
			wanted |= !!strstr(scenarios[i].name, argv[k]);
		if (!wanted)
			continue;
		bad = run_scenario(&scenarios[i], PORT + 2 * i);
		bad = verdicts(PORT + 2 * i + 1, bad);
		failed += !!bad;
		if (!me)
			printf("%sok %u - %u nodes: %s (%.1f s)\n", bad ? "not " : "", ++n, nodes,
			       scenarios[i].name, now() - start);
	}
	if (!me)
		printf("1..%u\n", n);
	return failed || (!me && !n);
}
