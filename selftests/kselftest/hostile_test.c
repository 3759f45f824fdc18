// SPDX-License-Identifier: GPL-2.0-only
/* What a user may try who wants more than his share, or to harm others. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include "util.h"
#include "kselftest_harness.h"

#define CGROUPS	"/sys/fs/cgroup"

/* ------------------------------------------------------------- memory cgroups */

static long get_number(const char *path)
{
	FILE *f = fopen(path, "r");
	long n = -1;

	if (f && fscanf(f, "%ld", &n) != 1)
		n = -1;
	if (f)
		fclose(f);
	return n;
}

/* In a process of its own: the cgroup ends with it. */
static int rings_charged(const char *dir, uint32_t n, size_t *size)
{
	char path[128];
	long before, after;

	snprintf(path, sizeof(path), "%s/cgroup.procs", dir);
	if (!put_text(path, "0"))
		return -1;
	snprintf(path, sizeof(path), "%s/memory.current", dir);
	before = get_number(path);
	for (uint32_t i = 0; i < n; i++) {
		struct hcomm_ring *ring;

		if (ring_setup(dev_open(), HCOMM_MAX_RING_ENTRIES, -1, &ring, size))
			return -1;
	}
	after = get_number(path);
	/* Charges are made in advance, and so seen late. */
	return after - before < (long)(n * *size / 2);
}

TEST(rings_are_charged)
{
	const char *dir = CGROUPS "/hcomm-hostile";
	size_t size = 0;
	int status;
	pid_t pid;

	put_text(CGROUPS "/cgroup.subtree_control", "+memory");
	if (mkdir(dir, 0755) || access(CGROUPS "/hcomm-hostile/memory.current", R_OK)) {
		rmdir(dir);
		SKIP(return, "no memory cgroup can be made");
	}
	pid = fork();
	if (!pid)
		_exit(rings_charged(dir, 4, &size) & 0xff);
	EXPECT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, rmdir(dir));
	ASSERT_TRUE(WIFEXITED(status));
	EXPECT_EQ(0, WEXITSTATUS(status));
}

/* ------------------------------------------------------------------- the ring */

TEST(ring_maps_only_itself)
{
	struct hcomm_ring *ring;
	size_t size;
	uint32_t id;
	void *p;
	int fd;

	fd = dev_open();
	ASSERT_GE(fd, 0);
	EXPECT_EQ(MAP_FAILED, mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0));
	ASSERT_EQ(0, ring_setup(fd, 1024, -1, &ring, &size));
	EXPECT_EQ(1023, ring->mask);
	EXPECT_EQ(MAP_FAILED, mmap(NULL, size + 1, PROT_READ, MAP_SHARED, fd, 0));
	EXPECT_EQ(MAP_FAILED, mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 4096));
	EXPECT_EQ(MAP_FAILED, mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, size));
	EXPECT_EQ(MAP_FAILED, mremap(ring, size, 2 * size, MREMAP_MAYMOVE));

	/* The ring as memory of a run is as good as any other. */
	ASSERT_EQ(0, mem_reg(fd, ring, size, 0, &id));
	p = mmap(NULL, 100, PROT_READ, MAP_SHARED, fd, 0);
	ASSERT_NE(MAP_FAILED, p);
	close(fd);
	/* Ours for as long as it is mapped. */
	ring->head = 77;
	EXPECT_EQ(77, ((volatile struct hcomm_ring *)p)->head);
	munmap(p, 100);
	munmap(ring, size);
}

/* ---------------------------------------------------------------- what is remembered */

/* Another user makes and ends communicators. */
static int churn(uint32_t n)
{
	int fd = dev_open();

	if (setgid(65534) || setuid(65534))
		return 1;
	while (n--) {
		struct hcomm_comm_create c;

		create_init(&c, 0, 1);
		if (getrandom(c.uuid, sizeof(c.uuid), 0) != sizeof(c.uuid) ||
		    call(fd, HCOMM_COMM_CREATE, &c) || destroy(fd, c.out_comm_id))
			return 1;
	}
	return 0;
}

FIXTURE(memory)
{
	struct rank r[2];
};

FIXTURE_SETUP(memory)
{
	memset(self->r, 0, sizeof(self->r));
	ASSERT_EQ(0, ranks_open(self->r, 2, NULL));
}

FIXTURE_TEARDOWN(memory)
{
	rank_close(&self->r[0]);
}

/* A kernel with all checks takes a while to make so many. */
TEST_F_TIMEOUT(memory, others_do_not_make_a_death_forgotten, 300)
{
	struct hcomm_link_open lo = { .size = sizeof(lo), .peer = 1, .timeout_ms = 2000 };
	int status;
	pid_t pid;

	rank_close(&self->r[1]);
	pid = fork();
	if (!pid)
		_exit(churn(1200));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	ASSERT_TRUE(WIFEXITED(status));
	ASSERT_EQ(0, WEXITSTATUS(status));
	lo.comm_id = self->r[0].comm;
	EXPECT_EQ(-EPIPE, call(self->r[0].fd, HCOMM_LINK_OPEN, &lo));
}

/* ----------------------------------------------------------- deaths and helpers */

/* The rank's process forked a helper, which has all its files, and is killed. */
TEST(helper_does_not_stand_in_for_the_dead)
{
	struct hcomm_link_open lo = { .size = sizeof(lo), .peer = 1 };
	struct { struct hcomm_comm_create c; int fd; } me;
	struct hcomm_info info = { .size = sizeof(info) };
	struct hcomm_peer peers[2] = {};
	struct hcomm_fault fault = {};
	struct hcomm_comm_peers cp = {
		.size = sizeof(cp), .peers = (uintptr_t)peers, .count = 2,
	};
	int ready[2], status;
	pid_t pids[2];

	ASSERT_EQ(0, pipe(ready));
	me.fd = dev_open();
	ASSERT_EQ(0, call(me.fd, HCOMM_INFO, &info));
	for (int i = 0; i < 2; i++)
		memcpy(peers[i].node_id, info.node_id, sizeof(info.node_id));
	create_init(&me.c, 0, 2);
	ASSERT_EQ(16, getrandom(me.c.uuid, 16, 0));
	ASSERT_EQ(0, call(me.fd, HCOMM_COMM_CREATE, &me.c));
	cp.comm_id = me.c.out_comm_id;
	ASSERT_EQ(0, call(me.fd, HCOMM_COMM_PEERS, &cp));

	pids[0] = fork();
	if (!pids[0]) {
		me.fd = dev_open();
		me.c.rank = 1;
		if (call(me.fd, HCOMM_COMM_CREATE, &me.c))
			_exit(1);
		pids[1] = fork();
		if (!pids[1]) {
			pause();
			_exit(0);
		}
		if (write(ready[1], &pids[1], sizeof(pids[1])) != sizeof(pids[1]))
			_exit(1);
		pause();
	}
	ASSERT_EQ(sizeof(pids[1]), read(ready[0], &pids[1], sizeof(pids[1])));
	lo.comm_id = cp.comm_id;
	EXPECT_EQ(0, call(me.fd, HCOMM_LINK_OPEN, &lo));
	kill(pids[0], SIGKILL);
	EXPECT_EQ(pids[0], waitpid(pids[0], &status, 0));
	for (int i = 0; i < 200 && !fault.error; i++) {
		EXPECT_EQ(0, query_fault(me.fd, cp.comm_id, &fault));
		usleep(10000);
	}
	EXPECT_EQ(EOWNERDEAD, fault.error);
	EXPECT_EQ(HCOMM_FAULT_PEER_DIED, fault.reason);
	EXPECT_EQ(1, fault.rank);
	kill(pids[1], SIGKILL);
	close(me.fd);
}

/* ----------------------------------------------------------------- starvation */

#define CROWD		100
#define CROWD_LEN	(8u << 20)
#define CROWD_STEPS	4000

/* Many communicators, each with copies to make for minutes. */
static int crowd(int ready)
{
	static struct hcomm_step steps[CROWD_STEPS];
	uint32_t mem, progs[CROWD];
	struct hcomm_slot slots[2];
	struct hcomm_ring *ring;
	size_t size;
	int fd = dev_open();

	if (ring_setup(fd, 256, -1, &ring, &size) ||
	    mem_reg(fd, pages(2 * CROWD_LEN), 2 * CROWD_LEN, 0, &mem))
		return 1;
	for (int i = 0; i < CROWD_STEPS; i++)
		steps[i] = (struct hcomm_step){
			.op = HCOMM_STEP_COPY, .dst_slot = 1, .len = CROWD_LEN,
		};
	for (int i = 0; i < 2; i++)
		slots[i] = (struct hcomm_slot){
			.mem_id = mem, .offset = i * CROWD_LEN, .length = CROWD_LEN,
		};
	for (int i = 0; i < CROWD; i++) {
		struct hcomm_comm_create c;

		create_init(&c, 0, 1);
		c.chunk_size = HCOMM_MAX_CHUNK_SIZE;
		if (getrandom(c.uuid, sizeof(c.uuid), 0) != sizeof(c.uuid) ||
		    call(fd, HCOMM_COMM_CREATE, &c) ||
		    prog_load(fd, c.out_comm_id, steps, CROWD_STEPS, NULL, 0, 2, &progs[i]))
			return 1;
	}
	for (int i = 0; i < CROWD; i++)
		if (launch(fd, progs[i], slots, 2, 1, 0, 0))
			return 1;
	if (write(ready, "", 1) != 1)
		return 1;
	pause();
	return 0;
}

TEST(crowd_keeps_nobody_away)
{
	struct hcomm_link_open lo = { .size = sizeof(lo), .peer = 1, .timeout_ms = 5000 };
	struct rank r[2] = {};
	int ready[2], status;
	pid_t pid;
	char c;

	ASSERT_EQ(0, pipe(ready));
	pid = fork();
	if (!pid)
		_exit(crowd(ready[1]));
	close(ready[1]);
	ASSERT_EQ(1, read(ready[0], &c, 1));
	for (int i = 0; i < 3; i++) {
		EXPECT_EQ(0, ranks_open(r, 2, NULL));
		lo.comm_id = r[0].comm;
		EXPECT_EQ(0, call(r[0].fd, HCOMM_LINK_OPEN, &lo));
		rank_close(&r[0]);
		rank_close(&r[1]);
	}
	kill(pid, SIGKILL);
	EXPECT_EQ(pid, waitpid(pid, &status, 0));
}

TEST_HARNESS_MAIN
