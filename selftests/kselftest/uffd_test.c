// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory whose faults another thread resolves, late or never: what the kernel does
 * meanwhile may keep nobody else from anything.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <linux/userfaultfd.h>
#include "solo.h"
#include "kselftest_harness.h"

#define LEN	(64u << 10)

FIXTURE(uffd)
{
	struct solo s;
	int fd;
	uint8_t *p;
};

FIXTURE_SETUP(uffd)
{
	struct uffdio_api api = { .api = UFFD_API };

	self->s.fd = -1;
	self->fd = syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
	if (self->fd < 0 || ioctl(self->fd, UFFDIO_API, &api))
		SKIP(return, "no userfaultfd()");
	ASSERT_EQ(0, solo_open(&self->s, LEN));
	self->p = pages(LEN);
	ASSERT_NE(NULL, self->p);
}

FIXTURE_TEARDOWN(uffd)
{
	if (self->s.fd < 0)
		return;
	close(self->fd);
	munmap(self->p, LEN);
	solo_close(&self->s);
}

static int watch(int fd, void *p, uint64_t len, uint64_t mode)
{
	struct uffdio_register reg = {
		.range = { (uintptr_t)p, len }, .mode = mode,
	};

	return ioctl(fd, UFFDIO_REGISTER, &reg) ? -errno : 0;
}

static bool fault_comes(int fd, struct uffd_msg *msg)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };

	return poll(&pfd, 1, 20000) == 1 && read(fd, msg, sizeof(*msg)) == sizeof(*msg);
}

static int fill(int fd, void *p, const void *from, uint64_t len)
{
	struct uffdio_copy copy = {
		.dst = (uintptr_t)p, .src = (uintptr_t)from, .len = len,
	};

	return ioctl(fd, UFFDIO_COPY, &copy) ? -errno : 0;
}

static int protect(int fd, void *p, uint64_t len)
{
	struct uffdio_writeprotect wp = {
		.range = { (uintptr_t)p, len }, .mode = UFFDIO_WRITEPROTECT_MODE_WP,
	};

	return watch(fd, p, len, UFFDIO_REGISTER_MODE_WP) ||
	       ioctl(fd, UFFDIO_WRITEPROTECT, &wp) ? -errno : 0;
}

/* Answers faults until a byte comes. */
struct resolver {
	int fd, stop[2];
	uint8_t *from;
	uint32_t missing, wp;
};

static void *resolve(void *arg)
{
	struct resolver *r = arg;
	struct pollfd pfd[2] = { { r->fd, POLLIN, 0 }, { r->stop[0], POLLIN, 0 } };
	struct uffd_msg msg;

	while (poll(pfd, 2, -1) > 0 && !pfd[1].revents) {
		uintptr_t at;

		if (read(r->fd, &msg, sizeof(msg)) != sizeof(msg))
			continue;
		at = msg.arg.pagefault.address & ~4095ul;
		if (msg.arg.pagefault.flags & UFFD_PAGEFAULT_FLAG_WP) {
			struct uffdio_writeprotect wp = { .range = { at, 4096 } };

			ioctl(r->fd, UFFDIO_WRITEPROTECT, &wp);
			r->wp++;
		} else {
			fill(r->fd, (void *)at, r->from, 4096);
			r->missing++;
		}
	}
	return NULL;
}

static void resolve_around(struct __test_metadata *_metadata, struct resolver *r,
			   struct solo *s, uint8_t *p, uint32_t flags, uint32_t *id)
{
	pthread_t t;

	ASSERT_EQ(0, pipe(r->stop));
	ASSERT_EQ(0, pthread_create(&t, NULL, resolve, r));
	EXPECT_EQ(0, mem_reg(s->fd, p, LEN, flags, id));
	ASSERT_EQ(1, write(r->stop[1], "", 1));
	pthread_join(t, NULL);
	close(r->stop[0]);
	close(r->stop[1]);
}

TEST_F(uffd, missing)
{
	struct resolver r = { .fd = self->fd, .from = pages(4096) };
	uint32_t flags = 0, id;

	memset(r.from, 'u', 4096);
	for (int i = 0; i < 2; i++, flags = HCOMM_MEM_READ_ONLY) {
		ASSERT_EQ(0, watch(self->fd, self->p, LEN, UFFDIO_REGISTER_MODE_MISSING));
		resolve_around(_metadata, &r, &self->s, self->p, flags, &id);
		EXPECT_EQ((i + 1) * LEN / 4096, r.missing);
		EXPECT_TRUE(solo_sees(&self->s, id, 'u'));
		memset(self->p, 'v', LEN);
		EXPECT_TRUE(solo_sees(&self->s, id, 'v'));
		EXPECT_EQ(0, destroy(self->s.fd, id));
		munmap(self->p, LEN);
		self->p = pages(LEN);
	}
}

TEST_F(uffd, write_protected)
{
	struct resolver r = { .fd = self->fd };
	uint32_t id;

	memset(self->p, 'w', LEN);
	if (protect(self->fd, self->p, LEN))
		SKIP(return, "no write protection");
	resolve_around(_metadata, &r, &self->s, self->p, 0, &id);
	EXPECT_EQ(LEN / 4096, r.wp);
	EXPECT_EQ(0, solo_fill(&self->s, id, 'x'));
	EXPECT_TRUE(all_are(self->p, 'x', LEN));
	EXPECT_EQ(0, destroy(self->s.fd, id));
}

struct setup {
	int dev;
	struct hcomm_ring_setup *arg;
};

static void *set_up(void *arg)
{
	struct setup *w = arg;

	call(w->dev, HCOMM_RING_SETUP, w->arg);
	return NULL;
}

/* Hangs in one call after the other. */
static void hang(struct solo *s, int which, int ready)
{
	struct hcomm_ring_setup rs = { .size = sizeof(rs), .entries = 8, .eventfd = -1 };
	struct uffdio_api api = { .api = UFFD_API };
	int fd = syscall(SYS_userfaultfd, O_CLOEXEC);
	struct setup w = { dev_open(), (void *)pages(LEN) };
	uint8_t *p = pages(LEN);
	pthread_t t;
	uint32_t id;

	*w.arg = rs;
	if (fd < 0 || ioctl(fd, UFFDIO_API, &api) ||
	    watch(fd, p, LEN, UFFDIO_REGISTER_MODE_MISSING) || protect(fd, w.arg, LEN) ||
	    write(ready, "", 1) != 1)
		_exit(1);
	switch (which) {
	case 0:
		mem_reg(w.dev, p, LEN, 0, &id);
		break;
	case 1:
		prog_load(s->fd, s->comm, (void *)p, 1, NULL, 0, 2, &id);
		break;
	case 2:
		launch(s->fd, s->prog, (void *)p, 2, 77, 0, 0);
		break;
	case 3:
		call(w.dev, HCOMM_INFO, p);
		break;
	case 4:
		/* The answer can't be written, and another waits for that. */
		if (!pthread_create(&t, NULL, set_up, &w))
			usleep(20000);
		set_up(&w);
		break;
	}
	_exit(2);
}

/* Nobody answers, and the process is killed. */
TEST_F(uffd, never_resolved)
{
	int ready[2];
	pid_t pid;
	char c;

	ASSERT_EQ(0, pipe(ready));
	for (int i = 0; i < 5; i++) {
		pid = fork();
		if (!pid)
			hang(&self->s, i, ready[1]);
		ASSERT_EQ(1, read(ready[0], &c, 1));
		usleep(50000);
		kill(pid, SIGKILL);
		EXPECT_EQ(256 + SIGKILL, status_of(pid));
		/* What it used of ours is ours again. */
		EXPECT_EQ(0, solo_copy(&self->s, self->s.plain_mem, self->s.plain_mem));
	}
	close(ready[0]);
	close(ready[1]);
}

struct late {
	struct solo *s;
	uint8_t *p;
	int ret;
};

static void *load_late(void *arg)
{
	struct late *l = arg;
	uint32_t id;

	l->ret = prog_load(l->s->fd, l->s->comm, (void *)l->p, 1, NULL, 0, 2, &id);
	return NULL;
}

static void *launch_late(void *arg)
{
	struct late *l = arg;

	l->ret = launch(l->s->fd, l->s->prog, (void *)l->p, 2, 1000, 0, 0);
	return NULL;
}

/* While one call hangs all others of the context go on. */
TEST_F(uffd, a_call_hangs)
{
	struct hcomm_comm_abort ab = { .size = sizeof(ab), .comm_id = self->s.comm };
	struct hcomm_step *step = (void *)pages(4096);
	struct hcomm_slot *slots = (void *)pages(4096);
	struct late l = { &self->s, self->p, 1 };
	struct hcomm_fault fault;
	struct uffd_msg msg;
	pthread_t t;

	*step = (struct hcomm_step){ .op = HCOMM_STEP_COPY, .dst_slot = 1, .len = LEN };
	for (int i = 0; i < 2; i++)
		slots[i] = (struct hcomm_slot){ .mem_id = self->s.plain_mem, .length = LEN };

	ASSERT_EQ(0, watch(self->fd, self->p, LEN, UFFDIO_REGISTER_MODE_MISSING));
	ASSERT_EQ(0, pthread_create(&t, NULL, load_late, &l));
	ASSERT_TRUE(fault_comes(self->fd, &msg));
	EXPECT_EQ(0, solo_copy(&self->s, self->s.plain_mem, self->s.plain_mem));
	EXPECT_EQ(-EBUSY, destroy(self->s.fd, self->s.comm));
	EXPECT_EQ(0, fill(self->fd, self->p, step, 4096));
	pthread_join(t, NULL);
	EXPECT_EQ(0, l.ret);

	l.p += 4096;
	ASSERT_EQ(0, pthread_create(&t, NULL, launch_late, &l));
	ASSERT_TRUE(fault_comes(self->fd, &msg));
	/* It has one of two places already. */
	EXPECT_EQ(0, solo_copy(&self->s, self->s.plain_mem, self->s.plain_mem));
	EXPECT_EQ(-EBUSY, destroy(self->s.fd, self->s.prog));
	EXPECT_EQ(0, query_fault(self->s.fd, self->s.comm, &fault));
	EXPECT_EQ(0, call(self->s.fd, HCOMM_COMM_ABORT, &ab));
	EXPECT_EQ(0, fill(self->fd, l.p, slots, 4096));
	pthread_join(t, NULL);
	EXPECT_EQ(-ECANCELED, l.ret);
	EXPECT_EQ(0, destroy(self->s.fd, self->s.prog));
}

TEST_HARNESS_MAIN
