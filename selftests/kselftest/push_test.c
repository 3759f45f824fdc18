// SPDX-License-Identifier: GPL-2.0-only
/*
 * More ranks than processors: a rank that waits runs the engines of peers that sleep.
 * What they pass on must be right, and all must come back, also when one ends
 * meanwhile.  All ranks are threads on one processor.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include "sysfs.h"
#include "kselftest_harness.h"

#define RANKS 4
#define LEN (96u << 10)
#define SEC 1000000000ll
#define TRIES 500
#define ENDS 60

struct member {
	struct rank *r;
	uint8_t *buf;
	uint32_t mem;
	uint32_t prog;
	uint64_t run;
	pthread_barrier_t *go;
	int64_t patience;	/* ns, then it closes its file; 0: it waits for the end */
	int ret;
	int status;
};

FIXTURE(push)
{
	struct rank r[RANKS];
	struct member m[RANKS];
	pthread_barrier_t go;
	cpu_set_t cpus;
};

static void members_close(struct rank *r)
{
	for (int i = 0; i < RANKS; i++)
		rank_close(&r[i]);
}

/* A chain: each stores what comes from below, and passes it on when it is complete. */
static int member_load(struct member *m, int rank)
{
	struct hcomm_step recv = { .op = HCOMM_STEP_RECV, .len = LEN };
	struct hcomm_step send = { .op = HCOMM_STEP_SEND, .len = LEN };
	struct hcomm_step steps[2];
	uint32_t n = 0, dep = 0;

	recv.peer = rank - 1;
	send.peer = rank + 1;
	send.dep_count = rank > 0;
	if (rank)
		steps[n++] = recv;
	if (rank + 1 < RANKS)
		steps[n++] = send;
	return prog_load(m->r->fd, m->r->comm, steps, n, &dep, n == 2, 1, &m->prog);
}

static int members_open(struct rank *r, struct member *m, pthread_barrier_t *go)
{
	struct hcomm_comm_create c;
	int ret;

	create_init(&c, 0, RANKS);
	ret = ranks_open(r, RANKS, &c);
	for (int i = 0; i < RANKS && !ret; i++) {
		m[i].r = &r[i];
		m[i].go = go;
		ret = mem_reg(r[i].fd, m[i].buf, LEN, 0, &m[i].mem);
		if (!ret)
			ret = member_load(&m[i], i);
	}
	return ret;
}

FIXTURE_SETUP(push)
{
	cpu_set_t one;
	int cpu = sched_getcpu();

	memset(self->r, 0, sizeof(self->r));
	memset(self->m, 0, sizeof(self->m));
	for (int i = 0; i < RANKS; i++) {
		self->r[i].fd = -1;
		self->m[i].buf = pages(LEN);
		ASSERT_NE(NULL, self->m[i].buf);
	}
	/* threads inherit it */
	ASSERT_EQ(0, sched_getaffinity(0, sizeof(self->cpus), &self->cpus));
	CPU_ZERO(&one);
	CPU_SET(cpu < 0 ? 0 : cpu, &one);
	ASSERT_EQ(0, sched_setaffinity(0, sizeof(one), &one));
	ASSERT_EQ(0, pthread_barrier_init(&self->go, NULL, RANKS));
}

FIXTURE_TEARDOWN(push)
{
	members_close(self->r);
	for (int i = 0; i < RANKS; i++)
		munmap(self->m[i].buf, LEN);
	pthread_barrier_destroy(&self->go);
	sched_setaffinity(0, sizeof(self->cpus), &self->cpus);
}

/* Launch, and wait in the kernel, or for as long as it has patience. */
static void *member_run(void *arg)
{
	struct member *m = arg;
	struct hcomm_slot slot = { .mem_id = m->mem, .length = LEN };
	struct hcomm_cqe cqe = { .status = -1 };

	pthread_barrier_wait(m->go);
	m->ret = launch(m->r->fd, m->prog, &slot, 1, m->run, 0, 0);
	if (!m->ret)
		m->ret = ring_wait(m->r->fd, 1, m->patience ?: 20 * SEC);
	if (m->patience) {
		rank_close(m->r);
		return NULL;
	}
	if (!m->ret && !ring_next(m->r->ring, &cqe))
		m->ret = -ENODATA;
	m->status = cqe.status;
	return NULL;
}

/* All ranks at once; false if a thread did not start. */
static bool members_start(struct member *m, pthread_t *t, uint64_t run)
{
	for (int i = 0; i < RANKS; i++) {
		m[i].run = run;
		if (pthread_create(&t[i], NULL, member_run, &m[i]))
			return false;
	}
	return true;
}

static void members_join(pthread_t *t)
{
	for (int i = 0; i < RANKS; i++)
		pthread_join(t[i], NULL);
}

static long long pushes(struct rank *r)
{
	long long sum = 0;
	char dir[128];

	for (int i = 0; i < RANKS; i++) {
		if (!find_comm(&r[i], dir, sizeof(dir)))
			return LLONG_MIN;
		sum += number(dir, "pushes");
	}
	return sum;
}

TEST_F(push, who_waits_runs_sleeping_peers)
{
	pthread_t t[RANKS];
	uint64_t run;

	ASSERT_EQ(0, members_open(self->r, self->m, &self->go));
	EXPECT_EQ(0, pushes(self->r));
	for (run = 1; run <= TRIES && (run < 20 || !pushes(self->r)); run++) {
		for (int i = 0; i < RANKS; i++)
			memset(self->m[i].buf, i ? 0 : run, LEN);
		self->m[0].buf[LEN - 1] = ~run;
		ASSERT_TRUE(members_start(self->m, t, run));
		members_join(t);
		for (int i = 0; i < RANKS; i++) {
			EXPECT_EQ(0, self->m[i].ret);
			EXPECT_EQ(0, self->m[i].status);
			EXPECT_EQ(0, memcmp(self->m[0].buf, self->m[i].buf, LEN));
		}
	}
	EXPECT_LT(0, pushes(self->r));
}

/* One gives up and closes its file, while the others may be running its engine. */
TEST_F(push, a_peer_that_ends)
{
	uint64_t lost = 0;
	pthread_t t[RANKS];

	for (uint64_t run = 1; run <= ENDS; run++) {
		struct member *who = &self->m[run % RANKS];

		ASSERT_EQ(0, members_open(self->r, self->m, &self->go));
		who->patience = 1 + run % 11 * 50000;
		ASSERT_TRUE(members_start(self->m, t, run));
		members_join(t);
		who->patience = 0;
		for (int i = 0; i < RANKS; i++) {
			if (&self->m[i] == who)
				continue;
			/* told by the launch, or by the run: nobody waits for what can't come */
			EXPECT_TRUE(!self->m[i].ret || self->m[i].ret == -EOWNERDEAD);
			lost += self->m[i].ret || self->m[i].status;
		}
		members_close(self->r);
	}
	TH_LOG("%llu ranks lost their run", (unsigned long long)lost);
}

TEST_HARNESS_MAIN
