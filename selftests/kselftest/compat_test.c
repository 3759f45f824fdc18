// SPDX-License-Identifier: GPL-2.0-only
/* A 32-bit program: the calls through the entry that such programs use. */
#include <signal.h>
#include "solo.h"
#include "kselftest_harness.h"

#define LEN	8192u

#ifdef __x86_64__
static long int80(long nr, long a, long b, long c)
{
	long ret;

	asm volatile("int $0x80" : "=a"(ret) : "a"(nr), "b"(a), "c"(b), "d"(c)
		     : "memory", "cc", "r8", "r9", "r10", "r11");
	return (int)ret;
}

#define NR32_GETPID	20
#define NR32_IOCTL	54

static int call32(int fd, unsigned long cmd, void *arg)
{
	return int80(NR32_IOCTL, fd, cmd, (uintptr_t)arg);
}

static bool has_compat(void)
{
	pid_t pid = fork();

	/* Where it is off it is a fault, or another call. */
	if (!pid) {
		faults_exit();
		_exit(int80(NR32_GETPID, 0, 0, 0) != getpid());
	}
	return status_of(pid) == 0;
}

static void *low_pages(size_t len)
{
	void *p = mmap(NULL, len, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}
#else
#define low_pages pages
#define call32 call

static bool has_compat(void)
{
	return false;
}
#endif

FIXTURE(compat)
{
	void *low;		/* what a 32-bit program can point to */
	int fd;
};

FIXTURE_SETUP(compat)
{
	if (!has_compat())
		SKIP(return, "no 32-bit entry");
	self->low = low_pages(4096);
	ASSERT_NE(NULL, self->low);
	self->fd = dev_open();
	ASSERT_GE(self->fd, 0);
}

FIXTURE_TEARDOWN(compat)
{
	if (!self->low)
		return;
	close(self->fd);
	munmap(self->low, 4096);
}

/* A call with a struct that is copied to where it can be pointed to, and back. */
static int low_call(void *low, int fd, unsigned long cmd, void *arg, size_t size)
{
	int ret;

	memcpy(low, arg, size);
	ret = call32(fd, cmd, low);
	memcpy(arg, low, size);
	return ret;
}

#define CALL(cmd, arg) low_call(self->low, self->fd, cmd, &(arg), sizeof(arg))

TEST_F(compat, same_answers)
{
	struct hcomm_info a = { .size = sizeof(a) }, b = { .size = sizeof(b) };
	struct hcomm_destroy d = { .size = sizeof(d), .id = 1 };

	ASSERT_EQ(0, call(self->fd, HCOMM_INFO, &a));
	ASSERT_EQ(0, CALL(HCOMM_INFO, b));
	EXPECT_EQ(0, memcmp(&a, &b, sizeof(a)));
	EXPECT_EQ(-ENOENT, CALL(HCOMM_DESTROY, d));
	d.size--;
	EXPECT_EQ(-EINVAL, CALL(HCOMM_DESTROY, d));
	EXPECT_EQ(-ENOTTY, call32(self->fd, _IO(HCOMM_IOC_MAGIC, HCOMM_CMD_END), self->low));
	EXPECT_EQ(-ENOTTY, call32(self->fd, _IOWR(HCOMM_IOC_MAGIC, HCOMM_CMD_INFO, int),
				  self->low));
	EXPECT_EQ(-EFAULT, call32(self->fd, HCOMM_INFO, NULL));
	EXPECT_EQ(-EFAULT, call32(self->fd, HCOMM_INFO, (void *)0xfffff000ul));
	EXPECT_EQ(-EFAULT, call32(self->fd, HCOMM_INFO, (void *)0xfffffffful));
}

/* All of a rank's life; what structs point to is above 4 GiB. */
TEST_F(compat, all_calls)
{
	struct hcomm_step steps[2] = {
		{ .op = HCOMM_STEP_COPY, .dst_slot = 1, .len = LEN / 2 },
		{ .op = HCOMM_STEP_COPY, .dst_slot = 1, .src_off = LEN / 2, .dst_off = LEN / 2,
		  .len = LEN / 2, .dep_count = 1 },
	};
	struct hcomm_ring_setup rs = { .size = sizeof(rs), .entries = 16, .eventfd = -1 };
	struct hcomm_mem_reg reg = { .size = sizeof(reg), .length = LEN };
	struct hcomm_prog_load pl = { .size = sizeof(pl), .nsteps = 2, .ndeps = 1, .nslots = 2 };
	struct hcomm_launch la = { .size = sizeof(la), .nslots = 2, .run = 1ull << 40,
				   .user_data = 0x123456789abcdefull };
	struct hcomm_launch_batch lb = { .size = sizeof(lb), .flags = HCOMM_LAUNCH_WAIT,
					 .count = 1, .launch_size = sizeof(la) };
	struct hcomm_wait w = { .size = sizeof(w), .count = 2, .timeout_ns = -1 };
	struct hcomm_link_open lo = { .size = sizeof(lo), .peer = 0 };
	struct hcomm_comm_query q = { .size = sizeof(q) };
	struct hcomm_comm_abort ab = { .size = sizeof(ab) };
	struct hcomm_comm_peers cp = { .size = sizeof(cp), .count = 1 };
	struct hcomm_destroy d = { .size = sizeof(d) };
	struct hcomm_slot slots[2] = { { .length = LEN }, { .length = LEN } };
	struct hcomm_info info = { .size = sizeof(info) };
	struct hcomm_peer peers[1] = {};
	struct hcomm_comm_create c;
	struct hcomm_ring *ring;
	uint32_t deps[1] = { 0 };
	uint8_t *p = pages(LEN);

	ASSERT_NE(0ul, (uintptr_t)p >> 32);
	ASSERT_NE(0ul, (uintptr_t)steps >> 32);
	create_init(&c, 0, 1);
	ASSERT_EQ(16, getrandom(c.uuid, sizeof(c.uuid), 0));
	memset(p, 0x32, LEN / 2);
	memset(p + LEN / 2, 0x64, LEN / 2);

	ASSERT_EQ(0, CALL(HCOMM_INFO, info));
	ASSERT_EQ(0, CALL(HCOMM_RING_SETUP, rs));
	EXPECT_EQ(4096u, rs.out_mmap_size);
	ring = mmap(NULL, rs.out_mmap_size, PROT_READ | PROT_WRITE, MAP_SHARED, self->fd, 0);
	ASSERT_NE(MAP_FAILED, (void *)ring);
	reg.addr = (uintptr_t)p;
	reg.flags = HCOMM_MEM_READ_ONLY;
	ASSERT_EQ(0, CALL(HCOMM_MEM_REG, reg));
	EXPECT_EQ(LEN, reg.out_needed);
	slots[0].mem_id = reg.out_mem_id;
	reg.addr = (uintptr_t)pages(LEN);
	reg.flags = 0;
	ASSERT_EQ(0, CALL(HCOMM_MEM_REG, reg));
	slots[1].mem_id = reg.out_mem_id;
	ASSERT_EQ(0, CALL(HCOMM_COMM_CREATE, c));
	memcpy(peers[0].node_id, info.node_id, 16);
	cp.comm_id = c.out_comm_id;
	cp.peers = (uintptr_t)peers;
	ASSERT_EQ(0, CALL(HCOMM_COMM_PEERS, cp));
	lo.comm_id = c.out_comm_id;
	EXPECT_EQ(-EINVAL, CALL(HCOMM_LINK_OPEN, lo));
	pl.comm_id = c.out_comm_id;
	pl.steps = (uintptr_t)steps;
	pl.deps = (uintptr_t)deps;
	ASSERT_EQ(0, CALL(HCOMM_PROG_LOAD, pl));
	la.prog_id = pl.out_prog_id;
	la.slots = (uintptr_t)slots;
	la.flags = HCOMM_LAUNCH_WAIT;
	ASSERT_EQ(0, CALL(HCOMM_LAUNCH, la));
	EXPECT_EQ(0, memcmp(p, (void *)reg.addr, LEN));
	EXPECT_EQ(la.user_data, ring->cqe[0].user_data);
	la.flags = 0;
	la.run++;
	lb.launches = (uintptr_t)&la;
	ASSERT_EQ(0, CALL(HCOMM_LAUNCH_BATCH, lb));
	EXPECT_EQ(1u, lb.out_done);
	ASSERT_EQ(0, CALL(HCOMM_WAIT, w));
	slots[0].length--;
	EXPECT_EQ(-ERANGE, CALL(HCOMM_LAUNCH, la));
	EXPECT_EQ(LEN, la.err_needed);
	q.comm_id = c.out_comm_id;
	ASSERT_EQ(0, CALL(HCOMM_COMM_QUERY, q));
	EXPECT_EQ(0, q.fault.error);
	ab.comm_id = c.out_comm_id;
	ASSERT_EQ(0, CALL(HCOMM_COMM_ABORT, ab));
	ASSERT_EQ(0, CALL(HCOMM_COMM_QUERY, q));
	EXPECT_EQ(ECANCELED, q.fault.error);
	d.id = pl.out_prog_id;
	EXPECT_EQ(0, CALL(HCOMM_DESTROY, d));
	munmap(ring, rs.out_mmap_size);
	munmap(p, LEN);
	munmap((void *)reg.addr, LEN);
}

TEST_HARNESS_MAIN
