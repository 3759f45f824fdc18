// SPDX-License-Identifier: GPL-2.0-only
/* Buffers of other origin than hcommMalloc(). */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../common/elems.h"
#include "../common/util.h"
#include "test.h"

static void all_reduce(struct test *t, const char *kind, const void *send,
		       void *recv, size_t count)
{
	char period[PERIOD * 4];
	size_t wrong;

	must(hcommAllReduce(send, recv, count, hcommInt32, hcommSum,
			    COMM_WORLD), kind);
	pattern_reduced(period, hcommInt32, hcommSum, 1, t->size);
	wrong = pattern_wrong(recv, period, 4, 0, count, NULL);
	check_result(t, !wrong, "%s: %zu of %zu elements are wrong", kind, wrong,
		     count);
}

static void fill(const struct test *t, void *dst, size_t count)
{
	char period[PERIOD * 4];

	pattern_of_rank(period, hcommInt32, hcommSum, 1, t->rank);
	pattern_fill(dst, period, 4, 0, count);
}

static void check_malloc(struct test *t, size_t count)
{
	char *send = must_malloc(count * 4 + 1), *recv = must_malloc(count * 4 + 1);

	fill(t, send + 1, count);
	all_reduce(t, "memory of malloc()", send + 1, recv + 1, count);
	fill(t, recv, count);
	all_reduce(t, "memory of malloc(), in place", recv, recv, count);
	free(send);
	free(recv);
}

static void check_registered(struct test *t, size_t count)
{
	char *send = must_malloc(count * 4), *recv = must_malloc(count * 4);
	hcommMem_t a, b;

	must(hcommMemRegister(send, count * 4, &a), "MemRegister");
	must(hcommMemRegister(recv, count * 4, &b), "MemRegister");
	fill(t, send, count);
	all_reduce(t, "registered memory", send, recv, count);
	must(hcommMemDeregister(a), "MemDeregister");
	all_reduce(t, "memory that was registered", send, recv, count);
	must(hcommMemDeregister(b), "MemDeregister");
	free(send);
	free(recv);
}

/* A buffer that is only read may be memory that can only be read. */
static void check_read_only(struct test *t, size_t count)
{
	size_t bytes = count * 4;
	char *send = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *recv = must_hcomm_malloc(bytes);

	if (send == MAP_FAILED)
		fatal("mmap of %zu bytes: %m", bytes);
	fill(t, send, count);
	if (mprotect(send, bytes, PROT_READ))
		fatal("mprotect: %m");
	all_reduce(t, "read-only memory", send, recv, count);
	munmap(send, bytes);
	hcommFree(recv);
}

static void check_stack(struct test *t)
{
	int32_t send[100], recv[100];

	fill(t, send, ARRAY_SIZE(send));
	all_reduce(t, "memory of the stack", send, recv, ARRAY_SIZE(send));
}

/* The same pages again, with other contents and from other calls. */
static void check_reuse(struct test *t)
{
	unsigned int i;

	for (i = 0; i < 20; i++) {
		size_t count = 1000 + 5000 * (i % 4);
		char *p = must_hcomm_malloc(count * 4);

		fill(t, p, count);
		all_reduce(t, "memory used again", p, p, count);
		hcommFree(p);
	}
}

void test_memory(struct test *t)
{
	size_t large = t->max_bytes < 4 ? 1 : t->max_bytes / 4;

	group_begin(t);
	check_stack(t);
	check_malloc(t, 1);
	check_malloc(t, 10007);
	check_malloc(t, large);
	check_registered(t, 10007);
	check_registered(t, large);
	check_read_only(t, 300);
	check_read_only(t, large);
	check_reuse(t);
	group_end(t, "memory of any origin");
}
