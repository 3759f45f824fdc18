// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit: the program verifier.  Each rule is broken once, on its own, in a
 * program that is right otherwise, and the reason and the step must be named.
 */
#include <kunit/test.h>
#include "../core/prog.h"

#define NR_STEPS 5

static const struct hcomm_prog_params par = {
	.rank = 1,
	.nranks = 4,
	.chunk_size = 4096,
	.eager_size = 1024,
};

/* Receive and reduce, pass on behind it, copy, join. */
static const struct hcomm_step good_steps[NR_STEPS] = {
	{ .op = HCOMM_STEP_RECV_REDUCE, .dtype = HCOMM_DT_FP32, .peer = 0,
	  .src_slot = 0, .dst_slot = 1, .dst_off = 8, .len = 16384 },
	{ .op = HCOMM_STEP_SEND, .peer = 2, .src_slot = 1, .src_off = 8, .len = 16384,
	  .dep_first = 0, .dep_count = 1 },
	{ .op = HCOMM_STEP_SEND, .peer = 2, .msg = 1, .src_slot = 0, .len = 16,
	  .dep_first = 1, .dep_count = 0 },
	{ .op = HCOMM_STEP_COPY, .src_slot = 0, .dst_slot = 2, .len = 100,
	  .dep_first = 1, .dep_count = 1 },
	{ .op = HCOMM_STEP_NOP, .dep_first = 2, .dep_count = 2 },
};

static const u32 good_deps[] = { 0 | HCOMM_DEP_STREAM, 2, 1, 3 };

static int build(struct kunit *test, const struct hcomm_step *steps, const u32 *deps,
		 struct hcomm_prog **prog, struct hcomm_prog_reject *why)
{
	struct hcomm_step *s = hcomm_zalloc_array(NR_STEPS, sizeof(*s));
	u32 *d = hcomm_zalloc_array(ARRAY_SIZE(good_deps), sizeof(*d));

	KUNIT_ASSERT_NOT_NULL(test, s);
	KUNIT_ASSERT_NOT_NULL(test, d);
	memcpy(s, steps, NR_STEPS * sizeof(*s));
	memcpy(d, deps, sizeof(good_deps));
	return hcomm_prog_create(prog, &par, s, NR_STEPS, d, ARRAY_SIZE(good_deps), 3, why);
}

static void prog_accepts(struct kunit *test)
{
	struct hcomm_prog_reject why;
	struct hcomm_prog *prog;

	KUNIT_ASSERT_EQ(test, build(test, good_steps, good_deps, &prog, &why), 0);
	KUNIT_EXPECT_EQ(test, prog->npeers, 2u);
	KUNIT_EXPECT_EQ(test, hcomm_prog_find_peer(prog, 0), 0u);
	KUNIT_EXPECT_EQ(test, hcomm_prog_find_peer(prog, 2), 1u);
	KUNIT_EXPECT_EQ(test, hcomm_prog_find_peer(prog, 3), U32_MAX);
	KUNIT_EXPECT_EQ(test, prog->peers[1].send_count, 2u);
	KUNIT_EXPECT_EQ(test, prog->sends[prog->peers[1].send_first + 1], 2u);
	KUNIT_EXPECT_EQ(test, prog->aux[0].nchunks, 4u);
	KUNIT_EXPECT_EQ(test, prog->aux[2].nchunks, 1u);
	KUNIT_EXPECT_EQ(test, prog->aux[0].succ_count, 1u);
	KUNIT_EXPECT_EQ(test, prog->succs[prog->aux[0].succ_first], 1 | HCOMM_DEP_STREAM);
	KUNIT_EXPECT_EQ(test, prog->stage_first, 0u);
	KUNIT_EXPECT_EQ(test, prog->aux[0].stage_next, U32_MAX);
	KUNIT_EXPECT_EQ(test, prog->slots[0].extent, 16384ull);
	KUNIT_EXPECT_FALSE(test, prog->slots[0].written);
	KUNIT_EXPECT_EQ(test, prog->slots[1].extent, 16392ull);
	KUNIT_EXPECT_TRUE(test, prog->slots[1].written);
	hcomm_prog_free(prog);
}

struct bad_step {
	const char *name;
	u32 step;
	u32 reason;
	void (*damage)(struct hcomm_step *s);
};

#define DAMAGE(fn, stmt) static void fn(struct hcomm_step *s) { stmt; }
DAMAGE(bad_op, s[0].op = HCOMM_STEP_COUNT)
DAMAGE(bad_flags, s[1].flags = 1)
DAMAGE(bad_reserved, s[1].reserved[1] = 1)
DAMAGE(bad_nop_len, s[4].len = 1)
DAMAGE(bad_copy_peer, s[3].peer = 2)
DAMAGE(bad_send_dst, s[1].dst_off = 1)
DAMAGE(bad_send_type, s[1].dtype = 1)
DAMAGE(bad_dtype, s[0].dtype = HCOMM_DT_COUNT)
DAMAGE(bad_redop, s[0].redop = HCOMM_OP_COUNT)
DAMAGE(bad_redop_type, s[0].redop = HCOMM_OP_BXOR)
DAMAGE(bad_operand, s[0].operand = 1)
DAMAGE(bad_scale, s[3].op = HCOMM_STEP_SCALE; s[3].redop = HCOMM_SCALE_COUNT)
DAMAGE(bad_scale_zero, s[3].op = HCOMM_STEP_SCALE; s[3].redop = HCOMM_SCALE_DIV)
DAMAGE(bad_scale_div, bad_scale_zero(s); s[3].operand = HCOMM_MAX_RANKS + 1)
DAMAGE(bad_scale_mul, s[3].op = HCOMM_STEP_SCALE; s[3].operand = 256)
DAMAGE(bad_scale_len, s[3].op = HCOMM_STEP_SCALE; s[3].dtype = HCOMM_DT_FP64)
DAMAGE(bad_peer_self, s[0].peer = 1)
DAMAGE(bad_peer_range, s[0].peer = 4)
DAMAGE(bad_msg_gap, s[2].msg = 2)
DAMAGE(bad_msg_again, s[2].msg = 0)
DAMAGE(bad_slot, s[3].dst_slot = 3)
DAMAGE(bad_len_max, s[3].len = HCOMM_MAX_STEP_LEN + 1)
DAMAGE(bad_len_elem, s[0].len = 16383)
DAMAGE(bad_range, s[3].src_off = U64_MAX)
DAMAGE(bad_dep_gap, s[3].dep_first = 2)
DAMAGE(bad_dep_end, s[4].dep_count = 3)
DAMAGE(bad_dep_huge, s[4].dep_count = U32_MAX)
DAMAGE(bad_stream_len, s[1].len = 16380)

static const struct bad_step bad_steps[] = {
	{ "op", 0, HCOMM_PE_OP, bad_op },
	{ "flags", 1, HCOMM_PE_FLAGS, bad_flags },
	{ "reserved", 1, HCOMM_PE_FLAGS, bad_reserved },
	{ "len of a NOP", 4, HCOMM_PE_UNUSED, bad_nop_len },
	{ "peer of a COPY", 3, HCOMM_PE_UNUSED, bad_copy_peer },
	{ "dst of a SEND", 1, HCOMM_PE_UNUSED, bad_send_dst },
	{ "dtype of a SEND", 1, HCOMM_PE_UNUSED, bad_send_type },
	{ "dtype", 0, HCOMM_PE_DTYPE, bad_dtype },
	{ "redop", 0, HCOMM_PE_REDOP, bad_redop },
	{ "redop of the type", 0, HCOMM_PE_REDOP_TYPE, bad_redop_type },
	{ "operand of a reduction", 0, HCOMM_PE_UNUSED, bad_operand },
	{ "kind of a SCALE", 3, HCOMM_PE_REDOP, bad_scale },
	{ "division by zero", 3, HCOMM_PE_OPERAND, bad_scale_zero },
	{ "division by too much", 3, HCOMM_PE_OPERAND, bad_scale_div },
	{ "factor with too many bits", 3, HCOMM_PE_OPERAND, bad_scale_mul },
	{ "len of a SCALE", 3, HCOMM_PE_LEN, bad_scale_len },
	{ "peer is self", 0, HCOMM_PE_PEER, bad_peer_self },
	{ "peer is no rank", 0, HCOMM_PE_PEER, bad_peer_range },
	{ "message gap", 2, HCOMM_PE_MSG, bad_msg_gap },
	{ "message again", 2, HCOMM_PE_MSG, bad_msg_again },
	{ "slot", 3, HCOMM_PE_SLOT, bad_slot },
	{ "too long", 3, HCOMM_PE_LEN, bad_len_max },
	{ "part of an element", 0, HCOMM_PE_LEN, bad_len_elem },
	{ "overflow", 3, HCOMM_PE_RANGE, bad_range },
	{ "gap in the dependencies", 3, HCOMM_PE_DEP_RANGE, bad_dep_gap },
	{ "dependencies past the end", 4, HCOMM_PE_DEP_RANGE, bad_dep_end },
	{ "absurd dependency count", 4, HCOMM_PE_DEP_RANGE, bad_dep_huge },
	{ "stream of another length", 1, HCOMM_PE_STREAM_LEN, bad_stream_len },
};

static void bad_step_name(const struct bad_step *b, char *desc)
{
	strscpy(desc, b->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(bad_step, bad_steps, bad_step_name);

static void prog_refuses_step(struct kunit *test)
{
	const struct bad_step *b = test->param_value;
	struct hcomm_step steps[NR_STEPS];
	struct hcomm_prog_reject why;
	struct hcomm_prog *prog;

	memcpy(steps, good_steps, sizeof(steps));
	b->damage(steps);
	KUNIT_EXPECT_EQ(test, build(test, steps, good_deps, &prog, &why), -EINVAL);
	KUNIT_EXPECT_EQ(test, why.reason, b->reason);
	KUNIT_EXPECT_EQ(test, why.step, b->step);
}

static void prog_refuses_deps(struct kunit *test)
{
	u32 deps[ARRAY_SIZE(good_deps)];
	struct hcomm_prog_reject why;
	struct hcomm_prog *prog;

	memcpy(deps, good_deps, sizeof(deps));
	deps[3] = 4;			/* on itself */
	KUNIT_EXPECT_EQ(test, build(test, good_steps, deps, &prog, &why), -EINVAL);
	KUNIT_EXPECT_EQ(test, why.reason, (u32)HCOMM_PE_DEP_ORDER);
	KUNIT_EXPECT_EQ(test, why.step, 4u);

	memcpy(deps, good_deps, sizeof(deps));
	deps[3] = 0 | HCOMM_DEP_STREAM;	/* behind a plain one */
	KUNIT_EXPECT_EQ(test, build(test, good_steps, deps, &prog, &why), -EINVAL);
	KUNIT_EXPECT_EQ(test, why.reason, (u32)HCOMM_PE_STREAM_ORDER);
}

static void prog_limits(struct kunit *test)
{
	struct hcomm_prog_reject why;

	KUNIT_EXPECT_EQ(test, hcomm_prog_limits(1, 0, 0, &why), 0);
	KUNIT_EXPECT_EQ(test, hcomm_prog_limits(HCOMM_MAX_STEPS, HCOMM_MAX_DEPS,
						HCOMM_MAX_SLOTS, &why), 0);
	KUNIT_EXPECT_EQ(test, hcomm_prog_limits(0, 0, 0, &why), -EINVAL);
	KUNIT_EXPECT_EQ(test, why.reason, (u32)HCOMM_PE_EMPTY);
	KUNIT_EXPECT_EQ(test, hcomm_prog_limits(HCOMM_MAX_STEPS + 1, 0, 0, &why), -EINVAL);
	KUNIT_EXPECT_EQ(test, hcomm_prog_limits(1, HCOMM_MAX_DEPS + 1, 0, &why), -EINVAL);
	KUNIT_EXPECT_EQ(test, why.reason, (u32)HCOMM_PE_DEPS);
	KUNIT_EXPECT_EQ(test, hcomm_prog_limits(1, 0, HCOMM_MAX_SLOTS + 1, &why), -EINVAL);
	KUNIT_EXPECT_EQ(test, why.reason, (u32)HCOMM_PE_NSLOTS);
}

static struct kunit_case prog_cases[] = {
	KUNIT_CASE(prog_accepts),
	KUNIT_CASE_PARAM(prog_refuses_step, bad_step_gen_params),
	KUNIT_CASE(prog_refuses_deps),
	KUNIT_CASE(prog_limits),
	{}
};

static struct kunit_suite prog_suite = {
	.name = "hcomm_prog",
	.test_cases = prog_cases,
};

kunit_test_suite(prog_suite);
