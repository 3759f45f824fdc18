// SPDX-License-Identifier: GPL-2.0-only
/* MEM_REG: what can be pinned, what is charged, what is refused. */
#include <sys/resource.h>
#include "util.h"
#include "kselftest_harness.h"

FIXTURE(mem)
{
	int fd;
	uint8_t *p;
};

#define LEN (64 * 4096)

FIXTURE_SETUP(mem)
{
	self->fd = dev_open();
	ASSERT_GE(self->fd, 0);
	self->p = pages(LEN);
	ASSERT_NE(NULL, self->p);
}

FIXTURE_TEARDOWN(mem)
{
	close(self->fd);
	munmap(self->p, LEN);
}

TEST_F(mem, charges_and_gives_back)
{
	long before = vm_pin_kb();
	uint32_t a, b;

	ASSERT_EQ(0, mem_reg(self->fd, self->p, LEN, 0, &a));
	EXPECT_EQ(before + LEN / 1024, vm_pin_kb());
	/* Two bytes that lie in two pages are two pages. */
	ASSERT_EQ(0, mem_reg(self->fd, self->p + 4095, 2, 0, &b));
	EXPECT_EQ(before + LEN / 1024 + 8, vm_pin_kb());
	ASSERT_EQ(0, destroy(self->fd, a));
	EXPECT_EQ(before + 8, vm_pin_kb());
	close(self->fd);
	EXPECT_EQ(before, vm_pin_kb());
	self->fd = dev_open();
}

TEST_F(mem, bad_ranges)
{
	struct { uint64_t addr, len; int err; } bad[] = {
		{ (uintptr_t)self->p, 0, -EINVAL },
		{ (uintptr_t)self->p, UINT64_MAX, -EINVAL },
		{ UINT64_MAX - 4095, 8192, -EINVAL },
		{ 4096, 4096, -EFAULT },
		{ 0, 4096, -EFAULT },
		{ UINT64_MAX - 16383, 4096, -EFAULT },
	};
	long before = vm_pin_kb();
	uint32_t id;

	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		TH_LOG("%zu", i);
		EXPECT_EQ(bad[i].err, mem_reg(self->fd, (void *)bad[i].addr, bad[i].len, 0, &id));
	}
	EXPECT_NE(0, mem_reg(self->fd, self->p, 1ull << 46, 0, &id));
	/* The last page is not there: nothing stays pinned of the first ones. */
	ASSERT_EQ(0, munmap(self->p + LEN - 4096, 4096));
	EXPECT_EQ(-EFAULT, mem_reg(self->fd, self->p, LEN, 0, &id));
	EXPECT_EQ(before, vm_pin_kb());
}

TEST_F(mem, read_only_mapping)
{
	uint32_t id;

	memset(self->p, 1, LEN);
	ASSERT_EQ(0, mprotect(self->p, LEN, PROT_READ));
	EXPECT_EQ(-EFAULT, mem_reg(self->fd, self->p, LEN, 0, &id));
	EXPECT_EQ(0, mem_reg(self->fd, self->p, LEN, HCOMM_MEM_READ_ONLY, &id));
}

TEST_F(mem, memlock_limit)
{
	struct hcomm_mem_reg arg = {
		.size = sizeof(arg), .addr = (uintptr_t)self->p, .length = LEN,
	};
	int status;
	pid_t pid;

	/* Another user without privileges and with half of what it takes. */
	pid = fork();
	if (!pid) {
		struct rlimit lim = { LEN / 2, LEN / 2 };
		uint32_t id;

		if (setrlimit(RLIMIT_MEMLOCK, &lim) || setgid(65534) || setuid(65534))
			_exit(1);
		if (call(self->fd, HCOMM_MEM_REG, &arg) != -ENOMEM)
			_exit(2);
		if (arg.out_limit != LEN / 2 || arg.out_used != 0 || arg.out_needed != LEN)
			_exit(3);
		if (mem_reg(self->fd, self->p, LEN / 2, 0, &id))
			_exit(4);
		if (call(self->fd, HCOMM_MEM_REG, &arg) != -ENOMEM || arg.out_used != LEN / 2)
			_exit(5);
		if (destroy(self->fd, id) || mem_reg(self->fd, self->p, LEN / 2, 0, &id))
			_exit(6);
		_exit(0);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	ASSERT_TRUE(WIFEXITED(status));
	EXPECT_EQ(0, WEXITSTATUS(status));
}

TEST_F(mem, survives_munmap_and_fork)
{
	uint32_t id;
	pid_t pid;
	int status;

	ASSERT_EQ(0, mem_reg(self->fd, self->p, LEN, 0, &id));
	pid = fork();
	if (!pid) {
		memset(self->p, 7, LEN);
		_exit(0);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	ASSERT_EQ(0, munmap(self->p, LEN));
	EXPECT_EQ(0, destroy(self->fd, id));
	self->p = pages(LEN);
}

TEST_F(mem, many_objects)
{
	uint32_t id[200];

	for (size_t i = 0; i < ARRAY_LEN(id); i++)
		ASSERT_EQ(0, mem_reg(self->fd, self->p + i * 7, 4096, 0, &id[i]));
	for (size_t i = 0; i < ARRAY_LEN(id); i += 2)
		ASSERT_EQ(0, destroy(self->fd, id[i]));
	/* The rest goes with the context. */
}

TEST_HARNESS_MAIN
