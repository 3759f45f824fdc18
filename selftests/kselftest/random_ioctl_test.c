// SPDX-License-Identifier: GPL-2.0-only
/*
 * ioctls with any argument, from several threads at once on contexts that come
 * and go: nothing hangs, leaks, or makes the kernel complain.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include "random.h"
#include "kselftest_harness.h"

static bool class_is_empty(void)
{
	/* Only communicators have a rank. */
	return system("ls /sys/class/hcomm/*/rank >/dev/null 2>&1") != 0;
}

#define THREADS 4
#define CONTEXTS 4
#define ARENA (256u << 10)

struct fuzz {
	int fd[CONTEXTS];
	uint32_t ops[CONTEXTS];
	struct hcomm_ring *ring[CONTEXTS];
	uint8_t *arena;		/* mapped, then read-only, then nothing */
	uint32_t last_id;
	uint64_t seed;
	double end;
	uint64_t calls, good;
	int eventfd;
};

struct fuzz_thread {
	struct fuzz *f;
	struct rng g;
	pthread_t thread;
	uint64_t scratch[64];
};

static void nothing(int sig)
{
}

static uint64_t fuzz_pointer(struct fuzz_thread *t)
{
	struct rng *g = &t->g;
	uintptr_t arena = (uintptr_t)t->f->arena;

	switch (below(g, 16)) {
	case 0:
		return 4096;
	case 1:
		return arena + ARENA + below(g, 4096);		/* read-only */
	case 2:
		return arena + ARENA + 4096 + below(g, 4096);	/* not there */
	case 3:
		return arena + ARENA - below(g, 64);
	case 4:
		return 0;
	case 5:
		return 1ull << 47 | rnd(g);
	default:
		return arena + below(g, ARENA / 2) / 8 * 8;
	}
}

static uint32_t fuzz_id(struct fuzz_thread *t)
{
	uint32_t last = __atomic_load_n(&t->f->last_id, __ATOMIC_RELAXED);

	if (one_in(&t->g, 8))
		return edge(&t->g);
	return one_in(&t->g, 3) ? last : below(&t->g, 24);
}

static uint32_t small_or_edge(struct rng *g, uint32_t n)
{
	return one_in(g, 12) ? edge(g) : below(g, n);
}

static void fuzz_create(struct fuzz_thread *t, void *buf)
{
	struct hcomm_comm_create *a = buf;
	struct rng *g = &t->g;

	create_init(a, below(g, 3), 1 + below(g, 3));
	memset(a->uuid, below(g, 3), sizeof(a->uuid));
	a->secret[0] = one_in(g, 16);
	a->transports = one_in(g, 4) ? below(g, 8) : HCOMM_TRANSPORT_LOCAL;
	a->chunk_size = one_in(g, 16) ? edge(g) % 65536 : 4096;
	a->eager_size = one_in(g, 8) ? edge(g) : 64;
	a->eager_slots = small_or_edge(g, 4);
	a->window = small_or_edge(g, 4);
	a->max_runs = small_or_edge(g, 4);
	a->staging_slots = one_in(g, 8) ? below(g, 300) : 8;
	a->connect_timeout_ms = 1 + below(g, 50);
	if (one_in(g, 16))
		rnd_bytes(g, &a->listen, sizeof(a->listen));
	if (one_in(g, 32)) {
		a->listen.family = 2;
		a->listen.addr[0] = 127;
		a->listen.addr[3] = 1;
	}
}

/* A program in the arena, often a good one. */
static void fuzz_load(struct fuzz_thread *t, void *buf)
{
	struct hcomm_prog_load *a = buf;
	struct rng *g = &t->g;
	struct program p[2];
	uint8_t *at = t->f->arena + below(g, 8) * 4096;

	make_programs(g, p, 1 + below(g, 2));
	if (one_in(g, 3))
		damage(g, p);
	memcpy(at, &p[0], sizeof(p[0]));
	a->comm_id = fuzz_id(t);
	a->steps = one_in(g, 16) ? fuzz_pointer(t) : (uintptr_t)at;
	a->deps = one_in(g, 16) ? fuzz_pointer(t)
		: (uintptr_t)at + offsetof(struct program, deps);
	a->nsteps = one_in(g, 16) ? edge(g) : p->nsteps;
	a->ndeps = one_in(g, 16) ? edge(g) : p->ndeps;
	a->nslots = one_in(g, 16) ? edge(g) : p->nslots;
	a->max_runs = small_or_edge(g, 3);
}

static void fuzz_launch(struct fuzz_thread *t, void *buf)
{
	static uint64_t keys;
	struct hcomm_launch *a = buf;
	struct rng *g = &t->g;
	struct hcomm_slot *slots = (void *)(t->f->arena + 65536 + below(g, 8) * 4096);

	for (int i = 0; i < NSLOTS; i++) {
		slots[i].mem_id = fuzz_id(t);
		slots[i].pad = one_in(g, 32);
		slots[i].offset = small_or_edge(g, 8);
		slots[i].length = one_in(g, 8) ? edge(g) : SLOT;
	}
	a->prog_id = fuzz_id(t);
	a->slots = one_in(g, 16) ? fuzz_pointer(t) : (uintptr_t)slots;
	a->nslots = one_in(g, 16) ? edge(g) : NSLOTS;
	a->flags = one_in(g, 8) ? edge(g) : below(g, 2);
	/* often that of another thread, now and then one that was used */
	a->run = __atomic_add_fetch(&keys, 1, __ATOMIC_RELAXED) / 8 + below(g, 4);
	a->call.coll = below(g, 40) ? 1 : 2;
	a->timeout_ms = 1 + below(g, 50);
	a->queue_id = one_in(g, 32);
}

static void fuzz_batch(struct fuzz_thread *t, void *buf)
{
	struct hcomm_launch_batch *a = buf;
	struct rng *g = &t->g;
	struct hcomm_launch *one = (void *)(t->f->arena + 98304 + below(g, 4) * 4096);

	for (int i = 0; i < 4; i++) {
		memset(&one[i], 0, sizeof(one[i]));
		fuzz_launch(t, &one[i]);
		one[i].size = one_in(g, 32) ? edge(g) : sizeof(one[i]);
		one[i].flags = one_in(g, 32);
	}
	a->flags = one_in(g, 8) ? edge(g) : below(g, 2);
	a->count = one_in(g, 8) ? edge(g) : 1 + below(g, 4);
	a->launch_size = one_in(g, 16) ? edge(g) : sizeof(*one);
	a->launches = one_in(g, 16) ? fuzz_pointer(t) : (uintptr_t)one;
}

static void fuzz_peers(struct fuzz_thread *t, void *buf)
{
	struct hcomm_info info = { .size = sizeof(info) };
	struct hcomm_comm_peers *a = buf;
	struct rng *g = &t->g;
	struct hcomm_peer *peers = (void *)(t->f->arena + 131072);

	call(t->f->fd[0], HCOMM_INFO, &info);
	for (int i = 0; i < 3; i++)
		memcpy(peers[i].node_id, info.node_id, sizeof(info.node_id));
	a->comm_id = fuzz_id(t);
	a->peers = one_in(g, 8) ? fuzz_pointer(t) : (uintptr_t)peers;
	a->count = small_or_edge(g, 4);
}

/* Fills buf, returns the command; size is what the struct has. */
static unsigned long fuzz_args(struct fuzz_thread *t, void *buf, uint32_t *size)
{
	struct rng *g = &t->g;
	unsigned long cmd = _IO(HCOMM_IOC_MAGIC, HCOMM_CMD_BASE +
				below(g, HCOMM_CMD_END - HCOMM_CMD_BASE));
	struct hcomm_link_open *lo = buf;
	struct hcomm_ring_setup *rs = buf;
	struct hcomm_mem_reg *mr = buf;
	struct hcomm_wait *w = buf;

	switch (cmd) {
	case HCOMM_INFO:
		*size = sizeof(struct hcomm_info);
		break;
	case HCOMM_DESTROY:
		*size = sizeof(struct hcomm_destroy);
		((struct hcomm_destroy *)buf)->id = fuzz_id(t);
		break;
	case HCOMM_MEM_REG:
		*size = sizeof(*mr);
		mr->flags = small_or_edge(g, 2);
		mr->addr = fuzz_pointer(t);
		mr->length = one_in(g, 8) ? edge(g) : below(g, 65536);
		break;
	case HCOMM_COMM_CREATE:
		*size = sizeof(struct hcomm_comm_create);
		fuzz_create(t, buf);
		break;
	case HCOMM_COMM_PEERS:
		*size = sizeof(struct hcomm_comm_peers);
		fuzz_peers(t, buf);
		break;
	case HCOMM_COMM_QUERY:
		*size = sizeof(struct hcomm_comm_query);
		((struct hcomm_comm_query *)buf)->comm_id = fuzz_id(t);
		break;
	case HCOMM_COMM_ABORT:
		*size = sizeof(struct hcomm_comm_abort);
		((struct hcomm_comm_abort *)buf)->comm_id = one_in(g, 4) ? fuzz_id(t) : 0;
		break;
	case HCOMM_LINK_OPEN:
		*size = sizeof(*lo);
		lo->comm_id = fuzz_id(t);
		lo->peer = small_or_edge(g, 3);
		lo->timeout_ms = 1 + below(g, 50);
		break;
	case HCOMM_PROG_LOAD:
		*size = sizeof(struct hcomm_prog_load);
		fuzz_load(t, buf);
		break;
	case HCOMM_LAUNCH:
		*size = sizeof(struct hcomm_launch);
		fuzz_launch(t, buf);
		break;
	case HCOMM_LAUNCH_BATCH:
		*size = sizeof(struct hcomm_launch_batch);
		fuzz_batch(t, buf);
		break;
	case HCOMM_WAIT:
		*size = sizeof(*w);
		w->count = small_or_edge(g, 3);
		w->timeout_ns = one_in(g, 16) ? (int64_t)edge(g) : (int64_t)below(g, 5000000);
		break;
	case HCOMM_RING_SETUP:
		*size = sizeof(*rs);
		rs->entries = one_in(g, 4) ? edge(g) : 1u << below(g, 6);
		rs->eventfd = one_in(g, 4) ? (int)edge(g) : one_in(g, 2) ? t->f->eventfd : -1;
		break;
	}
	return cmd;
}

static void fuzz_ioctl(struct fuzz_thread *t, uint32_t c)
{
	struct fuzz *f = t->f;
	struct rng *g = &t->g;
	uint32_t size = 64, real;
	unsigned long cmd;
	void *arg = t->scratch;
	uint64_t *out = t->scratch;
	int ret;

	memset(t->scratch, 0, sizeof(t->scratch));
	cmd = fuzz_args(t, arg, &size);
	real = size;
	if (one_in(g, 16))
		((uint8_t *)arg)[4 + below(g, size - 4)] = edge(g);
	if (one_in(g, 32))
		rnd_bytes(g, (uint8_t *)arg + 4, size - 4);
	/* What would pin the address space of the test itself. */
	if (cmd == HCOMM_MEM_REG) {
		struct hcomm_mem_reg *mr = arg;

		if (mr->addr < (uintptr_t)f->arena || mr->addr > (uintptr_t)f->arena + ARENA + 8192)
			mr->addr = 4096;
	}
	if (one_in(g, 16))
		size = one_in(g, 2) ? below(g, 512) : edge(g);
	*(uint32_t *)arg = size;
	if (one_in(g, 64))
		cmd = one_in(g, 2) ? edge(g) : _IO(HCOMM_IOC_MAGIC, below(g, 256));
	if (one_in(g, 64))
		cmd = _IOWR(HCOMM_IOC_MAGIC, below(g, 256), struct hcomm_launch);
	if (one_in(g, 64)) {
		/* The struct itself: nowhere, read-only, or across the end. */
		arg = (void *)fuzz_pointer(t);
		if (arg == NULL || one_in(g, 2))
			arg = f->arena + ARENA + 4096 - below(g, 16);
	}
	ret = call(__atomic_load_n(&f->fd[c], __ATOMIC_RELAXED), cmd, arg);
	__atomic_add_fetch(&f->calls, 1, __ATOMIC_RELAXED);
	if (ret)
		return;
	__atomic_add_fetch(&f->good, 1, __ATOMIC_RELAXED);
	if (arg != out || real != size)
		return;
	if (cmd == HCOMM_MEM_REG)
		f->last_id = ((struct hcomm_mem_reg *)arg)->out_mem_id;
	if (cmd == HCOMM_COMM_CREATE)
		f->last_id = ((struct hcomm_comm_create *)arg)->out_comm_id;
	if (cmd == HCOMM_PROG_LOAD)
		f->last_id = ((struct hcomm_prog_load *)arg)->out_prog_id;
}

/* A new context takes the number of the old one while others use it. */
static void fuzz_reopen(struct fuzz *f, uint32_t c)
{
	int new = dev_open();

	if (new < 0)
		return;
	dup3(new, f->fd[c], O_CLOEXEC);
	close(new);
	__atomic_store_n(&f->ops[c], 0, __ATOMIC_RELAXED);
}

static void fuzz_ring(struct fuzz_thread *t, uint32_t c)
{
	struct rng *g = &t->g;
	size_t len = one_in(g, 4) ? edge(g) % (1 << 20) : 4096u << below(g, 3);
	off_t off = one_in(g, 8) ? (off_t)(edge(g) & ~4095ull) : 0;
	struct hcomm_ring *ring;

	ring = mmap(NULL, len, one_in(g, 4) ? PROT_READ : PROT_READ | PROT_WRITE,
		    one_in(g, 8) ? MAP_PRIVATE : MAP_SHARED, t->f->fd[c], off);
	if (ring == MAP_FAILED)
		return;
	/* The process may write anything to its ring. */
	if (one_in(g, 2) && len >= 4096) {
		uint32_t word = edge(g);
		int fd = open("/proc/self/mem", O_RDWR | O_CLOEXEC);

		if (fd >= 0) {
			if (pwrite(fd, &word, 4, (uintptr_t)ring + 4 * below(g, 40)) < 0)
				word = 0;
			close(fd);
		}
	}
	munmap(ring, len);
}

static void *fuzz_thread(void *arg)
{
	struct fuzz_thread *t = arg;
	struct fuzz *f = t->f;

	while (now() < f->end) {
		uint32_t c = below(&t->g, CONTEXTS);
		struct pollfd pfd = { .fd = f->fd[c], .events = POLLIN | POLLOUT };

		switch (below(&t->g, 64)) {
		case 0:
			fuzz_reopen(f, c);
			break;
		case 1:
			fuzz_ring(t, c);
			break;
		case 2:
			poll(&pfd, 1, below(&t->g, 3));
			break;
		case 3:
			/* The arena's pages go and come while they are pinned. */
			madvise(f->arena + below(&t->g, 64) * 4096, 4096, MADV_DONTNEED);
			break;
		default:
			fuzz_ioctl(t, c);
		}
		if (__atomic_add_fetch(&f->ops[c], 1, __ATOMIC_RELAXED) > 400)
			fuzz_reopen(f, c);
	}
	return NULL;
}

static bool fuzz_run(struct fuzz *f, double seconds)
{
	struct fuzz_thread t[THREADS];
	bool done[THREADS] = {};
	double give_up;
	uint32_t left = THREADS;

	f->end = now() + seconds;
	give_up = f->end + 60;
	for (int i = 0; i < CONTEXTS; i++) {
		f->fd[i] = dev_open();
		if (f->fd[i] < 0)
			return false;
	}
	for (int i = 0; i < THREADS; i++) {
		t[i].f = f;
		t[i].g.s = f->seed * 1000 + i;
		if (pthread_create(&t[i].thread, NULL, fuzz_thread, &t[i]))
			return false;
	}
	/* Waits without limit are ended by signals, as a user would. */
	while (left && now() < give_up) {
		usleep(20000);
		for (int i = 0; i < THREADS; i++) {
			if (done[i])
				continue;
			pthread_kill(t[i].thread, SIGUSR1);
			if (now() > f->end && !pthread_tryjoin_np(t[i].thread, NULL)) {
				done[i] = true;
				left--;
			}
		}
	}
	for (int i = 0; i < CONTEXTS; i++)
		close(f->fd[i]);
	return !left;
}

static void settle(void)
{
	for (int i = 0; i < 100 && !class_is_empty(); i++)
		usleep(100000);
	usleep(500000);
}

FIXTURE(ioctls)
{
	struct fuzz f;
};

FIXTURE_SETUP(ioctls)
{
	struct sigaction sa = { .sa_handler = nothing };

	memset(self, 0, sizeof(*self));
	ASSERT_EQ(0, sigaction(SIGUSR1, &sa, NULL));
	self->f.arena = pages(ARENA + 8192);
	ASSERT_NE(NULL, self->f.arena);
	memset(self->f.arena, 0, ARENA);
	ASSERT_EQ(0, mprotect(self->f.arena + ARENA, 4096, PROT_READ));
	ASSERT_EQ(0, mprotect(self->f.arena + ARENA + 4096, 4096, PROT_NONE));
	self->f.eventfd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	ASSERT_LE(0, self->f.eventfd);
}

FIXTURE_TEARDOWN(ioctls)
{
	close(self->f.eventfd);
	munmap(self->f.arena, ARENA + 8192);
}

TEST_F_TIMEOUT(ioctls, random, LIMIT)
{
	uint64_t seed = seed_of_run();
	double seconds = env_number("HCOMM_SECONDS", 60) / 3.0;
	long pinned = vm_pin_kb(), slab, grown;

	/* The first part fills caches, which is no leak. */
	self->f.seed = seed;
	ASSERT_TRUE(fuzz_run(&self->f, seconds));
	settle();
	slab = proc_kb("/proc/meminfo", "SUnreclaim");
	self->f.seed = seed + 1;
	ASSERT_TRUE(fuzz_run(&self->f, seconds));
	settle();
	grown = proc_kb("/proc/meminfo", "SUnreclaim") - slab;
	printf("# %llu calls, %llu of them succeeded; slab grew by %ld kB\n",
	       (unsigned long long)self->f.calls, (unsigned long long)self->f.good, grown);
	fflush(stdout);
	EXPECT_LT(1000u, self->f.calls);
	EXPECT_LT(self->f.calls / 50, self->f.good);
	EXPECT_TRUE(class_is_empty());
	EXPECT_EQ(pinned, vm_pin_kb());
	EXPECT_GT(8192, grown);
}

TEST_HARNESS_MAIN
