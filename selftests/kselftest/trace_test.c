// SPDX-License-Identifier: GPL-2.0-only
/*
 * The tracepoints, and by tracing: a launch is one system call and allocates
 * nothing.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <ctype.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/syscall.h>
#include "util.h"
#include "kselftest_harness.h"

#define TRACING "/sys/kernel/tracing/"
#define LEN 8192u
#define LAUNCHES 200
#define WARM 50

static bool put(const char *file, const char *text)
{
	char path[256];
	bool ok;
	int fd;

	snprintf(path, sizeof(path), TRACING "%s", file);
	fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
	if (fd < 0)
		return false;
	ok = write(fd, text, strlen(text)) == (ssize_t)strlen(text);
	close(fd);
	return ok;
}

static bool have_event(const char *event)
{
	char path[256];

	snprintf(path, sizeof(path), TRACING "events/%s/enable", event);
	return !access(path, W_OK);
}

static bool enable(const char *event, bool on)
{
	char path[256];

	snprintf(path, sizeof(path), "events/%s/enable", event);
	return put(path, on ? "1" : "0");
}

/* All of the trace; the caller frees it. */
static char *trace_text(void)
{
	size_t size = 1 << 20, used = 0;
	char *text = malloc(size);
	int fd = open(TRACING "trace", O_RDONLY | O_CLOEXEC);
	ssize_t n = 0;

	while (text && fd >= 0 && (n = read(fd, text + used, size - used - 1)) > 0) {
		used += n;
		if (size - used < 65536) {
			size *= 2;
			text = realloc(text, size);
		}
	}
	if (text)
		text[used] = 0;
	if (fd >= 0)
		close(fd);
	return text;
}

/* How many lines have all of these. */
static int count(const char *text, const char *a, const char *b, const char *c)
{
	int n = 0;

	while (*text) {
		const char *end = strchrnul(text, '\n');
		char *line = strndup(text, end - text);

		n += strstr(line, a) && (!b || strstr(line, b)) && (!c || strstr(line, c));
		free(line);
		text = *end ? end + 1 : end;
	}
	return n;
}

/* A number behind "key=" in the first line that has what and key. */
static long long field(const char *text, const char *what, const char *key)
{
	while (*text) {
		const char *end = strchrnul(text, '\n');
		char *line = strndup(text, end - text), *at;
		long long value = -1;
		bool found = false;

		at = strstr(line, what) ? strstr(line, key) : NULL;
		if (at) {
			value = strtoll(at + strlen(key), NULL, 0);
			found = true;
		}
		free(line);
		if (found)
			return value;
		text = *end ? end + 1 : end;
	}
	return -1;
}

FIXTURE(trace)
{
	struct rank r[2];
	uint8_t *buf[2];
	uint32_t mem[2];
	uint32_t prog[2];
	char *text;
};

static int open_pair(struct rank *r)
{
	struct hcomm_comm_create opt;

	create_init(&opt, 0, 2);
	opt.chunk_size = 4096;
	opt.eager_size = 1024;
	return ranks_open(r, 2, &opt);
}

FIXTURE_SETUP(trace)
{
	memset(self, 0, sizeof(*self));
	ASSERT_TRUE(put("tracing_on", "0")) TH_LOG("no " TRACING);
	ASSERT_TRUE(put("events/enable", "0"));
	put("set_event_pid", " ");
	ASSERT_TRUE(put("buffer_size_kb", "8192"));
	ASSERT_TRUE(put("trace", " "));
	ASSERT_TRUE(enable("hcomm", true));
	ASSERT_TRUE(put("tracing_on", "1"));
	ASSERT_EQ(0, open_pair(self->r));
	for (int i = 0; i < 2; i++) {
		struct hcomm_step steps[] = {
			{ .op = HCOMM_STEP_SEND, .peer = !i, .len = LEN },
			{ .op = HCOMM_STEP_RECV, .peer = !i, .dst_off = LEN, .len = LEN },
			{ .op = HCOMM_STEP_REDUCE, .dtype = HCOMM_DT_UINT32,
			  .src_off = LEN, .dst_off = 2 * LEN, .len = LEN,
			  .dep_count = 1 },
		};
		uint32_t deps[] = { 1 | HCOMM_DEP_STREAM };

		self->buf[i] = pages(3 * LEN);
		ASSERT_NE(NULL, self->buf[i]);
		memset(self->buf[i], 1, 3 * LEN);
		ASSERT_EQ(0, mem_reg(self->r[i].fd, self->buf[i], 3 * LEN, 0, &self->mem[i]));
		ASSERT_EQ(0, prog_load(self->r[i].fd, self->r[i].comm, steps, 3, deps, 1, 1,
				       &self->prog[i]));
	}
}

FIXTURE_TEARDOWN(trace)
{
	put("tracing_on", "0");
	put("events/enable", "0");
	put("trace", " ");
	put("buffer_size_kb", "1408");
	put("tracing_on", "1");
	free(self->text);
	for (int i = 0; i < 2; i++) {
		rank_close(&self->r[i]);
		munmap(self->buf[i], 3 * LEN);
	}
}

static int go(struct rank *r, uint32_t prog, uint32_t mem, uint64_t run, uint32_t flags)
{
	struct hcomm_slot slot = { .mem_id = mem, .length = 3 * LEN };
	struct hcomm_launch arg = {
		.size = sizeof(arg), .prog_id = prog, .slots = (uintptr_t)&slot, .nslots = 1,
		.run = run, .user_data = 0xabc00 + r->create.rank, .flags = flags,
		.call = { .coll = HCOMM_COLL_ALLREDUCE, .count = 77, .algo = 5 },
	};

	return call(r->fd, HCOMM_LAUNCH, &arg);
}

TEST_F(trace, events)
{
	struct hcomm_cqe cqe;
	uint64_t duration = 0;

	for (int i = 0; i < 2; i++)
		ASSERT_EQ(0, go(&self->r[i], self->prog[i], self->mem[i], 4711, 0));
	for (int i = 0; i < 2; i++) {
		ASSERT_EQ(0, ring_wait(self->r[i].fd, 1, 5000000000ll));
		ASSERT_TRUE(ring_next(self->r[i].ring, &cqe));
		ASSERT_EQ(0, cqe.status);
		if (!i)
			duration = cqe.duration_ns;
	}
	/* One rank leaves in good order: its end of the link is closed. */
	rank_close(&self->r[1]);
	usleep(200000);
	put("tracing_on", "0");
	self->text = trace_text();
	ASSERT_NE(NULL, self->text);

	EXPECT_EQ(2, count(self->text, "hcomm_launch:", "run=4711", NULL));
	EXPECT_EQ(1, count(self->text, "hcomm_launch:", "rank=0", "user_data=0xabc00"));
	EXPECT_EQ(1, count(self->text, "hcomm_launch:", "rank=1", "user_data=0xabc01"));
	EXPECT_EQ(2, count(self->text, "hcomm_launch:", "coll=allreduce ", NULL));
	EXPECT_EQ(77, field(self->text, "hcomm_launch:", "count="));
	EXPECT_EQ(5, field(self->text, "hcomm_launch:", "algo="));
	/* Each chunk of each step is done once: 2 ranks, 3 steps of 2 chunks. */
	EXPECT_EQ(12, count(self->text, "hcomm_step:", "run=4711", " done"));
	for (int i = 0; i < 3; i++) {
		char step[32];

		snprintf(step, sizeof(step), "step=%d ", i);
		EXPECT_EQ(4, count(self->text, "hcomm_step:", step, " done"));
	}
	EXPECT_EQ(6, count(self->text, "hcomm_step:", "chunk=1 ", " done"));
	EXPECT_EQ(0, count(self->text, "hcomm_step:", "chunk=2 ", NULL));
	EXPECT_EQ(2, count(self->text, "hcomm_complete:", "run=4711", "status=0"));
	EXPECT_EQ(1, count(self->text, "hcomm_complete:", "rank=0", NULL));
	EXPECT_EQ((long long)duration,
		  field(self->text, "rank=0 run=4711 status=", "duration_ns="));
	EXPECT_EQ(1, count(self->text, "hcomm_link_state:", "rank=0 peer=1", "-> ready"));
	EXPECT_EQ(1, count(self->text, "hcomm_link_state:", "rank=1 peer=0", "-> ready"));
	EXPECT_EQ(1, count(self->text, "hcomm_link_state:", "rank=0 peer=1", "-> closed"));
	EXPECT_EQ(0, count(self->text, "hcomm_link_state:", "-> failed", NULL));
}

/* --------------------------------------------------------------- cost of a launch */

struct launcher {
	struct rank *r;
	uint32_t prog, mem;
	pid_t tid;
	int phase;	/* 1: warm, 2: may measure, 3: measured, 4: may end */
	int errors;
};

static int phase(struct launcher *l)
{
	return __atomic_load_n(&l->phase, __ATOMIC_ACQUIRE);
}

static void set_phase(struct launcher *l, int to)
{
	__atomic_store_n(&l->phase, to, __ATOMIC_RELEASE);
}

static void launch_many(struct launcher *l, int n, uint64_t run)
{
	struct hcomm_cqe cqe;

	while (n--) {
		if (go(l->r, l->prog, l->mem, run++, HCOMM_LAUNCH_WAIT))
			l->errors++;
		else if (!ring_next(l->r->ring, &cqe) || cqe.status)
			l->errors++;
	}
}

/* While it is measured a thread makes no other system call than launches. */
static void *launcher(void *arg)
{
	struct launcher *l = arg;

	l->tid = syscall(SYS_gettid);
	launch_many(l, WARM, 1000);
	set_phase(l, 1);
	while (phase(l) < 2)
		;
	launch_many(l, LAUNCHES, 10000);
	set_phase(l, 3);
	while (phase(l) < 4)
		;
	return NULL;
}

/*
 * Lines of allocations by the launching threads, or by the module in any
 * context.  An interrupt that happens to hit the thread does not count.
 */
static int allocations(const char *text, const struct launcher *l, char *first, size_t size)
{
	int n = 0;

	while (*text) {
		const char *end = strchrnul(text, '\n'), *flags;
		char *line = strndup(text, end - text);
		bool ours = false, irq = false;

		text = *end ? end + 1 : end;
		if (line[0] != '#' && (strstr(line, "kmalloc") || strstr(line, "_alloc"))) {
			for (int i = 0; i < 2; i++) {
				char pid[24];

				snprintf(pid, sizeof(pid), "-%d ", l[i].tid);
				flags = strstr(line, pid);
				flags = flags ? strstr(flags, "] ") : NULL;
				if (!flags)
					continue;
				ours = true;
				irq = isalpha(flags[4]);
			}
			if ((ours && !irq) || strstr(line, "call_site=hcomm")) {
				if (!n++)
					snprintf(first, size, "%s", line);
			}
		}
		free(line);
	}
	return n;
}

TEST_F_TIMEOUT(trace, launch_cost, 120)
{
	static const char * const events[] = {
		"kmem/kmalloc", "kmem/kmem_cache_alloc", "kmem/mm_page_alloc",
		/* before 6.3 */
		"kmem/kmalloc_node", "kmem/kmem_cache_alloc_node",
		"raw_syscalls/sys_enter",
	};
	struct launcher l[2] = {};
	pthread_t thread[2];
	char first[256] = "";
	bool syscalls;
	int n;

	ASSERT_TRUE(put("tracing_on", "0"));
	ASSERT_TRUE(put("trace", " "));
	ASSERT_TRUE(put("trace_clock", "local"));
	for (size_t i = 0; i < 3; i++)
		ASSERT_TRUE(have_event(events[i]));
	for (size_t i = 0; i < ARRAY_LEN(events); i++)
		if (have_event(events[i]))
			ASSERT_TRUE(enable(events[i], true));
	ASSERT_TRUE(enable("hcomm/hcomm_step", false));
	syscalls = have_event("raw_syscalls/sys_enter");

	for (int i = 0; i < 2; i++) {
		l[i] = (struct launcher){ .r = &self->r[i], .prog = self->prog[i],
					  .mem = self->mem[i] };
		ASSERT_EQ(0, pthread_create(&thread[i], NULL, launcher, &l[i]));
	}
	while (phase(&l[0]) < 1 || phase(&l[1]) < 1)
		usleep(10000);
	ASSERT_TRUE(put("tracing_on", "1"));
	for (int i = 0; i < 2; i++)
		set_phase(&l[i], 2);
	while (phase(&l[0]) < 3 || phase(&l[1]) < 3)
		usleep(10000);
	ASSERT_TRUE(put("tracing_on", "0"));
	for (int i = 0; i < 2; i++) {
		set_phase(&l[i], 4);
		pthread_join(thread[i], NULL);
		EXPECT_EQ(0, l[i].errors);
	}
	self->text = trace_text();
	ASSERT_NE(NULL, self->text);
	/* The window was traced, all of it. */
	ASSERT_EQ(2 * LAUNCHES, count(self->text, "hcomm_launch:", NULL, NULL));
	ASSERT_EQ(2 * LAUNCHES, count(self->text, "hcomm_complete:", "status=0", NULL));

	n = allocations(self->text, l, first, sizeof(first));
	if (n)
		TH_LOG("%s", first);
	EXPECT_EQ(0, n);
	if (!syscalls) {
		printf("# this kernel does not trace system calls\n");
		return;
	}
	for (int i = 0; i < 2; i++) {
		char pid[24];

		snprintf(pid, sizeof(pid), "-%d ", l[i].tid);
		EXPECT_EQ(LAUNCHES, count(self->text, "sys_enter:", pid, NULL));
		EXPECT_EQ(LAUNCHES, count(self->text, "sys_enter: NR 16 ", pid, NULL));
	}
}

/* The measurement above sees an allocation where there is one. */
TEST_F(trace, allocation_is_seen)
{
	struct launcher l[2] = { { .tid = syscall(SYS_gettid) }, { .tid = -1 } };
	char first[256];
	uint32_t id;

	ASSERT_TRUE(enable("kmem/kmalloc", true));
	ASSERT_TRUE(enable("kmem/kmem_cache_alloc", true));
	ASSERT_EQ(0, mem_reg(self->r[0].fd, self->buf[0], 4096, 0, &id));
	put("tracing_on", "0");
	self->text = trace_text();
	ASSERT_NE(NULL, self->text);
	EXPECT_LT(0, allocations(self->text, l, first, sizeof(first)));
}

TEST_HARNESS_MAIN
