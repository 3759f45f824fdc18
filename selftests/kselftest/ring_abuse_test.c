// SPDX-License-Identifier: GPL-2.0-only
/* The completion ring in the hands of a process that does to it what it can. */
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include "solo.h"
#include "kselftest_harness.h"

#define LEN	4096u
#define SEC	1000000000ll

FIXTURE(abuse)
{
	struct solo s;
};

FIXTURE_SETUP(abuse)
{
	ASSERT_EQ(0, solo_open(&self->s, LEN));
}

FIXTURE_TEARDOWN(abuse)
{
	solo_close(&self->s);
}

static int run_once(struct solo *s)
{
	return solo_copy(s, s->plain_mem, s->plain_mem);
}

static void *map(struct solo *s, size_t len, int prot, int flags)
{
	return mmap(NULL, len, prot, flags, s->fd, HCOMM_RING_MMAP_OFFSET);
}

TEST_F(abuse, only_shared_and_never_to_be_executed)
{
	size_t size = self->s.ring_size;
	void *p;

	/* A private copy of the head is one that the kernel does not see. */
	EXPECT_EQ(MAP_FAILED, map(&self->s, size, PROT_READ | PROT_WRITE, MAP_PRIVATE));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ(MAP_FAILED, map(&self->s, size, PROT_READ, MAP_PRIVATE));
	EXPECT_EQ(MAP_FAILED, map(&self->s, size, PROT_READ | PROT_EXEC, MAP_SHARED));
	EXPECT_EQ(EPERM, errno);
	EXPECT_EQ(-1, mprotect(self->s.ring, size, PROT_READ | PROT_EXEC));
	EXPECT_EQ(EACCES, errno);
	p = map(&self->s, size, PROT_READ, MAP_SHARED);
	ASSERT_NE(MAP_FAILED, p);
	EXPECT_EQ(-1, mprotect(p, size, PROT_READ | PROT_WRITE | PROT_EXEC));
	EXPECT_EQ(0, run_once(&self->s));
	EXPECT_EQ(1u, ((struct hcomm_ring *)p)->tail);
	munmap(p, size);
}

static bool read_kills(volatile uint8_t *p)
{
	pid_t pid = fork();

	if (!pid) {
		faults_exit();
		_exit(*p & 0);
	}
	return status_of(pid) == SIGBUS;
}

/* All that munmap(), mremap() and madvise() can do, with runs after each. */
TEST_F(abuse, mapping_is_taken_apart)
{
	struct solo *s = &self->s;
	struct hcomm_ring *a, *b;
	size_t size = s->ring_size;
	struct hcomm_cqe cqe;

	ASSERT_EQ(2 * 4096u, size);
	a = map(s, size, PROT_READ | PROT_WRITE, MAP_SHARED);
	b = map(s, size, PROT_READ | PROT_WRITE, MAP_SHARED);
	ASSERT_NE(MAP_FAILED, (void *)a);
	ASSERT_NE(MAP_FAILED, (void *)b);
	/* No mapping is made without the kernel's leave. */
	EXPECT_EQ(MAP_FAILED, mremap(a, 0, size, MREMAP_MAYMOVE));
	EXPECT_EQ(0, solo_launch(s, s->plain_mem, s->plain_mem));
	EXPECT_EQ(1u, a->tail);
	EXPECT_EQ(1u, b->tail);
	ASSERT_TRUE(ring_next(b, &cqe));
	EXPECT_EQ(1u, s->ring->head);

	/* No page comes to where one was given up. */
	madvise(b, size, MADV_DONTNEED);
	EXPECT_TRUE(read_kills((uint8_t *)b));
	EXPECT_EQ(0, munmap((uint8_t *)b + 4096, 4096));
	EXPECT_EQ(0, run_once(s));
	EXPECT_EQ(0, munmap(b, 4096));

	EXPECT_EQ(MAP_FAILED, mremap(a, size, 2 * size, MREMAP_MAYMOVE));
	EXPECT_EQ((void *)a, mremap(a, size, 4096, 0));
	b = pages(4096);
	ASSERT_EQ((void *)b, mremap(a, 4096, 4096, MREMAP_MAYMOVE | MREMAP_FIXED, b));
	EXPECT_EQ(0, run_once(s));
	EXPECT_EQ(s->ring->tail, b->tail);
	EXPECT_EQ(MAP_FAILED, mremap(b, 4096, size, MREMAP_MAYMOVE));
	munmap(b, 4096);

	/* The last one goes, and the kernel goes on. */
	EXPECT_EQ(0, munmap(s->ring, size));
	EXPECT_EQ(0, solo_launch(s, s->plain_mem, s->plain_mem));
	EXPECT_EQ(0, ring_wait(s->fd, 1, 0));
	s->ring = map(s, size, PROT_READ | PROT_WRITE, MAP_SHARED);
	ASSERT_NE(MAP_FAILED, (void *)s->ring);
	ASSERT_TRUE(ring_next(s->ring, &cqe));
	EXPECT_EQ(s->run, cqe.user_data);
}

TEST_F(abuse, mapping_outlives_the_context)
{
	struct hcomm_cqe cqe;

	EXPECT_EQ(0, solo_launch(&self->s, self->s.plain_mem, self->s.plain_mem));
	close(self->s.fd);
	self->s.fd = -1;
	ASSERT_TRUE(ring_next(self->s.ring, &cqe));
	EXPECT_EQ(1u, cqe.user_data);
}

/* ------------------------------------------------------------------------ scribbling */

struct scribbler {
	struct hcomm_ring *ring;
	size_t size;
	bool stop;
	int mode;
};

static void *scribble(void *arg)
{
	struct scribbler *w = arg;
	volatile uint32_t *word = (void *)w->ring;
	uint32_t x = 12345;

	while (!__atomic_load_n(&w->stop, __ATOMIC_RELAXED)) {
		x = x * 1664525 + 1013904223;
		switch (w->mode) {
		case 0:		/* the head, near and far */
			w->ring->head = x & 0x10000 ? x : w->ring->tail - (x >> 28);
			break;
		case 1:		/* what the kernel wrote in front */
			w->ring->tail = x;
			w->ring->mask = ~x;
			w->ring->entries = x << 7;
			break;
		case 2:		/* anything */
			word[(x >> 8) % (w->size / 4)] = x * 2654435761u;
			break;
		}
	}
	return NULL;
}

TEST_F_TIMEOUT(abuse, scribbling, 120)
{
	struct solo *s = &self->s;
	struct scribbler w = { .ring = s->ring, .size = s->ring_size };
	uint32_t launched = 0;
	pthread_t t;
	int ret;

	for (w.mode = 0; w.mode < 3; w.mode++) {
		w.stop = false;
		ASSERT_EQ(0, pthread_create(&t, NULL, scribble, &w));
		for (int i = 0; i < 500; i++) {
			ret = solo_launch(s, s->plain_mem, s->plain_mem);
			launched += !ret;
			if (ret && ret != -EBUSY)
				EXPECT_EQ(0, ret);
			ret = ring_wait(s->fd, 1 + i % SOLO_ENTRIES, i % 3 ? 0 : 100000);
			if (ret && ret != -ETIMEDOUT && ret != -EDEADLK)
				EXPECT_EQ(0, ret);
		}
		__atomic_store_n(&w.stop, true, __ATOMIC_RELAXED);
		pthread_join(t, NULL);
		/* The kernel counted on by itself. */
		s->ring->head = launched;
		EXPECT_EQ(-EDEADLK, ring_wait(s->fd, 1, -1));
		EXPECT_EQ(0, solo_launch(s, s->plain_mem, s->plain_mem));
		launched++;
		EXPECT_EQ(launched, s->ring->tail);
		EXPECT_EQ(s->run, s->ring->cqe[(launched - 1) % SOLO_ENTRIES].user_data);
		s->ring->head = launched;
	}
}

TEST_F(abuse, head_that_lies)
{
	static const uint32_t lies[] = {
		1, 2, SOLO_ENTRIES, 0x7fffffff, 0x80000000, -(SOLO_ENTRIES + 1), -SOLO_ENTRIES,
	};
	struct solo *s = &self->s;

	for (size_t i = 0; i < ARRAY_LEN(lies); i++) {
		s->ring->head = s->ring->tail + lies[i];
		/* Ahead of the tail is full, as is far behind. */
		EXPECT_EQ(-EBUSY, solo_launch(s, s->plain_mem, s->plain_mem));
		EXPECT_EQ(0, ring_wait(s->fd, SOLO_ENTRIES, -1));
		s->ring->head = s->ring->tail;
		EXPECT_EQ(0, run_once(s));
	}
}

/* ----------------------------------------------------------------- poll and eventfd */

TEST_F(abuse, epoll)
{
	struct epoll_event ev = { .events = EPOLLIN | EPOLLET }, got;
	struct solo *s = &self->s;
	int ep = epoll_create1(0), outer = epoll_create1(0), fd = dup(s->fd);

	ASSERT_EQ(0, epoll_ctl(ep, EPOLL_CTL_ADD, s->fd, &ev));
	ASSERT_EQ(0, epoll_ctl(outer, EPOLL_CTL_ADD, ep, &ev));
	for (int i = 0; i < 10; i++) {
		EXPECT_EQ(0, epoll_wait(ep, &got, 1, 0));
		EXPECT_EQ(0, solo_launch(s, s->plain_mem, s->plain_mem));
		EXPECT_EQ(1, epoll_wait(outer, &got, 1, 5000));
		EXPECT_EQ(1, epoll_wait(ep, &got, 1, 0));
		s->ring->head = s->ring->tail;
	}
	/* Closed, but watched, and open elsewhere. */
	close(s->fd);
	s->fd = fd;
	EXPECT_EQ(0, solo_launch(s, s->plain_mem, s->plain_mem));
	EXPECT_EQ(1, epoll_wait(ep, &got, 1, 5000));
	/* Gone while it is watched. */
	close(s->fd);
	s->fd = -1;
	EXPECT_EQ(0, epoll_wait(ep, &got, 1, 0));
	close(ep);
	close(outer);
}

/* One rank without peers whose ring has an eventfd. */
TEST_F(abuse, eventfd)
{
	struct hcomm_step step = { .op = HCOMM_STEP_NOP };
	int efd = eventfd(0, EFD_NONBLOCK), fd = dev_open();
	uint64_t full = UINT64_MAX - 1, n;
	struct hcomm_comm_create c;
	struct hcomm_ring *ring;
	uint32_t prog;
	size_t size;

	create_init(&c, 0, 1);
	ASSERT_EQ(16, getrandom(c.uuid, sizeof(c.uuid), 0));
	ASSERT_EQ(0, ring_setup(fd, 64, efd, &ring, &size));
	ASSERT_EQ(0, call(fd, HCOMM_COMM_CREATE, &c));
	ASSERT_EQ(0, prog_load(fd, c.out_comm_id, &step, 1, NULL, 0, 0, &prog));
	/* A counter that is full must not stop a run. */
	ASSERT_EQ((ssize_t)sizeof(full), write(efd, &full, sizeof(full)));
	for (int i = 1; i <= 3; i++)
		EXPECT_EQ(0, launch(fd, prog, NULL, 0, i, i, HCOMM_LAUNCH_WAIT));
	ASSERT_EQ((ssize_t)sizeof(n), read(efd, &n, sizeof(n)));
	EXPECT_EQ(UINT64_MAX, n);
	EXPECT_EQ(0, launch(fd, prog, NULL, 0, 4, 4, HCOMM_LAUNCH_WAIT));
	ASSERT_EQ((ssize_t)sizeof(n), read(efd, &n, sizeof(n)));
	EXPECT_EQ(1u, n);
	/* Closed, its number taken by another file. */
	ASSERT_EQ(efd, dup2(self->s.fd, efd));
	for (int i = 5; i <= 8; i++)
		EXPECT_EQ(0, launch(fd, prog, NULL, 0, i, i, HCOMM_LAUNCH_WAIT));
	EXPECT_EQ(8u, ring->tail);
	munmap(ring, size);
	close(fd);
	close(efd);
}

TEST_HARNESS_MAIN
