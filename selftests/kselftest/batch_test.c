// SPDX-License-Identifier: GPL-2.0-only
/* LAUNCH_BATCH: several launches by one call. */
#include <pthread.h>
#include <signal.h>
#include <time.h>
#include "util.h"
#include "kselftest_harness.h"

#define LEN 300000u
#define RUNS 4
#define SEC 1000000000ll

FIXTURE(batch)
{
	struct rank r[2];
	uint8_t *buf[2];
	uint32_t mem[2];
	uint32_t prog[2][RUNS];
	struct hcomm_slot slot[2];
	struct hcomm_launch one[2][RUNS];
	struct hcomm_launch_batch all[2];
};

/*
 * Program k moves piece k from rank 0 to rank 1 when k is even, else back.  Rank 1
 * has them in the opposite order.
 */
FIXTURE_SETUP(batch)
{
	memset(self->r, 0, sizeof(self->r));
	ASSERT_EQ(0, ranks_open(self->r, 2, NULL));
	for (uint32_t i = 0; i < 2; i++) {
		self->buf[i] = pages(RUNS * LEN);
		ASSERT_NE(NULL, self->buf[i]);
		ASSERT_EQ(0, mem_reg(self->r[i].fd, self->buf[i], RUNS * LEN, 0, &self->mem[i]));
		self->slot[i] = (struct hcomm_slot){
			.mem_id = self->mem[i], .length = RUNS * LEN,
		};
		for (uint32_t k = 0; k < RUNS; k++) {
			bool sends = k % 2 == i;
			struct hcomm_step step = {
				.op = sends ? HCOMM_STEP_SEND : HCOMM_STEP_RECV, .peer = !i,
				.len = LEN,
			};
			struct hcomm_launch *one = &self->one[i][i ? RUNS - 1 - k : k];

			if (sends)
				step.src_off = k * LEN;
			else
				step.dst_off = k * LEN;
			memset(self->buf[i] + k * LEN, sends ? 'a' + k : '-', LEN);
			ASSERT_EQ(0, prog_load(self->r[i].fd, self->r[i].comm, &step, 1, NULL, 0,
					       1, &self->prog[i][k]));
			*one = (struct hcomm_launch){
				.size = sizeof(*one), .prog_id = self->prog[i][k],
				.slots = (uintptr_t)&self->slot[i], .nslots = 1, .run = 100 + k,
				.user_data = k, .call = { .coll = HCOMM_COLL_P2P },
			};
		}
		self->all[i] = (struct hcomm_launch_batch){
			.size = sizeof(self->all[i]), .count = RUNS,
			.launch_size = sizeof(struct hcomm_launch),
			.launches = (uintptr_t)self->one[i], .out_done = 99,
		};
	}
}

FIXTURE_TEARDOWN(batch)
{
	for (int i = 0; i < 2; i++) {
		rank_close(&self->r[i]);
		munmap(self->buf[i], RUNS * LEN);
	}
}

static void expect_data(struct __test_metadata *_metadata, uint8_t *const *buf)
{
	for (uint32_t k = 0; k < RUNS; k++)
		for (int i = 0; i < 2; i++) {
			uint8_t *p = buf[i] + k * LEN;
			uint32_t j = 0;

			while (j < LEN && p[j] == 'a' + k)
				j++;
			EXPECT_EQ(LEN, j);
		}
}

static void expect_done(struct __test_metadata *_metadata, struct rank *r, uint32_t n)
{
	struct hcomm_cqe cqe;
	uint32_t seen = 0;

	for (uint32_t k = 0; k < n; k++) {
		ASSERT_TRUE(ring_next(r->ring, &cqe));
		EXPECT_EQ(0, cqe.status);
		seen |= 1u << cqe.user_data;
	}
	EXPECT_EQ((1u << n) - 1, seen);
	EXPECT_FALSE(ring_next(r->ring, &cqe));
}

struct waiter {
	int fd;
	struct hcomm_launch_batch *arg;
};

static void *batch_thread(void *arg)
{
	struct waiter *w = arg;

	return (void *)(intptr_t)call(w->fd, HCOMM_LAUNCH_BATCH, w->arg);
}

TEST_F(batch, waits_for_all)
{
	struct waiter w = { self->r[1].fd, &self->all[1] };
	pthread_t t;
	void *ret;

	self->all[0].flags = HCOMM_LAUNCH_WAIT;
	self->all[1].flags = HCOMM_LAUNCH_WAIT;
	ASSERT_EQ(0, pthread_create(&t, NULL, batch_thread, &w));
	EXPECT_EQ(0, call(self->r[0].fd, HCOMM_LAUNCH_BATCH, &self->all[0]));
	ASSERT_EQ(0, pthread_join(t, &ret));
	EXPECT_EQ(0, (intptr_t)ret);
	for (int i = 0; i < 2; i++) {
		EXPECT_EQ((uint32_t)RUNS, self->all[i].out_done);
		/* Without another call: they are in the ring. */
		expect_done(_metadata, &self->r[i], RUNS);
	}
	expect_data(_metadata, self->buf);
}

TEST_F(batch, returns_at_once)
{
	for (int i = 0; i < 2; i++)
		ASSERT_EQ(0, call(self->r[i].fd, HCOMM_LAUNCH_BATCH, &self->all[i]));
	for (int i = 0; i < 2; i++) {
		ASSERT_EQ(0, ring_wait(self->r[i].fd, RUNS, 20 * SEC));
		expect_done(_metadata, &self->r[i], RUNS);
	}
	expect_data(_metadata, self->buf);
}

/* Those before the one that fails are in flight. */
TEST_F(batch, member_fails)
{
	struct hcomm_launch *bad = &self->one[0][2];

	self->slot[1].length = RUNS * LEN;
	bad->slots = (uintptr_t)&(struct hcomm_slot){ .mem_id = self->mem[0], .length = LEN };
	self->all[0].flags = HCOMM_LAUNCH_WAIT;
	EXPECT_EQ(-ERANGE, call(self->r[0].fd, HCOMM_LAUNCH_BATCH, &self->all[0]));
	EXPECT_EQ(2u, self->all[0].out_done);
	EXPECT_EQ(0u, bad->err_slot);
	EXPECT_EQ(3ull * LEN, bad->err_needed);

	/* Without it the rest goes on. */
	bad->slots = (uintptr_t)&self->slot[0];
	self->all[0].launches = (uintptr_t)bad;
	self->all[0].count = 2;
	self->all[0].flags = 0;
	ASSERT_EQ(0, call(self->r[0].fd, HCOMM_LAUNCH_BATCH, &self->all[0]));
	EXPECT_EQ(2u, self->all[0].out_done);
	self->all[1].flags = HCOMM_LAUNCH_WAIT;
	ASSERT_EQ(0, call(self->r[1].fd, HCOMM_LAUNCH_BATCH, &self->all[1]));
	ASSERT_EQ(0, ring_wait(self->r[0].fd, RUNS, 20 * SEC));
	expect_done(_metadata, &self->r[0], RUNS);
	expect_data(_metadata, self->buf);
}

TEST_F(batch, bad_input)
{
	const struct hcomm_launch_batch good = self->all[0];
	const struct hcomm_launch one = self->one[0][0];
	struct hcomm_launch_batch *b = &self->all[0];
	int fd = self->r[0].fd, bare = dev_open();

	ASSERT_EQ(-ENXIO, call(bare, HCOMM_LAUNCH_BATCH, b));
	close(bare);
#define REFUSED(err, field, value) ({					\
	*b = good;							\
	b->field = (value);						\
	EXPECT_EQ(-(err), call(fd, HCOMM_LAUNCH_BATCH, b));		\
})
	REFUSED(EINVAL, count, 0);
	REFUSED(EINVAL, count, HCOMM_MAX_BATCH + 1);
	REFUSED(EINVAL, count, UINT32_MAX);
	REFUSED(EOPNOTSUPP, flags, 2);
	REFUSED(EINVAL, pad, 1);
	REFUSED(EINVAL, launch_size, 0);
	REFUSED(EINVAL, launch_size, sizeof(one) - 8);
	REFUSED(E2BIG, launch_size, UINT32_MAX);
	/* What is not known must be 0, and the next launch begins there. */
	REFUSED(E2BIG, launch_size, sizeof(one) + 8);
	REFUSED(EFAULT, launches, 8);
	EXPECT_EQ(0u, b->out_done);
#undef REFUSED
	*b = good;
#define REFUSED(err, field, value) ({					\
	self->one[0][0] = one;						\
	self->one[0][0].field = (value);				\
	EXPECT_EQ(-(err), call(fd, HCOMM_LAUNCH_BATCH, b));		\
	EXPECT_EQ(0u, b->out_done);					\
})
	REFUSED(EINVAL, size, sizeof(one) + 8);
	REFUSED(EOPNOTSUPP, flags, HCOMM_LAUNCH_WAIT);
	REFUSED(EOPNOTSUPP, queue_id, 1);
	REFUSED(EINVAL, pad, 1);
	REFUSED(EINVAL, nslots, 2);
	REFUSED(ENOENT, prog_id, 12345);
	REFUSED(EFAULT, slots, 8);
#undef REFUSED
	/* Nothing of all that is in flight. */
	EXPECT_EQ(-EDEADLK, ring_wait(fd, 1, SEC));
}

static void on_alarm(int sig)
{
	(void)sig;
}

TEST_F(batch, signal_ends_the_wait)
{
	struct sigaction sa = { .sa_handler = on_alarm };
	struct itimerspec its = { .it_value.tv_nsec = 200000000 };
	timer_t timer;

	ASSERT_EQ(0, sigaction(SIGALRM, &sa, NULL));
	ASSERT_EQ(0, timer_create(CLOCK_MONOTONIC, NULL, &timer));
	ASSERT_EQ(0, timer_settime(timer, 0, &its, NULL));
	self->all[0].flags = HCOMM_LAUNCH_WAIT;
	EXPECT_EQ(-EINTR, call(self->r[0].fd, HCOMM_LAUNCH_BATCH, &self->all[0]));
	EXPECT_EQ((uint32_t)RUNS, self->all[0].out_done);
	timer_delete(timer);
	/* All are in flight still. */
	ASSERT_EQ(0, call(self->r[1].fd, HCOMM_LAUNCH_BATCH, &self->all[1]));
	for (int i = 0; i < 2; i++) {
		ASSERT_EQ(0, ring_wait(self->r[i].fd, RUNS, 20 * SEC));
		expect_done(_metadata, &self->r[i], RUNS);
	}
	expect_data(_metadata, self->buf);
}

TEST_HARNESS_MAIN
