// SPDX-License-Identifier: GPL-2.0-only
/* The format rules of all ioctls, and the ids of objects. */
#include "util.h"
#include "kselftest_harness.h"

/* Every ioctl with its size and where its padding is, if it has some. */
static const struct {
	const char *name;
	unsigned long cmd;
	size_t size;
	size_t flags;		/* offset of a flags field, 0: none */
	size_t pad;		/* offset of a pad field, 0: none */
} cmds[] = {
#define CMD(n, s, f, p) { #n, n, sizeof(struct s), f, p }
	CMD(HCOMM_INFO, hcomm_info, 0, offsetof(struct hcomm_info, pad)),
	CMD(HCOMM_DESTROY, hcomm_destroy, 0, 0),
	CMD(HCOMM_MEM_REG, hcomm_mem_reg, offsetof(struct hcomm_mem_reg, flags),
	    offsetof(struct hcomm_mem_reg, pad)),
	CMD(HCOMM_COMM_CREATE, hcomm_comm_create, offsetof(struct hcomm_comm_create, flags),
	    offsetof(struct hcomm_comm_create, pad)),
	CMD(HCOMM_COMM_PEERS, hcomm_comm_peers, offsetof(struct hcomm_comm_peers, flags), 0),
	CMD(HCOMM_COMM_QUERY, hcomm_comm_query, 0, offsetof(struct hcomm_comm_query, pad)),
	CMD(HCOMM_COMM_ABORT, hcomm_comm_abort, 0, 0),
	CMD(HCOMM_LINK_OPEN, hcomm_link_open, offsetof(struct hcomm_link_open, flags), 0),
	CMD(HCOMM_PROG_LOAD, hcomm_prog_load, offsetof(struct hcomm_prog_load, flags), 0),
	CMD(HCOMM_LAUNCH, hcomm_launch, offsetof(struct hcomm_launch, flags),
	    offsetof(struct hcomm_launch, pad)),
	CMD(HCOMM_WAIT, hcomm_wait, offsetof(struct hcomm_wait, flags),
	    offsetof(struct hcomm_wait, pad)),
	CMD(HCOMM_RING_SETUP, hcomm_ring_setup, offsetof(struct hcomm_ring_setup, flags), 0),
	CMD(HCOMM_LAUNCH_BATCH, hcomm_launch_batch,
	    offsetof(struct hcomm_launch_batch, flags),
	    offsetof(struct hcomm_launch_batch, pad)),
#undef CMD
};

FIXTURE(abi)
{
	int fd;
	uint8_t buf[4096];
};

FIXTURE_SETUP(abi)
{
	self->fd = dev_open();
	ASSERT_GE(self->fd, 0);
	memset(self->buf, 0, sizeof(self->buf));
}

FIXTURE_TEARDOWN(abi)
{
	close(self->fd);
}

static void set32(uint8_t *buf, size_t off, uint32_t v)
{
	memcpy(buf + off, &v, sizeof(v));
}

TEST_F(abi, table_is_complete)
{
	ASSERT_EQ(ARRAY_LEN(cmds), HCOMM_CMD_END - HCOMM_CMD_BASE);
}

TEST_F(abi, info)
{
	struct hcomm_info a = { .size = sizeof(a) }, b = { .size = sizeof(b) };
	static const uint8_t zero[16];
	int fd = dev_open();

	ASSERT_EQ(0, call(self->fd, HCOMM_INFO, &a));
	EXPECT_EQ(HCOMM_ABI_VERSION, a.abi_version);
	EXPECT_EQ(HCOMM_TRANSPORT_ALL, a.transports);
	EXPECT_EQ(HCOMM_MAX_STEPS, a.max_steps);
	EXPECT_NE(0, memcmp(a.node_id, zero, 16));
	/* The same kernel through any context. */
	ASSERT_EQ(0, call(fd, HCOMM_INFO, &b));
	EXPECT_EQ(0, memcmp(&a, &b, sizeof(a)));
	close(fd);
}

TEST_F(abi, unknown_ioctl)
{
	set32(self->buf, 0, 64);
	EXPECT_EQ(-ENOTTY, call(self->fd, _IO(HCOMM_IOC_MAGIC, HCOMM_CMD_END), self->buf));
	EXPECT_EQ(-ENOTTY, call(self->fd, _IO(HCOMM_IOC_MAGIC, HCOMM_CMD_BASE - 1), self->buf));
	EXPECT_EQ(-ENOTTY, call(self->fd, _IO('x', HCOMM_CMD_INFO), self->buf));
	EXPECT_EQ(-ENOTTY, call(self->fd, _IOWR(HCOMM_IOC_MAGIC, HCOMM_CMD_INFO, int), self->buf));
}

TEST_F(abi, sizes)
{
	for (size_t i = 0; i < ARRAY_LEN(cmds); i++) {
		TH_LOG("%s", cmds[i].name);
		memset(self->buf, 0, sizeof(self->buf));
		EXPECT_EQ(-EINVAL, call(self->fd, cmds[i].cmd, self->buf));
		set32(self->buf, 0, 4);
		EXPECT_EQ(-EINVAL, call(self->fd, cmds[i].cmd, self->buf));
		set32(self->buf, 0, cmds[i].size - 4);
		EXPECT_EQ(-EINVAL, call(self->fd, cmds[i].cmd, self->buf));
		/* Longer, with something in the tail that this kernel does not know. */
		set32(self->buf, 0, cmds[i].size + 8);
		self->buf[cmds[i].size + 7] = 1;
		EXPECT_EQ(-E2BIG, call(self->fd, cmds[i].cmd, self->buf));
		set32(self->buf, 0, 0xffffffff);
		EXPECT_EQ(-E2BIG, call(self->fd, cmds[i].cmd, self->buf));
		EXPECT_EQ(-EFAULT, call(self->fd, cmds[i].cmd, NULL));
	}
}

TEST_F(abi, longer_struct_with_zero_tail)
{
	set32(self->buf, 0, sizeof(struct hcomm_info) + 64);
	ASSERT_EQ(0, call(self->fd, HCOMM_INFO, self->buf));
}

TEST_F(abi, struct_at_the_end_of_memory)
{
	uint8_t *p = pages(8192);

	ASSERT_NE(NULL, p);
	ASSERT_EQ(0, munmap(p + 4096, 4096));
	for (size_t i = 0; i < ARRAY_LEN(cmds); i++) {
		TH_LOG("%s", cmds[i].name);
		/* Only half of it is there. */
		set32(p, 4096 - 8, cmds[i].size);
		if (cmds[i].size > 8)
			EXPECT_EQ(-EFAULT, call(self->fd, cmds[i].cmd, p + 4096 - 8));
	}
	munmap(p, 4096);
}

TEST_F(abi, flags_and_padding)
{
	for (size_t i = 0; i < ARRAY_LEN(cmds); i++) {
		TH_LOG("%s", cmds[i].name);
		memset(self->buf, 0, sizeof(self->buf));
		set32(self->buf, 0, cmds[i].size);
		if (cmds[i].flags) {
			set32(self->buf, cmds[i].flags, 0x80000000);
			EXPECT_EQ(-EOPNOTSUPP, call(self->fd, cmds[i].cmd, self->buf));
			set32(self->buf, cmds[i].flags, 0);
		}
		if (cmds[i].pad) {
			set32(self->buf, cmds[i].pad, 1);
			EXPECT_EQ(-EINVAL, call(self->fd, cmds[i].cmd, self->buf));
		}
	}
}

TEST_F(abi, ids)
{
	uint32_t id, other_id;
	void *p = pages(4096);
	int other = dev_open();
	struct hcomm_fault fault;
	struct hcomm_ring *ring;
	size_t size;

	ASSERT_EQ(0, mem_reg(self->fd, p, 4096, 0, &id));
	EXPECT_NE(0u, id);
	/* not of this context */
	EXPECT_EQ(-ENOENT, destroy(other, id));
	/* of the wrong kind */
	EXPECT_EQ(-ENOENT, query_fault(self->fd, id, &fault));
	ASSERT_EQ(0, ring_setup(self->fd, 8, -1, &ring, &size));
	EXPECT_EQ(-ENOENT, launch(self->fd, id, NULL, 0, 1, 0, 0));
	munmap(ring, size);
	/* never made */
	EXPECT_EQ(-ENOENT, destroy(self->fd, 0));
	EXPECT_EQ(-ENOENT, destroy(self->fd, id + 1));
	EXPECT_EQ(-ENOENT, destroy(self->fd, 0xffffffff));
	/* destroyed */
	EXPECT_EQ(0, destroy(self->fd, id));
	EXPECT_EQ(-ENOENT, destroy(self->fd, id));
	ASSERT_EQ(0, mem_reg(other, p, 4096, 0, &other_id));
	close(other);
	munmap(p, 4096);
}

TEST_F(abi, ring)
{
	struct hcomm_ring_setup arg = { .size = sizeof(arg), .eventfd = -1 };
	static const uint32_t bad[] = { 0, 3, HCOMM_MAX_RING_ENTRIES * 2, 0xffffffff };
	struct hcomm_ring *ring;
	size_t size;

	/* nothing to map and to wait for yet */
	EXPECT_EQ(MAP_FAILED, mmap(NULL, 4096, PROT_READ, MAP_SHARED, self->fd, 0));
	EXPECT_EQ(-ENXIO, ring_wait(self->fd, 1, 0));
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		arg.entries = bad[i];
		EXPECT_EQ(-EINVAL, call(self->fd, HCOMM_RING_SETUP, &arg));
	}
	arg.entries = 8;
	arg.eventfd = -2;
	EXPECT_EQ(-EINVAL, call(self->fd, HCOMM_RING_SETUP, &arg));
	arg.eventfd = self->fd;		/* no eventfd */
	EXPECT_EQ(-EINVAL, call(self->fd, HCOMM_RING_SETUP, &arg));
	arg.eventfd = 9999;
	EXPECT_EQ(-EBADF, call(self->fd, HCOMM_RING_SETUP, &arg));
	ASSERT_EQ(0, ring_setup(self->fd, 8, -1, &ring, &size));
	EXPECT_EQ(8u, ring->entries);
	EXPECT_EQ(7u, ring->mask);
	EXPECT_EQ(-EBUSY, ring_setup(self->fd, 8, -1, &ring, &size));
	EXPECT_EQ(MAP_FAILED, mmap(NULL, size + 4096, PROT_READ, MAP_SHARED, self->fd, 0));
	EXPECT_EQ(MAP_FAILED, mmap(NULL, 4096, PROT_READ, MAP_SHARED, self->fd, 4096));
	EXPECT_EQ(-EINVAL, ring_wait(self->fd, 0, 0));
	EXPECT_EQ(-EINVAL, ring_wait(self->fd, 9, 0));
	/* nothing is in flight: this wait would never end */
	EXPECT_EQ(-EDEADLK, ring_wait(self->fd, 1, -1));
	munmap(ring, size);
}

TEST_HARNESS_MAIN
