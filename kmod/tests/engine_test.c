// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit: two engines with a queue between them, in one thread.  What the
 * simulator does a million times in user space is done here a few times inside
 * the kernel: every protocol, the end of runs, faults on both sides.
 */
#include <kunit/test.h>
#include "../core/engine.h"
#include "../core/reduce.h"

#define CHUNK	4096u
#define EAGER	256u
#define BYTES	(5 * CHUNK + 12)
#define QUEUE	256u

struct side;

/* A message, a notification or a completion that is on its way. */
struct item {
	struct hcomm_msg msg;
	u8 payload[EAGER];
	u32 imm;
	u32 cookie;
	bool is_notify;
	bool is_done;
};

struct side {
	struct hcomm_elink el;		/* first */
	struct hcomm_engine e;
	struct side *peer;
	struct item q[QUEUE];		/* to this side */
	u32 head, tail;
	u32 released, received;
	u32 done, faults;
	int status;
	struct hcomm_mem mem[2], stage;
	struct hcomm_span span[2], stage_span;
	struct hcomm_prog *prog;
	struct hcomm_run *run;
};

static struct item *push(struct side *to)
{
	struct item *it = &to->q[to->tail++ % QUEUE];

	memset(it, 0, sizeof(*it));
	return it;
}

static int fake_send(struct hcomm_elink *l, const struct hcomm_msg *msg,
		     struct hcomm_buf payload)
{
	struct side *me = container_of(l, struct side, el);
	struct item *it;

	if (me->peer->tail - me->peer->head == QUEUE)
		return -EAGAIN;
	it = push(me->peer);
	it->msg = *msg;
	if (msg->type == HCOMM_MSG_EAGER && msg->len)
		hcomm_mem_read(it->payload, payload, msg->len);
	return 0;
}

static int fake_write(struct hcomm_elink *l, struct hcomm_buf src, u32 len, u64 addr,
		      u32 rkey, u32 imm, u32 cookie)
{
	struct side *me = container_of(l, struct side, el);
	struct item *it;

	/* The address is an offset, the key says in which memory of the peer. */
	hcomm_mem_copy((struct hcomm_buf){ rkey ? &me->peer->mem[1] : &me->peer->stage, addr },
		       src, len);
	it = push(me->peer);
	it->is_notify = true;
	it->imm = imm;
	it = push(me);
	it->is_done = true;
	it->cookie = cookie;
	return 0;
}

static int fake_expose(struct hcomm_elink *l, struct hcomm_buf dst, u32 len, u64 *addr,
		       u32 *rkey)
{
	struct side *me = container_of(l, struct side, el);

	if (dst.off + len > dst.mem->length)
		return -EFAULT;
	*addr = dst.off;
	*rkey = dst.mem != &me->stage;
	return 0;
}

static void fake_release(struct hcomm_elink *l, void *rx)
{
	container_of(l, struct side, el)->released++;
}

static const struct hcomm_link_ops fake_ops = {
	.send = fake_send,
	.write = fake_write,
	.expose = fake_expose,
	.release = fake_release,
};

static void side_run_done(struct hcomm_engine *e, struct hcomm_run *run, int status)
{
	struct side *me = container_of(e, struct side, e);

	me->done++;
	me->status = status;
}

static void side_fault(struct hcomm_engine *e)
{
	container_of(e, struct side, e)->faults++;
}

static const struct hcomm_engine_ops side_ops = {
	.run_done = side_run_done,
	.fault = side_fault,
};

static bool deliver(struct side *me)
{
	struct item *it;

	if (me->head == me->tail)
		return false;
	it = &me->q[me->head++ % QUEUE];
	if (it->is_done) {
		hcomm_engine_write_done(&me->el, it->cookie);
	} else if (it->is_notify) {
		hcomm_engine_notify(&me->el, it->imm);
	} else {
		me->received++;
		hcomm_engine_rx(&me->el, &it->msg, it->payload, it);
	}
	return true;
}

/* Until nothing moves; the bound makes a livelock a failure. */
static void settle(struct kunit *test, struct side *s)
{
	int rounds;
	bool moved = true;

	for (rounds = 0; moved && rounds < 10000; rounds++) {
		moved = hcomm_engine_run(&s[0].e, 1);
		moved |= hcomm_engine_run(&s[1].e, 1);
		moved |= deliver(&s[0]);
		moved |= deliver(&s[1]);
	}
	KUNIT_EXPECT_FALSE(test, moved);
}

static void load(struct kunit *test, struct side *me, const struct hcomm_step *steps, u32 n)
{
	struct hcomm_prog_params par = {
		.rank = me->e.par.rank, .nranks = 2, .chunk_size = CHUNK,
		.eager_size = EAGER,
	};
	struct hcomm_step *copy = hcomm_zalloc_array(n, sizeof(*copy));
	struct hcomm_prog_reject why;

	KUNIT_ASSERT_NOT_NULL(test, copy);
	memcpy(copy, steps, n * sizeof(*copy));
	KUNIT_ASSERT_EQ(test, hcomm_prog_create(&me->prog, &par, copy, n, NULL, 0, 2, &why), 0);
	me->run = hcomm_run_create(me->prog);
	KUNIT_ASSERT_NOT_NULL(test, me->run);
}

static int launch(struct side *me, u64 key, u16 coll)
{
	struct hcomm_elink *links[] = { &me->el };
	struct hcomm_buf slots[] = { { &me->mem[0], 0 }, { &me->mem[1], 0 } };
	struct hcomm_call call = { .coll = coll };

	return hcomm_engine_launch(&me->e, me->run, links, slots, key, &call);
}

static struct side *pair(struct kunit *test, bool direct)
{
	struct side *s = hcomm_zalloc_array(2, sizeof(*s));
	u32 i, k;

	KUNIT_ASSERT_NOT_NULL(test, s);
	for (i = 0; i < 2; i++) {
		struct hcomm_engine_params par = {
			.rank = i, .nranks = 2, .chunk_size = CHUNK, .eager_size = EAGER,
			.eager_slots = 2, .window = 2, .max_runs = 2, .staging_slots = 2,
		};

		s[i].peer = &s[1 - i];
		for (k = 0; k < 2; k++) {
			s[i].span[k].va = hcomm_zalloc_array(1, BYTES);
			KUNIT_ASSERT_NOT_NULL(test, s[i].span[k].va);
			s[i].mem[k] = (struct hcomm_mem){ BYTES, 1, &s[i].span[k] };
		}
		s[i].stage_span.va = hcomm_zalloc_array(2, CHUNK);
		KUNIT_ASSERT_NOT_NULL(test, s[i].stage_span.va);
		s[i].stage = (struct hcomm_mem){ 2 * CHUNK, 1, &s[i].stage_span };
		KUNIT_ASSERT_EQ(test, hcomm_engine_init(&s[i].e, &par, &side_ops, &s[i].stage), 0);
		KUNIT_ASSERT_EQ(test, hcomm_elink_init(&s[i].el, &s[i].e, 1 - i, &fake_ops,
						       direct), 0);
		hcomm_engine_link_up(&s[i].el);
		for (k = 0; k < BYTES / 4; k++)
			((u32 *)s[i].span[0].va)[k] = k * 3 + i;
	}
	return s;
}

static void unpair(struct kunit *test, struct side *s)
{
	u32 i, k;

	for (i = 0; i < 2; i++) {
		if (s[i].e.fault.error)
			hcomm_engine_fail_runs(&s[i].e);
		hcomm_elink_exit(&s[i].el);
		/* Everything that came with a message was given back, once. */
		KUNIT_EXPECT_EQ(test, s[i].released, s[i].received);
		hcomm_engine_exit(&s[i].e);
		hcomm_run_free(s[i].run);
		hcomm_prog_free(s[i].prog);
		for (k = 0; k < 2; k++)
			hcomm_free(s[i].span[k].va);
		hcomm_free(s[i].stage_span.va);
	}
	hcomm_free(s);
}

/* Both send all they have and add what comes to it. */
static void exchange(struct kunit *test, bool direct, u64 len)
{
	struct side *s = pair(test, direct);
	u32 i, k, round;

	for (i = 0; i < 2; i++) {
		const struct hcomm_step steps[] = {
			{ .op = HCOMM_STEP_SEND, .peer = 1 - i, .len = len },
			{ .op = HCOMM_STEP_RECV_REDUCE, .dtype = HCOMM_DT_UINT32,
			  .peer = 1 - i, .dst_slot = 1, .len = len },
		};

		load(test, &s[i], steps, 2);
	}
	/* The second launch comes early on one side and late on the other. */
	for (round = 0; round < 3; round++) {
		KUNIT_ASSERT_EQ(test, launch(&s[round & 1], round, HCOMM_COLL_ALLREDUCE), 0);
		settle(test, s);
		KUNIT_EXPECT_EQ(test, s[0].done + s[1].done, 2 * round);
		KUNIT_ASSERT_EQ(test, launch(&s[!(round & 1)], round, HCOMM_COLL_ALLREDUCE), 0);
		settle(test, s);
		KUNIT_EXPECT_EQ(test, s[0].done + s[1].done, 2 * round + 2);
	}
	for (i = 0; i < 2; i++) {
		KUNIT_EXPECT_EQ(test, s[i].status, 0);
		KUNIT_EXPECT_EQ(test, s[i].e.fault.error, 0);
		for (k = 0; k < BYTES / 4; k++)
			if (((u32 *)s[i].span[1].va)[k] != (k < len / 4 ? k * 6 + 1 : 0))
				break;
		KUNIT_EXPECT_EQ(test, k, BYTES / 4);
	}
	unpair(test, s);
}

static void engine_empty(struct kunit *test)
{
	exchange(test, false, 0);
}

static void engine_eager(struct kunit *test)
{
	exchange(test, false, EAGER);
}

static void engine_write(struct kunit *test)
{
	exchange(test, false, BYTES);
}

static void engine_direct(struct kunit *test)
{
	exchange(test, true, BYTES);
}

/* Two ranks that call different things and both wait: found by the tick. */
static void engine_mismatch(struct kunit *test)
{
	struct side *s = pair(test, false);
	u32 i;

	for (i = 0; i < 2; i++) {
		const struct hcomm_step step = {
			.op = HCOMM_STEP_RECV, .peer = 1 - i, .dst_slot = 1, .len = 8,
		};

		load(test, &s[i], &step, 1);
	}
	KUNIT_ASSERT_EQ(test, launch(&s[0], 5, HCOMM_COLL_BROADCAST), 0);
	KUNIT_ASSERT_EQ(test, launch(&s[1], 5, HCOMM_COLL_BARRIER), 0);
	settle(test, s);
	KUNIT_EXPECT_EQ(test, s[0].faults + s[1].faults, 0u);
	hcomm_engine_tick(&s[0].e);
	settle(test, s);
	for (i = 0; i < 2; i++) {
		KUNIT_EXPECT_EQ(test, s[i].faults, 1u);
		KUNIT_EXPECT_EQ(test, s[i].e.fault.reason, (u32)HCOMM_FAULT_MISMATCH);
		KUNIT_EXPECT_EQ(test, s[i].e.fault.error, EBADE);
		KUNIT_EXPECT_EQ(test, s[i].e.fault.mine.coll + s[i].e.fault.theirs.coll,
				HCOMM_COLL_BROADCAST + HCOMM_COLL_BARRIER);
		hcomm_engine_fail_runs(&s[i].e);
		KUNIT_EXPECT_EQ(test, s[i].done, 1u);
		KUNIT_EXPECT_EQ(test, s[i].status, -EBADE);
		KUNIT_EXPECT_EQ(test, launch(&s[i], 6, HCOMM_COLL_BARRIER), -EBADE);
	}
	unpair(test, s);
}

/* A rank that made another call and left: the call says more than that it left. */
static void engine_mismatch_left(struct kunit *test)
{
	struct side *s = pair(test, false);
	const struct hcomm_step send = { .op = HCOMM_STEP_SEND, .peer = 1, .len = 8 };
	const struct hcomm_step both[] = {
		{ .op = HCOMM_STEP_SEND, .peer = 0, .len = 8 },
		{ .op = HCOMM_STEP_RECV, .peer = 0, .dst_slot = 1, .len = 8 },
	};

	load(test, &s[0], &send, 1);
	load(test, &s[1], both, 2);
	KUNIT_ASSERT_EQ(test, launch(&s[0], 1, HCOMM_COLL_BROADCAST), 0);
	settle(test, s);
	hcomm_engine_bye(&s[0].e);
	settle(test, s);
	KUNIT_EXPECT_TRUE(test, s[1].el.left);
	KUNIT_ASSERT_EQ(test, launch(&s[1], 1, HCOMM_COLL_ALLREDUCE), 0);
	settle(test, s);
	KUNIT_EXPECT_EQ(test, s[1].e.fault.reason, (u32)HCOMM_FAULT_MISMATCH);
	KUNIT_EXPECT_EQ(test, s[1].e.fault.theirs.coll, HCOMM_COLL_BROADCAST);
	unpair(test, s);
}

static void engine_death(struct kunit *test)
{
	struct side *s = pair(test, true);
	const struct hcomm_step step = {
		.op = HCOMM_STEP_RECV, .peer = 1, .dst_slot = 1, .len = BYTES,
	};

	load(test, &s[0], &step, 1);
	KUNIT_ASSERT_EQ(test, launch(&s[0], 1, HCOMM_COLL_BROADCAST), 0);
	settle(test, s);
	hcomm_engine_link_down(&s[0].el, HCOMM_FAULT_PEER_DIED, EOWNERDEAD);
	KUNIT_EXPECT_EQ(test, s[0].faults, 1u);
	KUNIT_EXPECT_EQ(test, s[0].e.fault.rank, 1u);
	KUNIT_EXPECT_EQ(test, s[0].e.fault.step, 0u);
	/* Not reported before the embedder says that nothing can land any more. */
	KUNIT_EXPECT_EQ(test, s[0].done, 0u);
	hcomm_engine_fail_runs(&s[0].e);
	KUNIT_EXPECT_EQ(test, s[0].done, 1u);
	KUNIT_EXPECT_EQ(test, s[0].status, -EOWNERDEAD);
	unpair(test, s);
}

static void engine_goodbye(struct kunit *test)
{
	struct side *s = pair(test, false);
	const struct hcomm_step send = { .op = HCOMM_STEP_SEND, .peer = 1, .len = 8 };
	const struct hcomm_step recv = {
		.op = HCOMM_STEP_RECV, .peer = 0, .dst_slot = 1, .len = 8,
	};

	/* A small message outlives its sender ... */
	load(test, &s[0], &send, 1);
	load(test, &s[1], &recv, 1);
	KUNIT_ASSERT_EQ(test, launch(&s[0], 1, HCOMM_COLL_P2P), 0);
	settle(test, s);
	hcomm_engine_bye(&s[0].e);
	settle(test, s);
	KUNIT_EXPECT_TRUE(test, hcomm_engine_bye_done(&s[0].e));
	KUNIT_EXPECT_TRUE(test, s[1].el.left);
	hcomm_engine_link_down(&s[1].el, HCOMM_FAULT_LINK, ECONNRESET);
	KUNIT_EXPECT_EQ(test, s[1].faults, 0u);
	KUNIT_ASSERT_EQ(test, launch(&s[1], 1, HCOMM_COLL_P2P), 0);
	settle(test, s);
	KUNIT_EXPECT_EQ(test, s[1].done, 1u);
	KUNIT_EXPECT_EQ(test, s[1].status, 0);
	/* ... and the next one does not come. */
	KUNIT_ASSERT_EQ(test, launch(&s[1], 2, HCOMM_COLL_P2P), 0);
	settle(test, s);
	KUNIT_EXPECT_EQ(test, s[1].e.fault.reason, (u32)HCOMM_FAULT_PEER_LEFT);
	KUNIT_EXPECT_EQ(test, s[1].e.fault.error, EPIPE);
	KUNIT_EXPECT_EQ(test, s[1].e.fault.rank, 0u);
	unpair(test, s);
}

static struct kunit_case engine_cases[] = {
	KUNIT_CASE(engine_empty),
	KUNIT_CASE(engine_eager),
	KUNIT_CASE(engine_write),
	KUNIT_CASE(engine_direct),
	KUNIT_CASE(engine_mismatch),
	KUNIT_CASE(engine_mismatch_left),
	KUNIT_CASE(engine_death),
	KUNIT_CASE(engine_goodbye),
	{}
};

static struct kunit_suite engine_suite = {
	.name = "hcomm_engine",
	.test_cases = engine_cases,
};

kunit_test_suite(engine_suite);
