// SPDX-License-Identifier: GPL-2.0-only
/* Signals, stops, freezes and kills while a call waits. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/time.h>
#include "solo.h"
#include "kselftest_harness.h"

#define LEN	4096u
#define SEC	1000000000ll
#define CGROUP	"/sys/fs/cgroup/hcomm-signal"

/* Rank 0 waits for what rank 1 does not send, or late. */
FIXTURE(signals)
{
	struct rank r[2];
	uint32_t mem[2], prog[2];
	struct hcomm_slot slot[2];
	uint64_t key;
};

FIXTURE_SETUP(signals)
{
	memset(self->r, 0, sizeof(self->r));
	ASSERT_EQ(0, ranks_open(self->r, 2, NULL));
	for (int i = 0; i < 2; i++) {
		struct hcomm_step step = {
			.op = i ? HCOMM_STEP_SEND : HCOMM_STEP_RECV, .peer = !i, .len = LEN,
		};

		ASSERT_EQ(0, mem_reg(self->r[i].fd, pages(LEN), LEN, 0, &self->mem[i]));
		ASSERT_EQ(0, prog_load(self->r[i].fd, self->r[i].comm, &step, 1, NULL, 0, 1,
				       &self->prog[i]));
		self->slot[i] = (struct hcomm_slot){ .mem_id = self->mem[i], .length = LEN };
	}
}

FIXTURE_TEARDOWN(signals)
{
	rank_close(&self->r[0]);
	rank_close(&self->r[1]);
}

static int begin(FIXTURE_DATA(signals) *self, int rank, uint32_t flags)
{
	return launch(self->r[rank].fd, self->prog[rank], &self->slot[rank], 1, self->key, 0,
		      flags);
}

static volatile sig_atomic_t ticks;

static void on_tick(int sig)
{
	(void)sig;
	ticks++;
}

static void tick(unsigned int usecs, int flags)
{
	struct sigaction sa = { .sa_handler = on_tick, .sa_flags = flags };
	struct itimerval it = { { 0, usecs }, { 0, usecs } };

	sigaction(SIGALRM, &sa, NULL);
	setitimer(ITIMER_REAL, &it, NULL);
}

/* In a process of its own: the harness has the timer of this one. */
TEST_F(signals, wait_without_limit_is_restarted)
{
	pid_t pid;

	self->key++;
	ASSERT_EQ(0, begin(self, 0, 0));
	pid = fork();
	if (!pid) {
		int ret;

		tick(5000, SA_RESTART);
		ret = ring_wait(self->r[0].fd, 1, -1);
		_exit(ret ? 1 : ticks == 0 ? 2 : 0);
	}
	usleep(200000);
	ASSERT_EQ(0, begin(self, 1, HCOMM_LAUNCH_WAIT));
	EXPECT_EQ(0, status_of(pid));
}

/* Or its limit would never be reached. */
TEST_F(signals, limited_wait_is_not_restarted)
{
	pid_t pid;

	self->key++;
	ASSERT_EQ(0, begin(self, 0, 0));
	pid = fork();
	if (!pid) {
		tick(5000, SA_RESTART);
		_exit(ring_wait(self->r[0].fd, 1, 20 * SEC) == -EINTR ? 0 : 1);
	}
	EXPECT_EQ(0, status_of(pid));
}

/* A communicator whose peer never comes. */
static int open_lonely(struct hcomm_link_open *lo)
{
	struct hcomm_info info = { .size = sizeof(info) };
	struct hcomm_peer peers[2] = {};
	struct hcomm_comm_peers cp = {
		.size = sizeof(cp), .peers = (uintptr_t)peers, .count = 2,
	};
	struct hcomm_comm_create c;
	int fd = dev_open();

	create_init(&c, 0, 2);
	c.connect_timeout_ms = 600000;
	if (getrandom(c.uuid, sizeof(c.uuid), 0) != sizeof(c.uuid) ||
	    call(fd, HCOMM_INFO, &info) || call(fd, HCOMM_COMM_CREATE, &c))
		return -1;
	for (int i = 0; i < 2; i++)
		memcpy(peers[i].node_id, info.node_id, sizeof(info.node_id));
	cp.comm_id = c.out_comm_id;
	*lo = (struct hcomm_link_open){
		.size = sizeof(*lo), .comm_id = c.out_comm_id, .peer = 1, .timeout_ms = 20000,
	};
	return call(fd, HCOMM_COMM_PEERS, &cp) ? -1 : fd;
}

TEST_F(signals, link_open_is_not_restarted)
{
	pid_t pid = fork();

	if (!pid) {
		struct hcomm_link_open lo;
		int fd = open_lonely(&lo);

		if (fd < 0)
			_exit(2);
		tick(50000, SA_RESTART);
		_exit(call(fd, HCOMM_LINK_OPEN, &lo) == -EINTR ? 0 : 1);
	}
	EXPECT_EQ(0, status_of(pid));
}

/* Who is stopped and goes on has seen no signal. */
TEST_F(signals, stopped_in_a_limited_wait)
{
	int status;
	pid_t pid;

	self->key++;
	ASSERT_EQ(0, begin(self, 0, 0));
	pid = fork();
	if (!pid)
		_exit(-ring_wait(self->r[0].fd, 1, 600 * SEC));
	for (int i = 0; i < 3; i++) {
		usleep(20000);
		kill(pid, SIGSTOP);
		ASSERT_EQ(pid, waitpid(pid, &status, WUNTRACED));
		ASSERT_TRUE(WIFSTOPPED(status));
		kill(pid, SIGCONT);
	}
	usleep(20000);
	kill(pid, SIGSTOP);
	ASSERT_EQ(pid, waitpid(pid, &status, WUNTRACED));
	/* Its run goes on without it. */
	ASSERT_EQ(0, begin(self, 1, HCOMM_LAUNCH_WAIT));
	while (!ring_unread(self->r[0].ring))
		usleep(1000);
	kill(pid, SIGCONT);
	EXPECT_EQ(0, status_of(pid));
}

TEST_F(signals, frozen_in_a_limited_wait)
{
	char text[32];
	pid_t pid;

	if (mkdir(CGROUP, 0755) || access(CGROUP "/cgroup.freeze", W_OK)) {
		rmdir(CGROUP);
		SKIP(return, "no cgroup that can be frozen");
	}
	self->key++;
	ASSERT_EQ(0, begin(self, 0, 0));
	pid = fork();
	if (!pid)
		_exit(-ring_wait(self->r[0].fd, 1, 600 * SEC));
	snprintf(text, sizeof(text), "%d", pid);
	EXPECT_TRUE(put_text(CGROUP "/cgroup.procs", text));
	usleep(20000);
	EXPECT_TRUE(put_text(CGROUP "/cgroup.freeze", "1"));
	while (system("grep -q 'frozen 1' " CGROUP "/cgroup.events"))
		usleep(1000);
	ASSERT_EQ(0, begin(self, 1, HCOMM_LAUNCH_WAIT));
	while (!ring_unread(self->r[0].ring))
		usleep(1000);
	EXPECT_TRUE(put_text(CGROUP "/cgroup.freeze", "0"));
	EXPECT_EQ(0, status_of(pid));
	EXPECT_EQ(0, rmdir(CGROUP));
}

TEST_F(signals, killed_in_every_wait)
{
	for (int how = 0; how < 4; how++) {
		pid_t pid;

		self->key++;
		if (how == 1)
			ASSERT_EQ(0, begin(self, 0, 0));
		pid = fork();
		if (!pid) {
			struct hcomm_launch one = {
				.size = sizeof(one), .prog_id = self->prog[0], .nslots = 1,
				.slots = (uintptr_t)&self->slot[0], .run = self->key,
				.call = { .coll = HCOMM_COLL_P2P },
			};
			struct hcomm_launch_batch all = {
				.size = sizeof(all), .flags = HCOMM_LAUNCH_WAIT, .count = 1,
				.launch_size = sizeof(one), .launches = (uintptr_t)&one,
			};
			struct hcomm_link_open lo;
			int fd;

			switch (how) {
			case 0:
				begin(self, 0, HCOMM_LAUNCH_WAIT);
				break;
			case 1:
				ring_wait(self->r[0].fd, 1, -1);
				break;
			case 2:
				call(self->r[0].fd, HCOMM_LAUNCH_BATCH, &all);
				break;
			case 3:
				fd = open_lonely(&lo);
				call(fd, HCOMM_LINK_OPEN, &lo);
				break;
			}
			_exit(1);
		}
		usleep(50000);
		kill(pid, SIGKILL);
		EXPECT_EQ(256 + SIGKILL, status_of(pid));
		if (how == 3)
			break;
		/* What was launched is in flight, and goes on. */
		ASSERT_EQ(0, begin(self, 1, HCOMM_LAUNCH_WAIT));
		EXPECT_EQ(0, ring_wait(self->r[0].fd, 1, 20 * SEC));
		EXPECT_EQ(0, self->r[0].ring->cqe[self->r[0].ring->head & 63].status);
		for (int i = 0; i < 2; i++)
			self->r[i].ring->head = self->r[i].ring->tail;
	}
}

/* ---------------------------------------------------------------------------- a storm */

#define THREADS	4
#define RUNS	150

struct worker {
	struct solo *s;
	uint32_t number, launched;
	int bad;
};

static void *launch_many(void *arg)
{
	struct worker *w = arg;
	struct hcomm_slot slots[2];

	for (int i = 0; i < 2; i++)
		slots[i] = (struct hcomm_slot){ .mem_id = w->s->plain_mem, .length = LEN };
	for (uint32_t i = 0; i < RUNS; i++) {
		uint64_t key = (uint64_t)(w->number + 1) << 32 | i;
		int ret;

		do {
			ret = launch(w->s->fd, w->s->prog, slots, 2, key, key, HCOMM_LAUNCH_WAIT);
		} while (ret == -EAGAIN || ret == -EBUSY);
		if (ret && ret != -EINTR)
			w->bad = ret;
		else
			w->launched++;
	}
	return NULL;
}

static int storm(void)
{
	struct worker w[THREADS] = {};
	uint32_t n = 0, seen = 0;
	struct hcomm_cqe cqe;
	pthread_t t[THREADS];
	struct solo s;

	if (solo_open(&s, LEN))
		return 1;
	tick(500, 0);
	for (uint32_t i = 0; i < THREADS; i++) {
		w[i] = (struct worker){ .s = &s, .number = i };
		if (pthread_create(&t[i], NULL, launch_many, &w[i]))
			return 2;
	}
	while (seen < THREADS * RUNS) {
		if (ring_next(s.ring, &cqe)) {
			seen++;
			if (cqe.status)
				return 3;
		} else {
			ring_wait(s.fd, 1, 1000000);
		}
	}
	for (int i = 0; i < THREADS; i++) {
		pthread_join(t[i], NULL);
		n += w[i].launched;
		if (w[i].bad)
			return 4;
	}
	return n == seen && !ring_next(s.ring, &cqe) && ticks ? 0 : 5;
}

TEST_F_TIMEOUT(signals, storm_while_threads_wait, 120)
{
	pid_t pid = fork();

	if (!pid)
		_exit(storm());
	EXPECT_EQ(0, status_of(pid));
}

TEST_HARNESS_MAIN
