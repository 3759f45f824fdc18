// SPDX-License-Identifier: GPL-2.0-only
/*
 * How a waiting thread waits: with a processor of its own it polls for spin_us after the
 * last message, and sleeps then.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sys/resource.h>
#include "sysfs.h"
#include "kselftest_harness.h"

#define SPIN_US "/sys/module/hcomm/parameters/spin_us"
#define ROUNDS 400
#define SEC 1000000000ll

struct side {
	struct rank *r;
	uint32_t prog;
	uint64_t first;
	int ret;
	long slept;
};

FIXTURE(spin)
{
	struct rank r[2];
	struct side s[2];
	char before[32];
};

/* To the other and back, without data: the receive of one waits for the send of the other. */
static int side_load(struct side *s, int rank)
{
	struct hcomm_step steps[2] = {
		{ .op = rank ? HCOMM_STEP_RECV : HCOMM_STEP_SEND, .peer = !rank },
		{ .op = rank ? HCOMM_STEP_SEND : HCOMM_STEP_RECV, .peer = !rank,
		  .dep_count = 1 },
	};
	uint32_t dep = 0;

	return prog_load(s->r->fd, s->r->comm, steps, 2, &dep, 1, 1, &s->prog);
}

FIXTURE_SETUP(spin)
{
	struct hcomm_comm_create c;

	memset(self->r, 0, sizeof(self->r));
	if (geteuid() || get("/sys/module/hcomm/parameters", "spin_us", self->before,
			     sizeof(self->before)) <= 0)
		SKIP(return, "spin_us can't be set");
	create_init(&c, 0, 2);
	ASSERT_EQ(0, ranks_open(self->r, 2, &c));
	for (int i = 0; i < 2; i++) {
		self->s[i] = (struct side){ .r = &self->r[i] };
		ASSERT_EQ(0, side_load(&self->s[i], i));
	}
}

FIXTURE_TEARDOWN(spin)
{
	put_text(SPIN_US, self->before);
	for (int i = 0; i < 2; i++)
		rank_close(&self->r[i]);
}

static void *side_run(void *arg)
{
	struct side *s = arg;
	struct rusage before, after;
	struct hcomm_slot none = {};
	struct hcomm_cqe cqe;

	getrusage(RUSAGE_THREAD, &before);
	for (uint64_t i = 0; i < ROUNDS && !s->ret; i++) {
		cqe.status = -1;
		s->ret = launch(s->r->fd, s->prog, &none, 1, s->first + i, 0, 0);
		if (!s->ret)
			s->ret = ring_wait(s->r->fd, 1, 20 * SEC);
		if (!s->ret && (!ring_next(s->r->ring, &cqe) || cqe.status))
			s->ret = cqe.status;
	}
	getrusage(RUSAGE_THREAD, &after);
	s->slept = after.ru_nvcsw - before.ru_nvcsw;
	return NULL;
}

/* How often the two slept in all; negative: an error. */
static long sleeps(struct side *s, const char *spin_us)
{
	pthread_t t;

	if (!put_text(SPIN_US, spin_us))
		return -1;
	for (int i = 0; i < 2; i++)
		s[i].first += ROUNDS;
	if (pthread_create(&t, NULL, side_run, &s[0]))
		return -1;
	side_run(&s[1]);
	pthread_join(t, NULL);
	return s[0].ret || s[1].ret ? -1 : s[0].slept + s[1].slept;
}

TEST_F(spin, as_long_as_the_user_allows)
{
	long never, long_enough;

	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		SKIP(return, "one processor: nobody spins");
	never = sleeps(self->s, "0");
	long_enough = sleeps(self->s, "1000000");
	TH_LOG("%d round trips: %ld sleeps without spinning, %ld with", ROUNDS, never,
	       long_enough);
	ASSERT_LE(0, never);
	ASSERT_LE(0, long_enough);
	/* where calls are slow, most of what is waited for has come before */
	if (never < ROUNDS / 20)
		SKIP(return, "nearly nobody had to wait");
	/* now and then another task wants the processor */
	EXPECT_GT(never / 2, long_enough);
}

TEST_HARNESS_MAIN
