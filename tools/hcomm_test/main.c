// SPDX-License-Identifier: GPL-2.0-only
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../common/args.h"
#include "../common/job.h"
#include "../common/util.h"
#include "test.h"

/* failures that a rank explains, per group */
#define MAX_EXPLAINED	5

static const struct part {
	const char *name;
	void (*run)(struct test *t);
} parts[] = {
	{ "barrier", test_barrier },
	{ "p2p", test_p2p },
	{ "collectives", test_collectives },
	{ "vector", test_vector },
	{ "rounding", test_rounding },
	{ "memory", test_memory },
	{ "async", test_async },
};

struct options {
	const struct part *only;
	bool all;
	uint64_t local;
	uint64_t max_bytes;
	struct comm_list *before;	/* what there was before this job */
};

static void only_arg(struct argp_state *state, const char *text, void *options)
{
	const char *known[ARRAY_SIZE(parts)];
	struct options *opt = options;
	size_t i;

	opt->only = NULL;
	for (i = 0; i < ARRAY_SIZE(parts); i++) {
		known[i] = parts[i].name;
		if (!strcmp(text, parts[i].name))
			opt->only = &parts[i];
	}
	if (!opt->only)
		unknown_arg(state, text, "part", known, ARRAY_SIZE(known));
}

static const struct arg args[] = {
	ARG_FLAG('a', "all", all,
		 "Every operation with every type, reduction, root and size, not only a sample"),
	ARG_LOCAL('n'),
	ARG_SIZE('e', "max-size", max_bytes, 1, 1u << 30, "Largest message (default: 4M)"),
	ARG_CALL('o', "only", "PART", only_arg,
		 "Only this part: barrier, p2p, collectives, vector, rounding, memory, async"),
};

static const struct command_line command_line = {
	args, ARRAY_SIZE(args),
	.doc = "Check the results of all operations over all links of a job.\v"
	       "The launcher's environment says which rank this process is; without a launcher, ranks of this node are started.  "
	       "Exit status: 0 if all is right, 1 if a result is wrong, 2 if the job could not be done.",
};

unsigned int test_sizes(const struct test *t, uint64_t *sizes)
{
	const uint64_t wanted[] = {
		0, 1, 8, 24, t->eager - 8, t->eager, t->eager + 8,
		t->chunk - 8, t->chunk, t->chunk + 8,
		t->chunk * 3 + 4104, (4u << 20) + 8, t->max_bytes,
	};
	/* of the list above, for a sample */
	const bool sample[] = {
		true, true, false, true, false, true, true,
		false, false, true,
		true, false, true,
	};
	unsigned int i, n = 0;

	for (i = 0; i < ARRAY_SIZE(wanted); i++) {
		if ((t->all || sample[i]) && wanted[i] <= t->max_bytes)
			sizes[n++] = wanted[i];
	}
	return n;
}

void group_begin(struct test *t)
{
	t->checks = 0;
	t->wrong = 0;
	t->begin = now_ns();
}

void check_result(struct test *t, bool ok, const char *fmt, ...)
{
	char text[256];
	va_list ap;

	t->checks++;
	if (ok || t->wrong++ >= MAX_EXPLAINED)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	complain("rank %u: %s", t->rank, text);
}

void group_end(struct test *t, const char *fmt, ...)
{
	uint32_t *wrong = (uint32_t *)t->memory[0];
	char text[256];
	va_list ap;

	*wrong = t->wrong;
	must(hcommAllReduce(wrong, wrong, 1, hcommUint32, hcommSum, COMM_WORLD),
	     "AllReduce of the verdict");
	/* A rank never overlooks what it saw itself. */
	if (*wrong || t->wrong)
		t->failed++;
	else
		t->passed++;
	if (t->rank)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	printf("%s  %-40s %6u checks %7.2f s",
	       *wrong || t->wrong ? "FAIL" : "PASS", text, t->checks,
	       (double)(now_ns() - t->begin) / 1e9);
	if (*wrong)
		printf(", %u wrong over all ranks", *wrong);
	printf("\n");
	fflush(stdout);
}

static void allocate(struct test *t)
{
	unsigned int i;

	/* gathers have a block of every rank, all have room to be misaligned */
	t->room = t->max_bytes + 2 * GUARD_BYTES + 4096 + 8 * (size_t)t->size;
	for (i = 0; i < ARRAY_SIZE(t->memory); i++)
		t->memory[i] = must_hcomm_malloc(t->room);
}

static int run_tests(void *arg)
{
	const struct options *opt = arg;
	struct test t = {
		.all = opt->all, .max_bytes = opt->max_bytes,
		.chunk = 256 << 10, .eager = 4096,
	};
	uint64_t start = now_ns();
	struct facts facts;
	unsigned int i;

	world(&t.rank, &t.size);
	facts_find(&facts, opt->before, t.rank, t.size);
	facts_number(&facts, "chunk_size", &t.chunk);
	facts_number(&facts, "eager_size", &t.eager);
	allocate(&t);
	if (!t.rank) {
		printf("hcomm_test: %u ranks, chunks of %llu, eager up to %llu bytes, messages up to %llu bytes%s\n",
		       t.size, (unsigned long long)t.chunk,
		       (unsigned long long)t.eager,
		       (unsigned long long)t.max_bytes,
		       t.all ? "" : ", a sample (--all for all)");
		fflush(stdout);
	}

	for (i = 0; i < ARRAY_SIZE(parts); i++) {
		if (!opt->only || opt->only == &parts[i])
			parts[i].run(&t);
	}
	facts_print_links(&facts, &t);

	must(hcommBarrier(COMM_WORLD), "Barrier");
	for (i = 0; i < ARRAY_SIZE(t.memory); i++)
		must(hcommFree(t.memory[i]), "Free");
	if (!t.rank)
		printf("hcomm_test: %u passed, %u failed (%.1f s)\n", t.passed,
		       t.failed, (double)(now_ns() - start) / 1e9);
	return t.failed ? STATUS_FAILED : STATUS_OK;
}

int main(int argc, char **argv)
{
	struct options opt = { .local = 2, .max_bytes = 4 << 20 };

	parse_args(argc, argv, &command_line, &opt);
	opt.before = facts_before();
	return run_job(argc, argv, opt.local, run_tests, &opt);
}
