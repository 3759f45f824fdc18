// SPDX-License-Identifier: GPL-2.0-only
/* MEM_REG of all kinds of memory: what is right, and what has to be refused. */
#define _GNU_SOURCE
#include <sched.h>
#include <sys/syscall.h>
#include <sys/mount.h>
#include "solo.h"
#include "kselftest_harness.h"

#define LEN	(64u << 10)
#define HUGE	(2u << 20)

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE	0x0010
#endif

FIXTURE(kinds)
{
	struct solo s;
	long pinned;
};

FIXTURE_SETUP(kinds)
{
	ASSERT_EQ(0, solo_open(&self->s, LEN));
	self->pinned = vm_pin_kb();
}

/* Whatever was tried, nothing of it stays pinned. */
FIXTURE_TEARDOWN(kinds)
{
	EXPECT_EQ(self->pinned, vm_pin_kb());
	solo_close(&self->s);
}

/* Memory that the process and the kernel see the same way, in both directions. */
static void expect_shared(struct __test_metadata *_metadata, struct solo *s, uint8_t *p)
{
	uint32_t id;

	memset(p, 'a', LEN);
	ASSERT_EQ(0, mem_reg(s->fd, p, LEN, 0, &id));
	EXPECT_TRUE(solo_sees(s, id, 'a'));
	memset(p, 'b', LEN);
	EXPECT_TRUE(solo_sees(s, id, 'b'));
	EXPECT_EQ(0, solo_fill(s, id, 'c'));
	EXPECT_TRUE(all_are(p, 'c', LEN));
	EXPECT_EQ(0, destroy(s->fd, id));
}

/* Nobody has written it yet: what is pinned must be what he writes later. */
TEST_F(kinds, read_only_before_the_first_write)
{
	uint8_t *p = pages(LEN);
	uint32_t id;

	ASSERT_EQ(0, mem_reg(self->s.fd, p, LEN, HCOMM_MEM_READ_ONLY, &id));
	EXPECT_TRUE(solo_sees(&self->s, id, 0));
	memset(p, 'x', LEN);
	EXPECT_TRUE(solo_sees(&self->s, id, 'x'));
	EXPECT_EQ(-EACCES, solo_fill(&self->s, id, 'y'));
	EXPECT_TRUE(all_are(p, 'x', LEN));
	EXPECT_EQ(0, destroy(self->s.fd, id));
	munmap(p, LEN);
}

TEST_F(kinds, read_only_of_what_was_read)
{
	uint8_t *p = pages(LEN);
	uint32_t id;

	/* The zero page is there now. */
	EXPECT_TRUE(all_are(p, 0, LEN));
	ASSERT_EQ(0, mem_reg(self->s.fd, p, LEN, HCOMM_MEM_READ_ONLY, &id));
	memset(p, 'x', LEN);
	EXPECT_TRUE(solo_sees(&self->s, id, 'x'));
	EXPECT_EQ(0, destroy(self->s.fd, id));
	munmap(p, LEN);
}

TEST_F(kinds, dev_zero)
{
	int fd = open("/dev/zero", O_RDWR);
	uint8_t *p;

	p = mmap(NULL, LEN, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	ASSERT_NE(MAP_FAILED, p);
	expect_shared(_metadata, &self->s, p);
	munmap(p, LEN);
	p = mmap(NULL, LEN, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	ASSERT_NE(MAP_FAILED, p);
	expect_shared(_metadata, &self->s, p);
	munmap(p, LEN);
	close(fd);
}

/* ------------------------------------------------------------------------ memfd */

/* Two mappings of it, the second for reading. */
static int memfd_map(const char *name, unsigned int flags, size_t len, uint8_t **w, uint8_t **r)
{
	int fd = memfd_create(name, flags);

	if (fd < 0 || ftruncate(fd, len))
		return -1;
	*w = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	*r = mmap(NULL, len, PROT_READ, MAP_SHARED, fd, 0);
	if (*w == MAP_FAILED || *r == MAP_FAILED)
		return -1;
	return fd;
}

TEST_F(kinds, memfd)
{
	uint32_t id, rid;
	uint8_t *w, *r;
	int fd = memfd_map("plain", MFD_CLOEXEC, LEN, &w, &r);

	ASSERT_GE(fd, 0);
	expect_shared(_metadata, &self->s, w);
	EXPECT_EQ(-EFAULT, mem_reg(self->s.fd, r, LEN, 0, &id));
	/* It can only be read here, but it is the same memory. */
	ASSERT_EQ(0, mem_reg(self->s.fd, r, LEN, HCOMM_MEM_READ_ONLY, &rid));
	memset(w, 'm', LEN);
	EXPECT_TRUE(solo_sees(&self->s, rid, 'm'));
	/* Cut off: the object names pages. */
	EXPECT_EQ(0, ftruncate(fd, 0));
	EXPECT_TRUE(solo_sees(&self->s, rid, 'm'));
	EXPECT_EQ(-EFAULT, mem_reg(self->s.fd, w, LEN, 0, &id));
	EXPECT_EQ(0, destroy(self->s.fd, rid));
	munmap(w, LEN);
	munmap(r, LEN);
	close(fd);
}

TEST_F(kinds, sealed_memfd)
{
	uint32_t id, rid;
	uint8_t *w, *r;
	int fd = memfd_map("sealed", MFD_CLOEXEC | MFD_ALLOW_SEALING, LEN, &w, &r);

	ASSERT_GE(fd, 0);
	memset(w, 's', LEN);
	ASSERT_EQ(0, mem_reg(self->s.fd, w, LEN, 0, &id));
	ASSERT_EQ(0, munmap(w, LEN));
	ASSERT_EQ(0, munmap(r, LEN));
	/* Who could still write it keeps it from being sealed. */
	EXPECT_EQ(-1, fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE));
	EXPECT_EQ(EBUSY, errno);
	EXPECT_EQ(0, solo_fill(&self->s, id, 't'));
	EXPECT_EQ(0, destroy(self->s.fd, id));

	ASSERT_EQ(0, fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE));
	r = mmap(NULL, LEN, PROT_READ, MAP_SHARED, fd, 0);
	/* Before 6.7 there is no such mapping. */
	if (r != MAP_FAILED) {
		EXPECT_EQ(-EFAULT, mem_reg(self->s.fd, r, LEN, 0, &id));
		ASSERT_EQ(0, mem_reg(self->s.fd, r, LEN, HCOMM_MEM_READ_ONLY, &rid));
		EXPECT_TRUE(solo_sees(&self->s, rid, 't'));
		EXPECT_EQ(-EACCES, solo_fill(&self->s, rid, 'u'));
		EXPECT_TRUE(all_are(r, 't', LEN));
		EXPECT_EQ(0, destroy(self->s.fd, rid));
		munmap(r, LEN);
	}

	/* A private copy of it is nobody else's. */
	w = mmap(NULL, LEN, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	ASSERT_NE(MAP_FAILED, w);
	expect_shared(_metadata, &self->s, w);
	munmap(w, LEN);
	r = malloc(LEN);
	EXPECT_EQ((ssize_t)LEN, pread(fd, r, LEN, 0));
	EXPECT_TRUE(all_are(r, 't', LEN));
	free(r);
	close(fd);
}

TEST_F(kinds, memfd_sealed_for_the_future)
{
	uint8_t *w, *r;
	uint32_t id;
	int fd = memfd_map("future", MFD_CLOEXEC | MFD_ALLOW_SEALING, LEN, &w, &r);

	ASSERT_GE(fd, 0);
	ASSERT_EQ(0, fcntl(fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE));
	EXPECT_EQ(-EFAULT, mem_reg(self->s.fd, r, LEN, 0, &id));
	expect_shared(_metadata, &self->s, w);
	munmap(w, LEN);
	munmap(r, LEN);
	close(fd);
}

/* Not even the kernel can reach it. */
TEST_F(kinds, secret_memory)
{
	int fd = syscall(SYS_memfd_secret, 0);
	uint32_t id;
	uint8_t *p;

	if (fd < 0)
		SKIP(return, "no memfd_secret()");
	ASSERT_EQ(0, ftruncate(fd, LEN));
	p = mmap(NULL, LEN, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED)
		SKIP(return, "memfd_secret() is off");
	memset(p, 's', LEN);
	EXPECT_EQ(-EFAULT, mem_reg(self->s.fd, p, LEN, 0, &id));
	EXPECT_EQ(-EFAULT, mem_reg(self->s.fd, p, LEN, HCOMM_MEM_READ_ONLY, &id));
	munmap(p, LEN);
	close(fd);
}

/* ---------------------------------------------------------------- files on a disk */

static bool system_ok(const char *cmd)
{
	return system(cmd) == 0;
}

/*
 * A file that can be mapped and that is written back: in a file system made for it, in
 * a mount namespace of its own, or in the host's under UML.
 */
static int disk_file(void)
{
	char name[] = "/lab/file-XXXXXX";
	int fd = mkstemp(name);
	void *p;

	if (fd >= 0) {
		unlink(name);
		p = ftruncate(fd, LEN) ? MAP_FAILED :
		    mmap(NULL, LEN, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		if (p != MAP_FAILED) {
			munmap(p, LEN);
			return fd;
		}
		close(fd);
	}
	if (!system_ok("grep -qw ext4 /proc/filesystems || modprobe -q ext4"))
		return -1;
	if (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    !system_ok("rm -rf /tmp/hk; mkdir -p /tmp/hk/mnt && cd /tmp/hk &&"
		       "truncate -s 16M img && mkfs.ext4 -q img && mount -o loop img mnt"))
		return -1;
	fd = open("/tmp/hk/mnt/file", O_RDWR | O_CREAT | O_TRUNC, 0600);
	return fd < 0 || ftruncate(fd, LEN) ? -1 : fd;
}

/*
 * What a disk stands behind must be told of each write, which nobody can do for pages
 * that are pinned for long.
 */
TEST_F(kinds, file_on_a_disk)
{
	int fd = disk_file();
	uint8_t *p, *q;
	uint32_t id;

	if (fd < 0)
		SKIP(return, "no file system on a disk can be made");
	p = mmap(NULL, LEN, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	ASSERT_NE(MAP_FAILED, p);
	EXPECT_EQ(-EFAULT, mem_reg(self->s.fd, p, LEN, 0, &id));
	memset(p, 'f', LEN);
	EXPECT_EQ(-EFAULT, mem_reg(self->s.fd, p, LEN, 0, &id));
	/* Together with memory that is good. */
	q = mmap(NULL, 2 * LEN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, q);
	ASSERT_EQ(q + LEN, mmap(q + LEN, LEN, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
				fd, 0));
	memset(q, 'f', 2 * LEN);
	EXPECT_EQ(-EFAULT, mem_reg(self->s.fd, q, 2 * LEN, 0, &id));
	munmap(q, 2 * LEN);
	/* To be read it is as good as any. */
	ASSERT_EQ(0, mem_reg(self->s.fd, p, LEN, HCOMM_MEM_READ_ONLY, &id));
	EXPECT_TRUE(solo_sees(&self->s, id, 'f'));
	EXPECT_EQ(0, destroy(self->s.fd, id));
	/* A private copy leaves the file alone. */
	q = mmap(NULL, LEN, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	ASSERT_NE(MAP_FAILED, q);
	expect_shared(_metadata, &self->s, q);
	EXPECT_TRUE(all_are(p, 'f', LEN));
	munmap(q, LEN);
	munmap(p, LEN);
	close(fd);
	umount("/tmp/hk/mnt");
	EXPECT_TRUE(system_ok("rm -rf /tmp/hk"));
}

/* ------------------------------------------------------------------- huge pages */

static int huge_pages(const char *n)
{
	return put_text("/proc/sys/vm/nr_hugepages", n);
}

TEST_F(kinds, hugetlb)
{
	static const int how[] = {
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, MAP_SHARED | MAP_ANONYMOUS | MAP_HUGETLB,
	};
	uint8_t *p, *at;
	uint32_t id;

	huge_pages("6");
	for (size_t i = 0; i < ARRAY_LEN(how); i++) {
		p = mmap(NULL, 2 * HUGE, PROT_READ | PROT_WRITE, how[i], -1, 0);
		if (p == MAP_FAILED) {
			huge_pages("0");
			SKIP(return, "no huge pages");
		}
		/* Across the border of two, and not at the border of a small page. */
		at = p + HUGE - LEN / 2 + 3;
		expect_shared(_metadata, &self->s, at);
		/* As the last user of the pages. */
		ASSERT_EQ(0, mem_reg(self->s.fd, at, LEN, 0, &id));
		memset(at, 'h', LEN);
		EXPECT_EQ(0, munmap(p, 2 * HUGE));
		EXPECT_TRUE(solo_sees(&self->s, id, 'h'));
		EXPECT_EQ(0, destroy(self->s.fd, id));

		p = mmap(NULL, HUGE, PROT_READ | PROT_WRITE, how[i], -1, 0);
		ASSERT_NE(MAP_FAILED, p);
		ASSERT_EQ(0, mem_reg(self->s.fd, p, LEN, HCOMM_MEM_READ_ONLY, &id));
		memset(p, 'i', LEN);
		EXPECT_TRUE(solo_sees(&self->s, id, 'i'));
		EXPECT_EQ(0, destroy(self->s.fd, id));
		munmap(p, HUGE);
	}
	huge_pages("0");
}

TEST_F(kinds, hugetlb_hole)
{
	uint8_t *w, *r;
	uint32_t id;
	int fd;

	huge_pages("6");
	fd = memfd_map("huge", MFD_CLOEXEC | MFD_HUGETLB, HUGE, &w, &r);
	if (fd < 0) {
		huge_pages("0");
		SKIP(return, "no huge pages");
	}
	memset(w, 'h', LEN);
	ASSERT_EQ(0, mem_reg(self->s.fd, w, LEN, 0, &id));
	EXPECT_EQ(0, fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, HUGE));
	EXPECT_TRUE(solo_sees(&self->s, id, 'h'));
	EXPECT_EQ(0, w[0]);
	EXPECT_EQ(0, solo_fill(&self->s, id, 'j'));
	EXPECT_EQ(0, w[0]);
	EXPECT_EQ(0, destroy(self->s.fd, id));
	munmap(w, HUGE);
	munmap(r, HUGE);
	close(fd);
	huge_pages("0");
}

/* Huge pages that the kernel makes and takes apart as it likes. */
TEST_F(kinds, transparent_huge_page)
{
	uint8_t *area = pages(4 * HUGE), *p, *at;
	uint32_t id;

	ASSERT_NE(NULL, area);
	p = (uint8_t *)(((uintptr_t)area + HUGE - 1) & ~(uintptr_t)(HUGE - 1));
	if (madvise(p, 2 * HUGE, MADV_HUGEPAGE))
		SKIP(return, "no transparent huge pages");
	memset(p, 'p', 2 * HUGE);
	at = p + HUGE - LEN / 2 + 3;
	expect_shared(_metadata, &self->s, at);
	ASSERT_EQ(0, mem_reg(self->s.fd, at, LEN, 0, &id));
	memset(at, 'q', LEN);
	/* Taken apart around the object, then through it. */
	EXPECT_EQ(0, mprotect(p, 4096, PROT_READ));
	EXPECT_EQ(0, munmap(p + 2 * HUGE - 4096, 4096));
	EXPECT_TRUE(solo_sees(&self->s, id, 'q'));
	memset(at, 'r', LEN);
	EXPECT_TRUE(solo_sees(&self->s, id, 'r'));
	EXPECT_EQ(0, munmap(p + HUGE, 4096));
	EXPECT_TRUE(solo_sees(&self->s, id, 'r'));
	EXPECT_EQ(0, destroy(self->s.fd, id));
	munmap(area, 4 * HUGE);
}

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE	25
#endif

TEST_F(kinds, small_pages_are_not_collapsed_away)
{
	uint8_t *area = pages(3 * HUGE), *p;
	uint32_t id;

	p = (uint8_t *)(((uintptr_t)area + HUGE - 1) & ~(uintptr_t)(HUGE - 1));
	if (madvise(area, 3 * HUGE, MADV_NOHUGEPAGE))
		SKIP(return, "no transparent huge pages");
	memset(p, 'p', HUGE);
	ASSERT_EQ(0, mem_reg(self->s.fd, p + HUGE / 2, LEN, 0, &id));
	EXPECT_EQ(0, madvise(p, HUGE, MADV_HUGEPAGE));
	/* Whether it says that it did: */
	madvise(p, HUGE, MADV_COLLAPSE);
	memset(p, 'q', HUGE);
	EXPECT_TRUE(solo_sees(&self->s, id, 'q'));
	EXPECT_EQ(0, solo_fill(&self->s, id, 'r'));
	EXPECT_TRUE(all_are(p + HUGE / 2, 'r', LEN));
	EXPECT_EQ(0, destroy(self->s.fd, id));
	munmap(area, 3 * HUGE);
}

/* ------------------------------------------------------------ what is no memory */

TEST_F(kinds, device_memory)
{
	int fd = open("/dev/mem", O_RDONLY);
	uint32_t id;
	void *p;

	if (fd < 0)
		SKIP(return, "no /dev/mem");
	p = mmap(NULL, LEN, PROT_READ, MAP_SHARED, fd, 0xf0000);
	close(fd);
	if (p == MAP_FAILED)
		SKIP(return, "nothing of /dev/mem can be mapped");
	EXPECT_EQ(-EFAULT, mem_reg(self->s.fd, p, LEN, HCOMM_MEM_READ_ONLY, &id));
	EXPECT_EQ(-EFAULT, mem_reg(self->s.fd, p, LEN, 0, &id));
	munmap(p, LEN);
}

/* What the kernel maps into every process: refused, or for reading only. */
TEST_F(kinds, mappings_of_the_kernel)
{
	FILE *f = fopen("/proc/self/maps", "r");
	unsigned long from, to;
	char line[256], name[64];
	uint32_t id;
	int ret;

	ASSERT_NE(NULL, f);
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%lx-%lx %*s %*s %*s %*s %63s", &from, &to, name) != 3 ||
		    strncmp(name, "[v", 2))
			continue;
		TH_LOG("%s", name);
		EXPECT_EQ(-EFAULT, mem_reg(self->s.fd, (void *)from, to - from, 0, &id));
		ret = mem_reg(self->s.fd, (void *)from, to - from, HCOMM_MEM_READ_ONLY, &id);
		if (!ret) {
			EXPECT_EQ(0, destroy(self->s.fd, id));
			EXPECT_NE(0, strncmp(name, "[vvar", 5));
		} else {
			EXPECT_EQ(-EFAULT, ret);
		}
	}
	fclose(f);
}

/* The ring is written by the kernel, by runs, and by the process, all at a time. */
TEST_F(kinds, the_ring)
{
	struct hcomm_step step = { .op = HCOMM_STEP_COPY, .dst_slot = 1 };
	struct hcomm_slot slots[2] = { { .mem_id = self->s.plain_mem } };
	struct solo *s = &self->s;
	uint32_t id, prog;

	ASSERT_EQ(0, mem_reg(s->fd, s->ring, s->ring_size, 0, &id));
	step.len = s->ring_size;
	slots[0].length = s->ring_size;
	slots[1] = (struct hcomm_slot){ .mem_id = id, .length = s->ring_size };
	ASSERT_EQ(0, prog_load(s->fd, s->comm, &step, 1, NULL, 0, 2, &prog));
	for (uint32_t i = 1; i <= 200; i++) {
		/* Its head, its tail, its mask, and all entries. */
		memset(s->plain, i % 2 ? 0xff : 0, s->ring_size);
		((struct hcomm_ring *)s->plain)->head = i - 1;
		ASSERT_EQ(0, launch(s->fd, prog, slots, 2, 1000 + i, i, HCOMM_LAUNCH_WAIT));
		EXPECT_EQ(i, s->ring->tail);
		EXPECT_EQ(i, s->ring->cqe[(i - 1) % SOLO_ENTRIES].user_data);
	}
	s->ring->head = 200;
	s->ring->mask = SOLO_ENTRIES - 1;
	EXPECT_EQ(0, destroy(s->fd, id));
	EXPECT_EQ(0, solo_copy(s, s->plain_mem, s->plain_mem));
}

TEST_HARNESS_MAIN
