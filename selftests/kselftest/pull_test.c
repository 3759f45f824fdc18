// SPDX-License-Identifier: GPL-2.0-only
/*
 * Large messages over local links, which the sender helps with while it waits: each
 * byte must come once, to its place, whoever moved it.
 */
#include <pthread.h>
#include "sysfs.h"
#include "kselftest_harness.h"

#define LEN (1u << 20)
#define ROOM (LEN + 8192)
#define SEC 1000000000ll
#define ROUNDS 60
#define TRIES 3000

FIXTURE(pull)
{
	struct rank r[2];
	uint8_t *buf[2];
	uint32_t mem[2];
	uint32_t prog[2];
};

FIXTURE_SETUP(pull)
{
	struct hcomm_comm_create c;

	memset(self->r, 0, sizeof(self->r));
	create_init(&c, 0, 2);
	ASSERT_EQ(0, ranks_open(self->r, 2, &c));
	for (int i = 0; i < 2; i++) {
		self->buf[i] = pages(ROOM);
		ASSERT_NE(NULL, self->buf[i]);
		ASSERT_EQ(0, mem_reg(self->r[i].fd, self->buf[i], ROOM, 0, &self->mem[i]));
	}
}

FIXTURE_TEARDOWN(pull)
{
	for (int i = 0; i < 2; i++) {
		rank_close(&self->r[i]);
		munmap(self->buf[i], ROOM);
	}
}

/* Rank 0 sends; rank 1 stores it, or adds it to what it has. */
static int load(struct rank *r, uint32_t *prog, uint32_t len, bool reduce)
{
	struct hcomm_step step[] = {
		{ .op = HCOMM_STEP_SEND, .peer = 1, .len = len },
		{ .op = reduce ? HCOMM_STEP_RECV_REDUCE : HCOMM_STEP_RECV, .peer = 0,
		  .dtype = reduce ? HCOMM_DT_UINT16 : 0, .len = len },
	};
	int ret = 0;

	for (int i = 0; i < 2 && !ret; i++)
		ret = prog_load(r[i].fd, r[i].comm, &step[i], 1, NULL, 0, 1, &prog[i]);
	return ret;
}

struct side {
	struct rank *r;
	uint32_t prog;
	uint64_t run;
	struct hcomm_slot slot;
	int ret;
};

/* Launch, and wait in the kernel. */
static void *one_side(void *arg)
{
	struct side *s = arg;
	struct hcomm_cqe cqe = { .status = -1 };

	s->ret = launch(s->r->fd, s->prog, &s->slot, 1, s->run, 0, 0);
	if (!s->ret)
		s->ret = ring_wait(s->r->fd, 1, 20 * SEC);
	if (!s->ret && (!ring_next(s->r->ring, &cqe) || cqe.status))
		s->ret = cqe.status;
	return NULL;
}

/* Both at once: from off[0] of the sender to off[1] of the receiver. */
static int transfer(struct rank *r, const uint32_t *prog, const uint32_t *mem, uint64_t run,
		    const uint32_t *off)
{
	struct side s[2];
	pthread_t t;

	for (int i = 0; i < 2; i++)
		s[i] = (struct side){
			.r = &r[i], .prog = prog[i], .run = run,
			.slot = { .mem_id = mem[i], .offset = off[i], .length = LEN },
		};
	if (pthread_create(&t, NULL, one_side, &s[0]))
		return -1;
	one_side(&s[1]);
	pthread_join(t, NULL);
	return s[0].ret ? s[0].ret : s[1].ret;
}

static uint8_t sent(uint64_t run, uint32_t i)
{
	return i * 7 + (i >> 8) * 13 + (i >> 16) + run;
}

/* Odd places, lengths that are no multiple of a piece, and bytes around it. */
TEST_F(pull, every_byte_once)
{
	for (uint64_t run = 1; run <= ROUNDS; run++) {
		uint32_t off[2] = { run % 9, run * 5 % 4096 }, len = LEN - run * 3000;
		bool reduce = run % 2;
		uint32_t prog[2], bad = 0;

		if (reduce)
			len &= ~1u;
		ASSERT_EQ(0, load(self->r, prog, len, reduce));
		for (uint32_t i = 0; i < LEN; i++)
			self->buf[0][off[0] + i] = sent(run, i);
		memset(self->buf[1], 1, ROOM);
		ASSERT_EQ(0, transfer(self->r, prog, self->mem, run, off));
		for (uint32_t i = 0; i < len; i++) {
			uint8_t *got = self->buf[1] + off[1] + i;

			/* 16 bit sums, each byte with the carry of the one below. */
			if (reduce && i % 2)
				bad += *got != (uint8_t)(sent(run, i) + 1 +
							 (sent(run, i - 1) == 255));
			else
				bad += *got != (uint8_t)(sent(run, i) + reduce);
		}
		EXPECT_EQ(0, bad);
		for (uint32_t i = 0; i < off[1]; i++)
			bad += self->buf[1][i] != 1;
		for (uint32_t i = off[1] + len; i < ROOM; i++)
			bad += self->buf[1][i] != 1;
		EXPECT_EQ(0, bad);
		for (int i = 0; i < 2; i++)
			EXPECT_EQ(0, destroy(self->r[i].fd, prog[i]));
	}
}

TEST_F(pull, a_waiting_sender_helps)
{
	uint32_t off[2] = { 0, 0 }, prog[2];
	char dir[128];
	int tries;

	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		SKIP(return, "one processor: nobody is there to help");
	ASSERT_TRUE(find_comm(&self->r[0], dir, sizeof(dir)));
	EXPECT_EQ(0, number(dir, "bytes_helped"));
	ASSERT_EQ(0, load(self->r, prog, LEN, false));
	for (tries = 1; tries <= TRIES && !number(dir, "bytes_helped"); tries++)
		ASSERT_EQ(0, transfer(self->r, prog, self->mem, tries, off));
	EXPECT_LT(0, number(dir, "bytes_helped"));
	EXPECT_GE((long long)tries * LEN, number(dir, "bytes_helped"));
}

TEST_HARNESS_MAIN
