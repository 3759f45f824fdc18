// SPDX-License-Identifier: GPL-2.0-only
/*
 * Structs and arrays that are not where they should be, can't be written, are longer
 * than known, or change while the kernel reads them.
 */
#include <pthread.h>
#include <signal.h>
#include "solo.h"
#include "kselftest_harness.h"

#define LEN	65536u

FIXTURE(fetch)
{
	struct solo s;
	long pinned;
};

FIXTURE_SETUP(fetch)
{
	ASSERT_EQ(0, solo_open(&self->s, LEN));
	self->pinned = vm_pin_kb();
}

FIXTURE_TEARDOWN(fetch)
{
	EXPECT_EQ(self->pinned, vm_pin_kb());
	/* Nothing of what was tried is left in the way. */
	EXPECT_EQ(0, solo_copy(&self->s, self->s.plain_mem, self->s.plain_mem));
	EXPECT_EQ(0, destroy(self->s.fd, self->s.prog));
	EXPECT_EQ(0, destroy(self->s.fd, self->s.comm));
	solo_close(&self->s);
}

/* Addresses that nothing can be read from. */
static uint64_t bad_address(size_t i)
{
	static void *none;

	if (!none) {
		none = pages(8192);
		munmap(none, 8192);
	}
	switch (i) {
	case 0: return 0;
	case 1: return (uintptr_t)none;
	case 2: return 0x00007ffffffff000;	/* the end of user space */
	case 3: return 0x00007ffffffffff8;
	case 4: return 0x0000800000000000;	/* not canonical */
	case 5: return 0x7ffffffffffffff8;
	case 6: return 0x8000000000000000;
	case 7: return 0xffff888000001000;	/* the kernel's */
	case 8: return 0xffffffff81000000;
	case 9: return 0xffffffffff600000;	/* vsyscall */
	case 10: return 0xfffffffffffff000;
	case 11: return 0xfffffffffffffff8;
	case 12: return 0xffffffffffffffff;
	}
	return 1;
}

#define BAD_ADDRESSES	14

static const struct { unsigned long cmd; size_t size; } cmds[] = {
	{ HCOMM_INFO, sizeof(struct hcomm_info) },
	{ HCOMM_DESTROY, sizeof(struct hcomm_destroy) },
	{ HCOMM_MEM_REG, sizeof(struct hcomm_mem_reg) },
	{ HCOMM_COMM_CREATE, sizeof(struct hcomm_comm_create) },
	{ HCOMM_COMM_PEERS, sizeof(struct hcomm_comm_peers) },
	{ HCOMM_COMM_QUERY, sizeof(struct hcomm_comm_query) },
	{ HCOMM_COMM_ABORT, sizeof(struct hcomm_comm_abort) },
	{ HCOMM_LINK_OPEN, sizeof(struct hcomm_link_open) },
	{ HCOMM_PROG_LOAD, sizeof(struct hcomm_prog_load) },
	{ HCOMM_LAUNCH, sizeof(struct hcomm_launch) },
	{ HCOMM_WAIT, sizeof(struct hcomm_wait) },
	{ HCOMM_RING_SETUP, sizeof(struct hcomm_ring_setup) },
	{ HCOMM_LAUNCH_BATCH, sizeof(struct hcomm_launch_batch) },
};

/* ------------------------------------------------------------------------- addresses */

TEST_F(fetch, bad_addresses)
{
	struct solo *s = &self->s;

	for (size_t i = 0; i < BAD_ADDRESSES; i++) {
		uint64_t at = bad_address(i);
		struct hcomm_mem_reg reg = { .size = sizeof(reg), .addr = at, .length = 16 };
		struct hcomm_comm_peers cp = {
			.size = sizeof(cp), .comm_id = s->comm, .peers = at, .count = 1,
		};
		struct hcomm_launch_batch lb = {
			.size = sizeof(lb), .count = 64, .launches = at,
			.launch_size = sizeof(struct hcomm_launch),
		};
		struct hcomm_step step = { .op = HCOMM_STEP_NOP };
		struct hcomm_prog_load pl = {
			.size = sizeof(pl), .comm_id = s->comm, .steps = at, .nsteps = 1,
		};
		int ret;

		TH_LOG("%llx", (unsigned long long)at);
		for (size_t c = 0; c < ARRAY_LEN(cmds); c++)
			EXPECT_EQ(-EFAULT, call(s->fd, cmds[c].cmd, (void *)at));
		ret = call(s->fd, HCOMM_MEM_REG, &reg);
		/* Its end may be beyond all numbers. */
		EXPECT_TRUE(ret == -EFAULT || (at > UINT64_MAX - 8192 && ret == -EINVAL));
		EXPECT_EQ(-EFAULT, call(s->fd, HCOMM_COMM_PEERS, &cp));
		EXPECT_EQ(-EFAULT, call(s->fd, HCOMM_LAUNCH_BATCH, &lb));
		EXPECT_EQ(0u, lb.out_done);
		EXPECT_EQ(-EFAULT, call(s->fd, HCOMM_PROG_LOAD, &pl));
		pl.steps = (uintptr_t)&step;
		pl.deps = at;
		pl.ndeps = 1;
		EXPECT_EQ(-EFAULT, call(s->fd, HCOMM_PROG_LOAD, &pl));
		EXPECT_EQ(-EFAULT, launch(s->fd, s->prog, (void *)at, 2, 7777, 0, 0));
	}
}

/* Only the first part is there. */
TEST_F(fetch, arrays_at_the_end_of_a_mapping)
{
	uint8_t *p = pages(8192), *at;
	struct solo *s = &self->s;
	struct hcomm_launch_batch lb = {
		.size = sizeof(lb), .count = 2, .launch_size = sizeof(struct hcomm_launch),
	};
	struct hcomm_slot slots[2] = {
		{ .mem_id = s->plain_mem, .length = LEN }, { .mem_id = s->plain_mem, .length = LEN },
	};
	struct hcomm_launch *one;
	struct hcomm_cqe cqe;
	uint32_t id;

	ASSERT_EQ(0, munmap(p + 4096, 4096));
	at = p + 4096 - sizeof(struct hcomm_step);
	*(struct hcomm_step *)at = (struct hcomm_step){ .op = HCOMM_STEP_NOP };
	EXPECT_EQ(-EFAULT, prog_load(s->fd, s->comm, (void *)at, 2, NULL, 0, 0, &id));
	at = p + 4096 - sizeof(slots[0]);
	memcpy(at, slots, sizeof(slots[0]));
	EXPECT_EQ(-EFAULT, launch(s->fd, s->prog, (void *)at, 2, 7777, 0, 0));
	/* The first of a batch is launched, the second can't be read. */
	one = (void *)(p + 4096 - sizeof(*one));
	*one = (struct hcomm_launch){
		.size = sizeof(*one), .prog_id = s->prog, .slots = (uintptr_t)slots, .nslots = 2,
		.run = 7778, .user_data = 5,
	};
	lb.launches = (uintptr_t)one;
	EXPECT_EQ(-EFAULT, call(s->fd, HCOMM_LAUNCH_BATCH, &lb));
	EXPECT_EQ(1u, lb.out_done);
	EXPECT_EQ(0, ring_wait(s->fd, 1, -1));
	ASSERT_TRUE(ring_next(s->ring, &cqe));
	EXPECT_EQ(5u, cqe.user_data);
	munmap(p, 4096);
}

/* The answer can't be written: nothing is made. */
TEST_F(fetch, read_only_structs)
{
	struct solo *s = &self->s;
	struct hcomm_step step = { .op = HCOMM_STEP_NOP };
	struct hcomm_ring_setup rs = { .size = sizeof(rs), .entries = 8, .eventfd = -1 };
	struct hcomm_mem_reg reg = {
		.size = sizeof(reg), .addr = (uintptr_t)s->plain, .length = LEN,
	};
	struct hcomm_prog_load pl = {
		.size = sizeof(pl), .comm_id = s->comm, .steps = (uintptr_t)&step, .nsteps = 1,
	};
	struct hcomm_info info = { .size = sizeof(info) };
	struct hcomm_comm_create c;
	struct { unsigned long cmd; void *arg; size_t size; } all[] = {
		{ HCOMM_INFO, &info, sizeof(info) },
		{ HCOMM_MEM_REG, &reg, sizeof(reg) },
		{ HCOMM_PROG_LOAD, &pl, sizeof(pl) },
		{ HCOMM_COMM_CREATE, &c, sizeof(c) },
		{ HCOMM_RING_SETUP, &rs, sizeof(rs) },
	};
	uint8_t *p = pages(4096);
	int fd = dev_open();

	create_init(&c, 0, 1);
	ASSERT_EQ(16, getrandom(c.uuid, sizeof(c.uuid), 0));
	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		int on = all[i].cmd == HCOMM_RING_SETUP ? fd : s->fd;

		TH_LOG("%zu", i);
		memcpy(p, all[i].arg, all[i].size);
		ASSERT_EQ(0, mprotect(p, 4096, PROT_READ));
		for (int k = 0; k < 3; k++)
			EXPECT_EQ(-EFAULT, call(on, all[i].cmd, p));
		EXPECT_EQ(self->pinned, vm_pin_kb());
		ASSERT_EQ(0, mprotect(p, 4096, PROT_READ | PROT_WRITE));
		EXPECT_EQ(0, memcmp(p, all[i].arg, all[i].size));
		EXPECT_EQ(0, call(on, all[i].cmd, p));
		if (all[i].cmd == HCOMM_MEM_REG)
			EXPECT_EQ(0, destroy(on, ((struct hcomm_mem_reg *)p)->out_mem_id));
		if (all[i].cmd == HCOMM_PROG_LOAD)
			EXPECT_EQ(0, destroy(on, ((struct hcomm_prog_load *)p)->out_prog_id));
	}
	munmap(p, 4096);
	close(fd);
}

/* The answer goes into the ring, and the arrays come from it. */
TEST_F(fetch, structs_in_the_ring)
{
	struct solo *s = &self->s;
	struct hcomm_comm_query *q = (void *)&s->ring->cqe[8];
	struct hcomm_mem_reg *reg = (void *)&s->ring->cqe[16];
	struct hcomm_slot *slots = (void *)&s->ring->cqe[0];
	struct hcomm_launch *la = (void *)&s->ring->cqe[32];

	*q = (struct hcomm_comm_query){ .size = sizeof(*q), .comm_id = s->comm };
	EXPECT_EQ(0, call(s->fd, HCOMM_COMM_QUERY, q));
	*reg = (struct hcomm_mem_reg){
		.size = sizeof(*reg), .addr = (uintptr_t)reg, .length = sizeof(*reg),
	};
	EXPECT_EQ(0, call(s->fd, HCOMM_MEM_REG, reg));
	EXPECT_EQ(0, destroy(s->fd, reg->out_mem_id));
	/* Its own completion overwrites what it was made from. */
	for (int i = 0; i < 2; i++)
		slots[i] = (struct hcomm_slot){ .mem_id = s->plain_mem, .length = LEN };
	*la = (struct hcomm_launch){
		.size = sizeof(*la), .prog_id = s->prog, .slots = (uintptr_t)slots, .nslots = 2,
		.run = 9999, .flags = HCOMM_LAUNCH_WAIT, .user_data = 17,
	};
	EXPECT_EQ(0, call(s->fd, HCOMM_LAUNCH, la));
	EXPECT_EQ(17u, s->ring->cqe[0].user_data);
	s->ring->head = s->ring->tail;
}

/* ----------------------------------------------------------------------------- sizes */

TEST_F(fetch, longer_structs)
{
	static const size_t longer[] = { 1, 8, 100, 1000 };
	uint8_t *p = pages(8192);
	uint32_t size;
	int known;

	for (size_t c = 0; c < ARRAY_LEN(cmds); c++) {
		TH_LOG("%zu", c);
		/* All zero but for the size: refused or not, a tail makes no difference. */
		memset(p, 0, 8192);
		size = cmds[c].size;
		memcpy(p, &size, 4);
		known = call(self->s.fd, cmds[c].cmd, p);
		EXPECT_NE(-E2BIG, known);
		EXPECT_NE(-EFAULT, known);
		for (size_t i = 0; i <= ARRAY_LEN(longer); i++) {
			memset(p, 0, 8192);
			size = i < ARRAY_LEN(longer) ? cmds[c].size + longer[i] : 4096;
			memcpy(p, &size, 4);
			EXPECT_EQ(known, call(self->s.fd, cmds[c].cmd, p));
			/* It stays the caller's size. */
			EXPECT_EQ(0, memcmp(p, &size, 4));
			EXPECT_TRUE(all_are(p + cmds[c].size, 0, 8192 - cmds[c].size));
			memset(p + 4, 0, cmds[c].size);
			p[size - 1] = 1;
			EXPECT_EQ(-E2BIG, call(self->s.fd, cmds[c].cmd, p));
		}
		memset(p, 0, 8192);
		size = 4097;
		memcpy(p, &size, 4);
		EXPECT_EQ(-E2BIG, call(self->s.fd, cmds[c].cmd, p));
	}
	munmap(p, 8192);
}

/* A batch of structs that are longer than known. */
TEST_F(fetch, longer_launches)
{
	struct solo *s = &self->s;
	struct hcomm_slot slots[2] = {
		{ .mem_id = s->plain_mem, .length = LEN }, { .mem_id = s->plain_mem, .length = LEN },
	};
	struct hcomm_launch_batch lb = {
		.size = sizeof(lb), .flags = HCOMM_LAUNCH_WAIT, .count = 2,
		.launch_size = sizeof(struct hcomm_launch) + 40,
	};
	uint8_t *p = pages(4096);

	for (uint32_t i = 0; i < 2; i++)
		*(struct hcomm_launch *)(p + i * lb.launch_size) = (struct hcomm_launch){
			.size = lb.launch_size, .prog_id = s->prog, .slots = (uintptr_t)slots,
			.nslots = 2, .run = 500 + i,
		};
	lb.launches = (uintptr_t)p;
	EXPECT_EQ(0, call(s->fd, HCOMM_LAUNCH_BATCH, &lb));
	EXPECT_EQ(2u, lb.out_done);
	EXPECT_EQ(2u, ring_unread(s->ring));
	s->ring->head = s->ring->tail;
	p[2 * lb.launch_size - 1] = 1;
	((struct hcomm_launch *)p)->run = 502;
	EXPECT_EQ(-E2BIG, call(s->fd, HCOMM_LAUNCH_BATCH, &lb));
	EXPECT_EQ(1u, lb.out_done);
	EXPECT_EQ(0, ring_wait(s->fd, 1, -1));
	s->ring->head = s->ring->tail;
	munmap(p, 4096);
}

/* ---------------------------------------------------------------------- double fetch */

/* Swaps words of an area between two values, as fast as it can. */
struct flipper {
	volatile uint32_t *area;
	const uint32_t *a, *b;
	uint32_t words;
	bool stop;
};

static void *flip(void *arg)
{
	struct flipper *f = arg;
	uint32_t x = 1, i;

	while (!__atomic_load_n(&f->stop, __ATOMIC_RELAXED)) {
		x = x * 1664525 + 1013904223;
		i = (x >> 10) % f->words;
		f->area[i] = x & 0x80000000 ? f->a[i] : f->b[i];
	}
	return NULL;
}

static void flip_start(struct flipper *f, pthread_t *t, void *area, const void *a,
		       const void *b, size_t size)
{
	*f = (struct flipper){ .area = area, .a = a, .b = b, .words = size / 4 };
	memcpy(area, a, size);
	pthread_create(t, NULL, flip, f);
}

static void flip_end(struct flipper *f, pthread_t t)
{
	__atomic_store_n(&f->stop, true, __ATOMIC_RELAXED);
	pthread_join(t, NULL);
}

#define STEPS	64

/* Whatever is taken for a program, it stays within the slots. */
TEST_F_TIMEOUT(fetch, steps_change, 120)
{
	static struct hcomm_step good[STEPS], evil[STEPS];
	struct hcomm_step *area = (void *)pages(sizeof(good));
	static const uint64_t far[] = { LEN, 1ull << 39, 0xffffffffffff0000, 4096 };
	struct solo *s = &self->s;
	struct hcomm_slot slots[2] = {
		{ .mem_id = s->plain_mem, .length = LEN }, { .mem_id = s->plain_mem, .length = LEN },
	};
	struct flipper f;
	uint32_t id, deps[STEPS];
	int loaded = 0, ret;
	pthread_t t;

	for (uint32_t i = 0; i < STEPS; i++) {
		deps[i] = i ? i - 1 : 0;
		good[i] = (struct hcomm_step){
			.op = HCOMM_STEP_COPY, .dst_slot = 1, .len = 512, .src_off = 512 * i,
			.dst_off = 512 * i, .dep_first = i ? i - 1 : 0, .dep_count = !!i,
		};
		evil[i] = good[i];
		/* A few, or none would be taken. */
		if (i % 16)
			continue;
		evil[i].src_slot = 15;
		evil[i].dst_off = far[i / 16];
		evil[i].len = 1ull << 20;
		evil[i].dep_count = 1000;
		evil[i].peer = 77;
	}
	flip_start(&f, &t, area, good, evil, sizeof(good));
	for (int i = 0; i < 1500 || !loaded; i++) {
		ret = prog_load(s->fd, s->comm, area, STEPS, deps, STEPS - 1, 2, &id);
		if (ret) {
			EXPECT_TRUE(ret == -EINVAL || ret == -EHOSTUNREACH);
			memcpy(area, good, sizeof(good));
			continue;
		}
		loaded++;
		ret = launch(s->fd, id, slots, 2, 10000 + i, 0, HCOMM_LAUNCH_WAIT);
		if (ret)
			EXPECT_EQ(-ERANGE, ret);
		s->ring->head = s->ring->tail;
		EXPECT_EQ(0, destroy(s->fd, id));
	}
	flip_end(&f, t);
	TH_LOG("%d loaded", loaded);
	munmap(area, sizeof(good));
}

/* The arrays of launches, and the slots that they point to. */
TEST_F_TIMEOUT(fetch, launches_change, 120)
{
	struct solo *s = &self->s;
	struct { struct hcomm_launch la[4]; struct hcomm_slot slots[2]; } good = {}, evil, *area;
	struct hcomm_launch_batch lb = {
		.size = sizeof(lb), .count = 4, .launch_size = sizeof(struct hcomm_launch),
	};
	uint32_t done = 0, ro;
	struct flipper f;
	pthread_t t;
	int ret;

	area = (void *)pages(sizeof(good));
	memset(s->plain, 1, LEN);
	ASSERT_EQ(0, mem_reg(s->fd, s->plain, LEN, HCOMM_MEM_READ_ONLY, &ro));
	for (int i = 0; i < 2; i++)
		good.slots[i] = (struct hcomm_slot){ .mem_id = s->plain_mem, .length = LEN };
	for (int i = 0; i < 4; i++)
		good.la[i] = (struct hcomm_launch){
			.size = sizeof(good.la[i]), .prog_id = s->prog, .nslots = 2,
			.slots = (uintptr_t)area->slots,
		};
	evil = good;
	evil.slots[0].offset = LEN / 2;
	evil.slots[1].length = UINT64_MAX;
	evil.slots[1].mem_id = ro;
	evil.slots[1].offset = 1ull << 63;
	for (int i = 0; i < 4; i++) {
		evil.la[i].size = 4096;
		evil.la[i].prog_id = s->comm;
		evil.la[i].nslots = 0x10000;
		evil.la[i].flags = HCOMM_LAUNCH_WAIT;
		evil.la[i].slots = 0xffff888000000000;
		evil.la[i].timeout_ms = 3600000;
	}
	lb.launches = (uintptr_t)area;
	flip_start(&f, &t, area, &good, &evil, sizeof(good));
	for (uint32_t i = 0; i < 3000 || !done; i++) {
		/* Half of it unharmed, or nothing would be launched. */
		memcpy(area, &good, sizeof(good));
		for (int k = 0; k < 4; k++) {
			good.la[k].call.hash = i;
			good.la[k].run = 1ull << 33 | i * 4 | k;
			evil.la[k].run = 1ull << 34 | i * 4 | k;
		}
		lb.flags = i % 2 ? HCOMM_LAUNCH_WAIT : 0;
		lb.count = 1 + i % 4;
		ret = call(s->fd, HCOMM_LAUNCH_BATCH, &lb);
		EXPECT_NE(-EIO, ret);
		ASSERT_LE(lb.out_done, lb.count);
		if (lb.out_done)
			ASSERT_EQ(0, ring_wait(s->fd, lb.out_done, -1));
		ASSERT_EQ(lb.out_done, ring_unread(s->ring));
		done += lb.out_done;
		s->ring->head = s->ring->tail;
	}
	flip_end(&f, t);
	TH_LOG("%u launched", done);
	/* Half of its memory became the other half, but nothing else. */
	EXPECT_TRUE(all_are(s->plain, 1, LEN));
	EXPECT_EQ(0, destroy(s->fd, ro));
	munmap(area, sizeof(good));
}

/* The struct of the call itself: its size, and whatever is in it. */
TEST_F_TIMEOUT(fetch, calls_change, 120)
{
	struct solo *s = &self->s;
	struct hcomm_mem_reg good = {
		.size = sizeof(good), .addr = (uintptr_t)s->plain, .length = LEN,
	}, evil = {
		.size = 4096, .flags = HCOMM_MEM_READ_ONLY, .addr = 0xffff888000000000,
		.length = 1ull << 45, .pad = 1,
	};
	struct hcomm_mem_reg *reg = (void *)pages(4096);
	uint32_t first = 0, last = 0, n = 0;
	struct flipper f;
	pthread_t t;
	int ret;

	/* Ids are not told reliably here: all between the first and the last are ours. */
	ASSERT_EQ(0, mem_reg(s->fd, s->plain, 1, 0, &first));
	flip_start(&f, &t, reg, &good, &evil, sizeof(good));
	for (int i = 0; i < 1000 || !n; i++) {
		ret = call(s->fd, HCOMM_MEM_REG, reg);
		n += !ret;
		if (ret)
			memcpy(reg, &good, sizeof(good));
	}
	flip_end(&f, t);
	TH_LOG("%u registered", n);
	ASSERT_EQ(0, mem_reg(s->fd, s->plain, 1, 0, &last));
	EXPECT_EQ(n + 1, last - first);
	for (; first <= last; first++)
		EXPECT_EQ(0, destroy(s->fd, first));
	munmap(reg, 4096);
}

TEST_HARNESS_MAIN
