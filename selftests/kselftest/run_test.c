// SPDX-License-Identifier: GPL-2.0-only
/* LAUNCH and WAIT over local links: data, limits, deaths. */
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <time.h>
#include "util.h"
#include "kselftest_harness.h"

#define LEN (3u << 20)
#define SEC 1000000000ll

FIXTURE(run)
{
	struct rank r[2];
	uint8_t *buf[2];
	uint32_t mem[2];
};

FIXTURE_SETUP(run)
{
	memset(self->r, 0, sizeof(self->r));
	ASSERT_EQ(0, ranks_open(self->r, 2, NULL));
	for (int i = 0; i < 2; i++) {
		self->buf[i] = pages(2 * LEN);
		ASSERT_NE(NULL, self->buf[i]);
		ASSERT_EQ(0, mem_reg(self->r[i].fd, self->buf[i], 2 * LEN, 0, &self->mem[i]));
	}
}

FIXTURE_TEARDOWN(run)
{
	for (int i = 0; i < 2; i++) {
		rank_close(&self->r[i]);
		munmap(self->buf[i], 2 * LEN);
	}
}

static uint32_t load(struct __test_metadata *_metadata, struct rank *r,
		     const struct hcomm_step *steps, uint32_t n)
{
	uint32_t id = 0;

	EXPECT_EQ(0, prog_load(r->fd, r->comm, steps, n, NULL, 0, 2, &id));
	return id;
}

/* Send what is in the first half, add what comes to it, into the second half. */
static uint32_t load_exchange(struct __test_metadata *_metadata, struct rank *r, uint32_t len)
{
	struct hcomm_step steps[] = {
		{ .op = HCOMM_STEP_SEND, .peer = !r->create.rank, .len = len },
		{ .op = HCOMM_STEP_RECV_REDUCE, .dtype = HCOMM_DT_UINT32,
		  .peer = !r->create.rank, .dst_slot = 1, .len = len },
	};

	return load(_metadata, r, steps, 2);
}

static void slots_of(struct hcomm_slot *s, uint32_t mem)
{
	memset(s, 0, 2 * sizeof(*s));
	s[0].mem_id = mem;
	s[0].length = LEN;
	s[1].mem_id = mem;
	s[1].offset = LEN;
	s[1].length = LEN;
}

TEST_F(run, exchange)
{
	static const uint32_t lens[] = { 0, 4, 4096, 4100, 262144, LEN };
	struct hcomm_slot slots[2];
	struct hcomm_cqe cqe;

	for (size_t k = 0; k < ARRAY_LEN(lens); k++) {
		uint32_t prog[2];

		for (int i = 0; i < 2; i++) {
			uint32_t *w = (uint32_t *)self->buf[i];

			for (uint32_t j = 0; j < LEN / 4; j++)
				w[j] = j * 5 + i;
			memset(self->buf[i] + LEN, 0x11, LEN);
			prog[i] = load_exchange(_metadata, &self->r[i], lens[k]);
			slots_of(slots, self->mem[i]);
			ASSERT_EQ(0, launch(self->r[i].fd, prog[i], slots, 2, k, 70 + i, 0));
		}
		for (int i = 0; i < 2; i++) {
			uint32_t *w = (uint32_t *)(self->buf[i] + LEN), j;

			ASSERT_EQ(0, ring_wait(self->r[i].fd, 1, 10 * SEC));
			ASSERT_TRUE(ring_next(self->r[i].ring, &cqe));
			EXPECT_EQ(0, cqe.status);
			EXPECT_EQ(70u + i, cqe.user_data);
			EXPECT_EQ(self->r[i].comm, cqe.comm_id);
			for (j = 0; j < LEN / 4; j++)
				if (w[j] != (j < lens[k] / 4 ? j * 10 + 1 : 0x11111111))
					break;
			EXPECT_EQ(LEN / 4, j);
			EXPECT_EQ(0, destroy(self->r[i].fd, prog[i]));
		}
	}
}

TEST_F(run, slots_checked)
{
	uint32_t prog = load_exchange(_metadata, &self->r[0], LEN), ro;
	struct hcomm_slot s[3];
	struct hcomm_launch arg = {
		.size = sizeof(arg), .prog_id = prog, .slots = (uintptr_t)s, .nslots = 2,
	};

	slots_of(s, self->mem[0]);
	s[1].length = LEN - 1;
	EXPECT_EQ(-ERANGE, call(self->r[0].fd, HCOMM_LAUNCH, &arg));
	EXPECT_EQ(1u, arg.err_slot);
	EXPECT_EQ((uint64_t)LEN, arg.err_needed);
	slots_of(s, self->mem[0]);
	s[1].offset = LEN + 1;
	EXPECT_EQ(-ERANGE, call(self->r[0].fd, HCOMM_LAUNCH, &arg));
	s[1].offset = UINT64_MAX - 10;
	EXPECT_EQ(-ERANGE, call(self->r[0].fd, HCOMM_LAUNCH, &arg));
	slots_of(s, self->mem[0]);
	s[0].mem_id = 0;
	EXPECT_NE(0, call(self->r[0].fd, HCOMM_LAUNCH, &arg));
	s[0].mem_id = self->r[0].comm;
	EXPECT_EQ(-ENOENT, call(self->r[0].fd, HCOMM_LAUNCH, &arg));
	EXPECT_EQ(0u, arg.err_slot);
	slots_of(s, self->mem[0]);
	s[0].pad = 1;
	EXPECT_EQ(-EINVAL, call(self->r[0].fd, HCOMM_LAUNCH, &arg));
	slots_of(s, self->mem[0]);
	arg.nslots = 1;
	EXPECT_EQ(-EINVAL, call(self->r[0].fd, HCOMM_LAUNCH, &arg));
	arg.nslots = 2;
	arg.slots = 4096;
	EXPECT_EQ(-EFAULT, call(self->r[0].fd, HCOMM_LAUNCH, &arg));
	arg.slots = (uintptr_t)s;
	arg.queue_id = 1;
	EXPECT_EQ(-EOPNOTSUPP, call(self->r[0].fd, HCOMM_LAUNCH, &arg));
	arg.queue_id = 0;
	arg.timeout_ms = HCOMM_MAX_TIMEOUT_MS + 1;
	EXPECT_EQ(-EINVAL, call(self->r[0].fd, HCOMM_LAUNCH, &arg));
	arg.timeout_ms = 0;
	ASSERT_EQ(0, mem_reg(self->r[0].fd, self->buf[0] + LEN, LEN, HCOMM_MEM_READ_ONLY, &ro));
	s[1] = (struct hcomm_slot){ .mem_id = ro, .length = LEN };
	EXPECT_EQ(-EACCES, call(self->r[0].fd, HCOMM_LAUNCH, &arg));
	EXPECT_EQ(1u, arg.err_slot);
}

TEST_F(run, limits)
{
	uint32_t prog = load_exchange(_metadata, &self->r[0], 4096);
	struct hcomm_slot s[2];

	slots_of(s, self->mem[0]);
	ASSERT_EQ(0, launch(self->r[0].fd, prog, s, 2, 1, 0, 0));
	EXPECT_EQ(-EEXIST, launch(self->r[0].fd, prog, s, 2, 1, 0, 0));
	ASSERT_EQ(0, launch(self->r[0].fd, prog, s, 2, 2, 0, 0));
	/* load_exchange() loads with two runs */
	EXPECT_EQ(-EBUSY, launch(self->r[0].fd, prog, s, 2, 3, 0, 0));
	EXPECT_EQ(-EBUSY, destroy(self->r[0].fd, prog));
	EXPECT_EQ(-ETIMEDOUT, ring_wait(self->r[0].fd, 1, SEC / 10));
	EXPECT_EQ(-ETIMEDOUT, ring_wait(self->r[0].fd, 1, 0));
	EXPECT_EQ(-EDEADLK, ring_wait(self->r[0].fd, 3, SEC));
	/* Memory may go by its id: the run keeps it. */
	EXPECT_EQ(0, destroy(self->r[0].fd, self->mem[0]));
}

static void *wait_thread(void *arg)
{
	struct rank *r = arg;

	return (void *)(intptr_t)ring_wait(r->fd, 1, 3 * SEC);
}

TEST_F(run, second_waiter)
{
	uint32_t prog = load_exchange(_metadata, &self->r[0], 64);
	struct timespec nap = { 0, 300000000 };
	struct hcomm_slot s[2];
	pthread_t t;
	void *ret;

	slots_of(s, self->mem[0]);
	ASSERT_EQ(0, launch(self->r[0].fd, prog, s, 2, 1, 0, 0));
	ASSERT_EQ(0, pthread_create(&t, NULL, wait_thread, &self->r[0]));
	nanosleep(&nap, NULL);
	EXPECT_EQ(-EBUSY, ring_wait(self->r[0].fd, 1, SEC));
	/* The first one gets what it waits for. */
	prog = load_exchange(_metadata, &self->r[1], 64);
	slots_of(s, self->mem[1]);
	ASSERT_EQ(0, launch(self->r[1].fd, prog, s, 2, 1, 0, 0));
	ASSERT_EQ(0, pthread_join(t, &ret));
	EXPECT_EQ(0, (intptr_t)ret);
}

static void *launch_thread(void *arg)
{
	const struct hcomm_launch *launch = arg;
	struct hcomm_launch a = *launch;

	return (void *)(intptr_t)call((int)launch->user_data, HCOMM_LAUNCH, &a);
}

/*
 * Who launches while another thread sleeps in the kernel starts its run itself.  Left
 * to the tick that looks after runs that stand still, each would take 100 ms.
 */
TEST_F(run, launch_beside_a_waiter)
{
	struct hcomm_step copy = { .op = HCOMM_STEP_COPY, .dst_slot = 1, .len = 4096 };
	uint32_t exchange = load_exchange(_metadata, &self->r[0], 64);
	uint32_t local = load(_metadata, &self->r[0], &copy, 1);
	struct timespec nap = { 0, 300000000 }, begin, end;
	const int n = 30;
	struct hcomm_cqe cqe;
	struct hcomm_slot s[2];
	struct hcomm_launch arg = {
		.size = sizeof(arg),
		.flags = HCOMM_LAUNCH_WAIT,
		.prog_id = exchange,
		.nslots = 2,
		.slots = (uintptr_t)s,
		.run = 1,
		.call = { .coll = HCOMM_COLL_P2P },
		.user_data = (unsigned int)self->r[0].fd,
	};
	pthread_t t;
	void *ret;

	slots_of(s, self->mem[0]);
	ASSERT_EQ(0, pthread_create(&t, NULL, launch_thread, &arg));
	nanosleep(&nap, NULL);
	clock_gettime(CLOCK_MONOTONIC, &begin);
	for (int i = 0; i < n; i++) {
		EXPECT_EQ(0, launch(self->r[0].fd, local, s, 2, 2 + i, 0, HCOMM_LAUNCH_WAIT));
		EXPECT_TRUE(ring_next(self->r[0].ring, &cqe));
	}
	clock_gettime(CLOCK_MONOTONIC, &end);
	EXPECT_GT(n * SEC / 20, (end.tv_sec - begin.tv_sec) * SEC + end.tv_nsec - begin.tv_nsec);
	/* The first one gets what it waits for. */
	exchange = load_exchange(_metadata, &self->r[1], 64);
	slots_of(s, self->mem[1]);
	ASSERT_EQ(0, launch(self->r[1].fd, exchange, s, 2, 1, 0, 0));
	ASSERT_EQ(0, pthread_join(t, &ret));
	EXPECT_EQ(0, (intptr_t)ret);
}

TEST_F(run, poll_and_room)
{
	struct hcomm_step nop = { .op = HCOMM_STEP_NOP };
	struct pollfd pfd = { .fd = self->r[0].fd, .events = POLLIN };
	uint32_t prog;
	struct hcomm_cqe cqe;
	int i;

	ASSERT_EQ(0, prog_load(self->r[0].fd, self->r[0].comm, &nop, 1, NULL, 0, 0, &prog));
	EXPECT_EQ(0, poll(&pfd, 1, 0));
	/* The ring has 64 entries; what is not read keeps its place. */
	for (i = 0; i < 64; i++)
		ASSERT_EQ(0, launch(self->r[0].fd, prog, NULL, 0, i, i, HCOMM_LAUNCH_WAIT));
	EXPECT_EQ(-EBUSY, launch(self->r[0].fd, prog, NULL, 0, 99, 99, HCOMM_LAUNCH_WAIT));
	EXPECT_EQ(1, poll(&pfd, 1, 0));
	for (i = 0; i < 64; i++) {
		ASSERT_TRUE(ring_next(self->r[0].ring, &cqe));
		EXPECT_EQ((uint64_t)i, cqe.user_data);
	}
	EXPECT_EQ(0, poll(&pfd, 1, 0));
	EXPECT_EQ(0, launch(self->r[0].fd, prog, NULL, 0, 100, 100, HCOMM_LAUNCH_WAIT));
	/* A process that writes nonsense into the ring harms itself only. */
	self->r[0].ring->head += 1000;
	EXPECT_NE(0, launch(self->r[0].fd, prog, NULL, 0, 101, 101, HCOMM_LAUNCH_WAIT));
}

TEST_F(run, eventfd)
{
	struct hcomm_step nop = { .op = HCOMM_STEP_NOP };
	struct hcomm_comm_create c;
	struct hcomm_ring *ring;
	uint32_t prog;
	uint64_t count;
	size_t size;
	int fd = dev_open(), efd = eventfd(0, EFD_NONBLOCK);

	ASSERT_EQ(0, ring_setup(fd, 8, efd, &ring, &size));
	create_init(&c, 0, 1);
	ASSERT_EQ(0, call(fd, HCOMM_COMM_CREATE, &c));
	ASSERT_EQ(0, prog_load(fd, c.out_comm_id, &nop, 1, NULL, 0, 0, &prog));
	ASSERT_EQ(0, launch(fd, prog, NULL, 0, 1, 0, HCOMM_LAUNCH_WAIT));
	ASSERT_EQ(0, launch(fd, prog, NULL, 0, 2, 0, HCOMM_LAUNCH_WAIT));
	ASSERT_EQ((ssize_t)sizeof(count), read(efd, &count, sizeof(count)));
	EXPECT_EQ(2u, count);
	munmap(ring, size);
	close(efd);
	close(fd);
}

static int wait_status(struct rank *r, struct hcomm_cqe *cqe)
{
	int ret = ring_wait(r->fd, 1, 10 * SEC);

	if (ret)
		return ret;
	return ring_next(r->ring, cqe) ? cqe->status : -ENOMSG;
}

/* A limited wait ends at its limit, though there is more to be done at once. */
TEST_F(run, limit_while_there_is_work)
{
	static struct hcomm_step steps[300];
	struct hcomm_comm_query query = {
		.size = sizeof(query), .comm_id = self->r[0].comm,
	};
	struct hcomm_slot s[2];
	struct hcomm_cqe cqe;
	uint32_t prog;

	for (size_t i = 0; i < ARRAY_LEN(steps); i++)
		steps[i] = (struct hcomm_step){
			.op = HCOMM_STEP_COPY, .dst_slot = 1, .len = LEN,
		};
	prog = load(_metadata, &self->r[0], steps, ARRAY_LEN(steps));
	slots_of(s, self->mem[0]);
	ASSERT_EQ(0, launch(self->r[0].fd, prog, s, 2, 1, 0, 0));
	EXPECT_EQ(-ETIMEDOUT, ring_wait(self->r[0].fd, 1, SEC / 1000));
	ASSERT_EQ(0, call(self->r[0].fd, HCOMM_COMM_QUERY, &query));
	EXPECT_EQ(1u, query.out_active_runs);
	EXPECT_EQ(0, wait_status(&self->r[0], &cqe));
}

TEST_F(run, timeout)
{
	uint32_t prog = load_exchange(_metadata, &self->r[0], LEN);
	struct hcomm_slot s[2];
	struct hcomm_launch arg = {
		.size = sizeof(arg), .prog_id = prog, .slots = (uintptr_t)s, .nslots = 2,
		.timeout_ms = 200,
	};
	struct hcomm_fault fault;
	struct hcomm_cqe cqe;

	slots_of(s, self->mem[0]);
	ASSERT_EQ(0, call(self->r[0].fd, HCOMM_LAUNCH, &arg));
	EXPECT_EQ(-ETIME, wait_status(&self->r[0], &cqe));
	ASSERT_EQ(0, query_fault(self->r[0].fd, self->r[0].comm, &fault));
	EXPECT_EQ((uint32_t)HCOMM_FAULT_TIMEOUT, fault.reason);
	EXPECT_EQ(1u, fault.rank);
	EXPECT_EQ(0u, fault.step);
	/* A dead communicator launches nothing. */
	EXPECT_EQ(-ETIME, call(self->r[0].fd, HCOMM_LAUNCH, &arg));
}

TEST_F(run, abort)
{
	struct hcomm_comm_abort arg = { .size = sizeof(arg), .comm_id = self->r[1].comm };
	uint32_t prog = load_exchange(_metadata, &self->r[0], LEN);
	struct hcomm_slot s[2];
	struct hcomm_cqe cqe;

	load_exchange(_metadata, &self->r[1], LEN);
	slots_of(s, self->mem[0]);
	ASSERT_EQ(0, launch(self->r[0].fd, prog, s, 2, 1, 0, 0));
	EXPECT_EQ(-ETIMEDOUT, ring_wait(self->r[0].fd, 1, SEC / 5));
	ASSERT_EQ(0, call(self->r[1].fd, HCOMM_COMM_ABORT, &arg));
	EXPECT_EQ(-ECANCELED, wait_status(&self->r[0], &cqe));
	EXPECT_EQ(1u, cqe.fault_rank);
}

/*
 * One rank does nothing in a run, and is done with it; the other one has a step with
 * it, which can't come to an end.  Neither may stand still.
 */
static void unequal(struct __test_metadata *_metadata, struct rank *r, uint32_t *mem,
		    struct hcomm_step step, uint32_t step_of, int step_status)
{
	struct hcomm_step nop = { .op = HCOMM_STEP_NOP };
	struct hcomm_fault fault;
	struct hcomm_slot s[2];
	struct hcomm_cqe cqe;
	uint32_t prog;

	/* so that there is a link */
	load_exchange(_metadata, &r[0], 64);
	load_exchange(_metadata, &r[1], 64);
	slots_of(s, mem[0]);
	prog = load(_metadata, &r[0], &nop, 1);
	ASSERT_EQ(0, launch(r[0].fd, prog, s, 2, 7, 0, 0));
	EXPECT_EQ(0, wait_status(&r[0], &cqe));
	/* a key is for one run */
	EXPECT_EQ(-EEXIST, launch(r[0].fd, prog, s, 2, 7, 0, 0));
	slots_of(s, mem[1]);
	prog = load(_metadata, &r[1], &step, 1);
	ASSERT_EQ(0, launch(r[1].fd, prog, s, 2, 7, 0, 0));
	EXPECT_EQ(step_status, wait_status(&r[1], &cqe));
	for (int i = 0; i < 100 && !query_fault(r[1].fd, r[1].comm, &fault) && !fault.error; i++)
		usleep(10000);
	EXPECT_EQ((uint32_t)HCOMM_FAULT_PROTOCOL, fault.reason);
	EXPECT_EQ(1 - fault.reporter, fault.rank);
	EXPECT_EQ(step_of, fault.reporter);
	EXPECT_EQ(7u, fault.run);
}

TEST_F(run, message_for_a_run_that_is_over)
{
	struct hcomm_step send = { .op = HCOMM_STEP_SEND, .peer = 0, .len = 64 };

	/* what is small is sent and done */
	unequal(_metadata, self->r, self->mem, send, 0, 0);
}

TEST_F(run, large_message_for_a_run_that_is_over)
{
	struct hcomm_step send = { .op = HCOMM_STEP_SEND, .peer = 0, .len = LEN };

	unequal(_metadata, self->r, self->mem, send, 0, -EBADMSG);
}

TEST_F(run, waits_for_a_run_that_is_over)
{
	struct hcomm_step recv = { .op = HCOMM_STEP_RECV, .peer = 0, .len = 64 };

	unequal(_metadata, self->r, self->mem, recv, 1, -EBADMSG);
}

/* Calls that differ: both ranks are told both calls. */
TEST_F(run, mismatch)
{
	struct hcomm_launch arg = { .size = sizeof(arg), .nslots = 2, .run = 9 };
	struct hcomm_fault fault;
	struct hcomm_slot s[2];
	struct hcomm_cqe cqe;

	for (int i = 0; i < 2; i++) {
		struct hcomm_step recv = {
			.op = HCOMM_STEP_RECV, .peer = !i, .dst_slot = 1, .len = 64,
		};

		arg.prog_id = load(_metadata, &self->r[i], &recv, 1);
		slots_of(s, self->mem[i]);
		arg.slots = (uintptr_t)s;
		arg.call.coll = HCOMM_COLL_BROADCAST;
		arg.call.root = !i;
		ASSERT_EQ(0, call(self->r[i].fd, HCOMM_LAUNCH, &arg));
	}
	for (int i = 0; i < 2; i++) {
		EXPECT_EQ(-EBADE, wait_status(&self->r[i], &cqe));
		ASSERT_EQ(0, query_fault(self->r[i].fd, self->r[i].comm, &fault));
		EXPECT_EQ((uint32_t)HCOMM_FAULT_MISMATCH, fault.reason);
		EXPECT_EQ(1u, fault.mine.root + fault.theirs.root);
	}
}

TEST_F(run, peer_leaves)
{
	uint32_t prog = load_exchange(_metadata, &self->r[0], LEN);
	struct hcomm_slot s[2];
	struct hcomm_cqe cqe;

	load_exchange(_metadata, &self->r[1], LEN);
	slots_of(s, self->mem[0]);
	ASSERT_EQ(0, launch(self->r[0].fd, prog, s, 2, 1, 0, 0));
	EXPECT_EQ(-ETIMEDOUT, ring_wait(self->r[0].fd, 1, SEC / 5));
	rank_close(&self->r[1]);
	EXPECT_EQ(-EPIPE, wait_status(&self->r[0], &cqe));
	EXPECT_EQ(1u, cqe.fault_rank);
}

/* The other rank is a process that is killed in the middle of a run. */
TEST_F(run, peer_is_killed)
{
	uint32_t prog = load_exchange(_metadata, &self->r[0], LEN);
	struct timespec nap = { 0, 300000000 };
	struct hcomm_fault fault;
	struct hcomm_slot s[2];
	struct hcomm_cqe cqe;
	int status;
	pid_t pid;

	pid = fork();
	if (!pid) {
		/* What the parent also holds open must be closed here to end. */
		struct hcomm_step recv = {
			.op = HCOMM_STEP_RECV, .peer = 0, .dst_slot = 1, .len = 64,
		};
		uint32_t p = 0;

		if (prog_load(self->r[1].fd, self->r[1].comm, &recv, 1, NULL, 0, 2, &p))
			_exit(1);
		slots_of(s, self->mem[1]);
		if (launch(self->r[1].fd, p, s, 2, 1, 0, HCOMM_LAUNCH_WAIT))
			_exit(2);
		_exit(3);
	}
	rank_close(&self->r[1]);
	slots_of(s, self->mem[0]);
	ASSERT_EQ(0, launch(self->r[0].fd, prog, s, 2, 2, 0, 0));
	nanosleep(&nap, NULL);
	ASSERT_EQ(0, kill(pid, SIGKILL));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	ASSERT_TRUE(WIFSIGNALED(status));
	EXPECT_EQ(-EOWNERDEAD, wait_status(&self->r[0], &cqe));
	EXPECT_EQ(1u, cqe.fault_rank);
	ASSERT_EQ(0, query_fault(self->r[0].fd, self->r[0].comm, &fault));
	EXPECT_EQ((uint32_t)HCOMM_FAULT_PEER_DIED, fault.reason);
	EXPECT_EQ(1u, fault.rank);
}

TEST_F(run, close_in_flight)
{
	uint32_t prog = load_exchange(_metadata, &self->r[0], LEN);
	struct hcomm_slot s[2];

	slots_of(s, self->mem[0]);
	ASSERT_EQ(0, launch(self->r[0].fd, prog, s, 2, 1, 0, 0));
	/* Nothing to see but that it ends, and what the log says after. */
	rank_close(&self->r[0]);
	rank_close(&self->r[1]);
}

static void on_alarm(int sig)
{
	(void)sig;
}

TEST_F(run, signal_ends_a_wait)
{
	uint32_t prog = load_exchange(_metadata, &self->r[0], LEN);
	struct sigaction sa = { .sa_handler = on_alarm };
	struct itimerspec its = { .it_value.tv_nsec = 200000000 };
	struct hcomm_slot s[2];
	timer_t timer;

	slots_of(s, self->mem[0]);
	ASSERT_EQ(0, launch(self->r[0].fd, prog, s, 2, 1, 0, 0));
	ASSERT_EQ(0, sigaction(SIGALRM, &sa, NULL));
	ASSERT_EQ(0, timer_create(CLOCK_MONOTONIC, NULL, &timer));
	ASSERT_EQ(0, timer_settime(timer, 0, &its, NULL));
	EXPECT_EQ(-EINTR, ring_wait(self->r[0].fd, 1, 20 * SEC));
	timer_delete(timer);
}

TEST_HARNESS_MAIN
