// SPDX-License-Identifier: GPL-2.0-only
/* COMM_CREATE, COMM_PEERS, LINK_OPEN, PROG_LOAD: what is made and what is refused. */
#include <sys/socket.h>
#include "util.h"
#include "kselftest_harness.h"

FIXTURE(comm)
{
	struct rank r[2];
};

FIXTURE_SETUP(comm)
{
	memset(self->r, 0, sizeof(self->r));
	ASSERT_EQ(0, ranks_open(self->r, 2, NULL));
}

FIXTURE_TEARDOWN(comm)
{
	rank_close(&self->r[0]);
	rank_close(&self->r[1]);
}

TEST_F(comm, create_ranges)
{
#define BAD(field, value) { offsetof(struct hcomm_comm_create, field), value }
	static const struct { size_t off; uint32_t value; } bad[] = {
		BAD(nranks, 0), BAD(nranks, HCOMM_MAX_RANKS + 1), BAD(rank, 2),
		BAD(chunk_size, 1), BAD(chunk_size, 4096 + 512),
		BAD(chunk_size, HCOMM_MAX_CHUNK_SIZE * 2),
		BAD(eager_size, 1), BAD(eager_size, HCOMM_MAX_EAGER_SIZE + 64),
		BAD(eager_slots, HCOMM_MAX_EAGER_SLOTS + 1),
		BAD(window, HCOMM_MAX_WINDOW + 1), BAD(max_runs, HCOMM_MAX_COMM_RUNS + 1),
		BAD(staging_slots, 1), BAD(staging_slots, HCOMM_MAX_STAGING_SLOTS + 1),
		BAD(connect_timeout_ms, HCOMM_MAX_TIMEOUT_MS + 1),
	};
	struct hcomm_comm_create arg;

	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		TH_LOG("%zu", i);
		create_init(&arg, 0, 2);
		memcpy((char *)&arg + bad[i].off, &bad[i].value, 4);
		EXPECT_EQ(-EINVAL, call(self->r[0].fd, HCOMM_COMM_CREATE, &arg));
	}
	create_init(&arg, 0, 2);
	arg.transports = 1u << 31;
	EXPECT_EQ(-EOPNOTSUPP, call(self->r[0].fd, HCOMM_COMM_CREATE, &arg));
	create_init(&arg, 0, 2);
	arg.listen.reserved[1] = 1;
	EXPECT_EQ(-EINVAL, call(self->r[0].fd, HCOMM_COMM_CREATE, &arg));
	create_init(&arg, 0, 2);
	arg.listen.family = AF_UNIX;
	EXPECT_EQ(-EINVAL, call(self->r[0].fd, HCOMM_COMM_CREATE, &arg));
}

TEST_F(comm, create_twice)
{
	struct hcomm_comm_create arg = self->r[0].create;
	uint32_t id;

	EXPECT_EQ(-EEXIST, call(self->r[0].fd, HCOMM_COMM_CREATE, &arg));
	EXPECT_EQ(-EEXIST, call(self->r[1].fd, HCOMM_COMM_CREATE, &arg));
	/* Free again when the first one is gone. */
	id = self->r[0].comm;
	ASSERT_EQ(0, destroy(self->r[0].fd, id));
	arg = self->r[0].create;
	EXPECT_EQ(0, call(self->r[0].fd, HCOMM_COMM_CREATE, &arg));
}

TEST_F(comm, peers)
{
	struct hcomm_peer peers[2] = {};
	struct hcomm_comm_peers arg = {
		.size = sizeof(arg), .comm_id = self->r[0].comm,
		.peers = (uintptr_t)peers, .count = 2,
	};
	struct hcomm_comm_create c;

	EXPECT_EQ(-EBUSY, call(self->r[0].fd, HCOMM_COMM_PEERS, &arg));
	create_init(&c, 0, 2);
	ASSERT_EQ(0, call(self->r[0].fd, HCOMM_COMM_CREATE, &c));
	arg.comm_id = c.out_comm_id;
	arg.count = 3;
	EXPECT_EQ(-EINVAL, call(self->r[0].fd, HCOMM_COMM_PEERS, &arg));
	arg.count = 2;
	arg.peers = 4096;
	EXPECT_EQ(-EFAULT, call(self->r[0].fd, HCOMM_COMM_PEERS, &arg));
	arg.peers = (uintptr_t)peers;
	peers[1].addr.family = 99;
	EXPECT_EQ(-EINVAL, call(self->r[0].fd, HCOMM_COMM_PEERS, &arg));
	peers[1].addr.family = 0;
	EXPECT_EQ(0, call(self->r[0].fd, HCOMM_COMM_PEERS, &arg));
}

TEST_F(comm, link)
{
	struct hcomm_link_open arg = {
		.size = sizeof(arg), .comm_id = self->r[0].comm, .peer = 1,
	};

	ASSERT_EQ(0, call(self->r[0].fd, HCOMM_LINK_OPEN, &arg));
	EXPECT_EQ((uint32_t)HCOMM_LINK_READY, arg.out_state);
	EXPECT_EQ(HCOMM_TRANSPORT_LOCAL, arg.out_transport);
	arg.peer = 0;
	EXPECT_EQ(-EINVAL, call(self->r[0].fd, HCOMM_LINK_OPEN, &arg));
	arg.peer = 2;
	EXPECT_EQ(-EINVAL, call(self->r[0].fd, HCOMM_LINK_OPEN, &arg));
	arg.peer = HCOMM_ALL_LINKS;
	EXPECT_EQ(0, call(self->r[0].fd, HCOMM_LINK_OPEN, &arg));
}

/* A peer with another secret is no peer: the link never comes up. */
TEST_F(comm, link_other_secret)
{
	struct hcomm_comm_create opt = self->r[0].create;
	struct hcomm_link_open arg = { .size = sizeof(arg), .peer = 1, .timeout_ms = 300 };
	struct hcomm_info info = { .size = sizeof(info) };
	struct hcomm_peer peers[2] = {};
	struct hcomm_comm_peers pa = {
		.size = sizeof(pa), .peers = (uintptr_t)peers, .count = 2,
	};
	int i, ret;

	ASSERT_EQ(0, call(self->r[0].fd, HCOMM_INFO, &info));
	for (i = 0; i < 2; i++) {
		memset(opt.uuid, 0x77, sizeof(opt.uuid));
		memcpy(peers[0].node_id, info.node_id, 16);
		memcpy(peers[1].node_id, info.node_id, 16);
		opt.rank = i;
		opt.secret[31] = i;
		opt.connect_timeout_ms = 500;
		ASSERT_EQ(0, call(self->r[i].fd, HCOMM_COMM_CREATE, &opt));
		pa.comm_id = opt.out_comm_id;
		ASSERT_EQ(0, call(self->r[i].fd, HCOMM_COMM_PEERS, &pa));
		if (!i)
			arg.comm_id = opt.out_comm_id;
	}
	ret = call(self->r[0].fd, HCOMM_LINK_OPEN, &arg);
	TH_LOG("%d", ret);
	EXPECT_TRUE(ret == -ETIMEDOUT || ret == -EACCES);
	EXPECT_EQ(1u, arg.out_peer);
}

TEST_F(comm, link_other_options)
{
	struct hcomm_comm_create opt;
	struct hcomm_link_open arg = { .size = sizeof(arg), .peer = 1 };
	struct hcomm_info info = { .size = sizeof(info) };
	struct hcomm_peer peers[2] = {};
	struct hcomm_comm_peers pa = {
		.size = sizeof(pa), .peers = (uintptr_t)peers, .count = 2,
	};
	struct hcomm_fault fault;
	int i;

	ASSERT_EQ(0, call(self->r[0].fd, HCOMM_INFO, &info));
	for (i = 0; i < 2; i++) {
		create_init(&opt, i, 2);
		memset(opt.uuid, 0x78, sizeof(opt.uuid));
		memcpy(peers[i].node_id, info.node_id, 16);
		memcpy(peers[!i].node_id, info.node_id, 16);
		opt.chunk_size = 4096 << i;
		ASSERT_EQ(0, call(self->r[i].fd, HCOMM_COMM_CREATE, &opt));
		pa.comm_id = opt.out_comm_id;
		ASSERT_EQ(0, call(self->r[i].fd, HCOMM_COMM_PEERS, &pa));
		if (!i)
			arg.comm_id = opt.out_comm_id;
	}
	EXPECT_EQ(-EPROTO, call(self->r[0].fd, HCOMM_LINK_OPEN, &arg));
	ASSERT_EQ(0, query_fault(self->r[0].fd, arg.comm_id, &fault));
	EXPECT_EQ((uint32_t)HCOMM_FAULT_OPTIONS, fault.reason);
	EXPECT_EQ(1u, fault.rank);
}

static int load_one(struct rank *r, const struct hcomm_step *step, uint32_t *reason,
		    uint32_t *err_step)
{
	struct hcomm_prog_load arg = {
		.size = sizeof(arg), .comm_id = r->comm, .steps = (uintptr_t)step,
		.nsteps = 1, .nslots = 2,
	};
	int ret = call(r->fd, HCOMM_PROG_LOAD, &arg);

	*reason = arg.err_reason;
	*err_step = arg.err_step;
	return ret;
}

TEST_F(comm, prog_reasons)
{
	struct hcomm_step step = { .op = 99 };
	uint32_t reason, at;

	EXPECT_EQ(-EINVAL, load_one(&self->r[0], &step, &reason, &at));
	EXPECT_EQ((uint32_t)HCOMM_PE_OP, reason);
	EXPECT_EQ(0u, at);
	step = (struct hcomm_step){ .op = HCOMM_STEP_SEND, .peer = 2, .len = 8 };
	EXPECT_EQ(-EINVAL, load_one(&self->r[0], &step, &reason, &at));
	EXPECT_EQ((uint32_t)HCOMM_PE_PEER, reason);
	step = (struct hcomm_step){ .op = HCOMM_STEP_COPY, .src_slot = 2, .len = 8 };
	EXPECT_EQ(-EINVAL, load_one(&self->r[0], &step, &reason, &at));
	EXPECT_EQ((uint32_t)HCOMM_PE_SLOT, reason);
	step = (struct hcomm_step){ .op = HCOMM_STEP_NOP, .dep_count = 1 };
	EXPECT_EQ(-EINVAL, load_one(&self->r[0], &step, &reason, &at));
	EXPECT_EQ((uint32_t)HCOMM_PE_DEP_RANGE, reason);
	step = (struct hcomm_step){ .op = HCOMM_STEP_REDUCE, .dtype = HCOMM_DT_FP32,
				    .redop = HCOMM_OP_BAND };
	EXPECT_EQ(-EINVAL, load_one(&self->r[0], &step, &reason, &at));
	EXPECT_EQ((uint32_t)HCOMM_PE_REDOP_TYPE, reason);
	step = (struct hcomm_step){ .op = HCOMM_STEP_REDUCE, .redop = HCOMM_OP_AVG };
	EXPECT_EQ(-EINVAL, load_one(&self->r[0], &step, &reason, &at));
	EXPECT_EQ((uint32_t)HCOMM_PE_REDOP, reason);
	step = (struct hcomm_step){ .op = HCOMM_STEP_SCALE, .redop = HCOMM_SCALE_COUNT };
	EXPECT_EQ(-EINVAL, load_one(&self->r[0], &step, &reason, &at));
	EXPECT_EQ((uint32_t)HCOMM_PE_REDOP, reason);
	step = (struct hcomm_step){ .op = HCOMM_STEP_SCALE, .redop = HCOMM_SCALE_DIV };
	EXPECT_EQ(-EINVAL, load_one(&self->r[0], &step, &reason, &at));
	EXPECT_EQ((uint32_t)HCOMM_PE_OPERAND, reason);
	step.operand = HCOMM_MAX_RANKS + 1;
	EXPECT_EQ(-EINVAL, load_one(&self->r[0], &step, &reason, &at));
	EXPECT_EQ((uint32_t)HCOMM_PE_OPERAND, reason);
	step = (struct hcomm_step){ .op = HCOMM_STEP_SCALE, .dtype = HCOMM_DT_BF16,
				    .redop = HCOMM_SCALE_MUL, .operand = 0x10000 };
	EXPECT_EQ(-EINVAL, load_one(&self->r[0], &step, &reason, &at));
	EXPECT_EQ((uint32_t)HCOMM_PE_OPERAND, reason);
	step = (struct hcomm_step){ .op = HCOMM_STEP_NOP, .operand = 1 };
	EXPECT_EQ(-EINVAL, load_one(&self->r[0], &step, &reason, &at));
	EXPECT_EQ((uint32_t)HCOMM_PE_UNUSED, reason);
}

TEST_F(comm, prog_sizes)
{
	struct hcomm_step step = { .op = HCOMM_STEP_NOP };
	struct hcomm_prog_load arg = {
		.size = sizeof(arg), .comm_id = self->r[0].comm, .steps = (uintptr_t)&step,
	};

	EXPECT_EQ(-EINVAL, call(self->r[0].fd, HCOMM_PROG_LOAD, &arg));
	EXPECT_EQ((uint32_t)HCOMM_PE_EMPTY, arg.err_reason);
	arg.nsteps = HCOMM_MAX_STEPS + 1;
	EXPECT_EQ(-EINVAL, call(self->r[0].fd, HCOMM_PROG_LOAD, &arg));
	arg.nsteps = 0xffffffff;
	EXPECT_EQ(-EINVAL, call(self->r[0].fd, HCOMM_PROG_LOAD, &arg));
	arg.nsteps = 1;
	arg.ndeps = 0xffffffff;
	EXPECT_EQ(-EINVAL, call(self->r[0].fd, HCOMM_PROG_LOAD, &arg));
	EXPECT_EQ((uint32_t)HCOMM_PE_DEPS, arg.err_reason);
	arg.ndeps = 0;
	arg.nslots = HCOMM_MAX_SLOTS + 1;
	EXPECT_EQ(-EINVAL, call(self->r[0].fd, HCOMM_PROG_LOAD, &arg));
	EXPECT_EQ((uint32_t)HCOMM_PE_NSLOTS, arg.err_reason);
	arg.nslots = 0;
	arg.max_runs = HCOMM_MAX_PROG_RUNS + 1;
	EXPECT_EQ(-EINVAL, call(self->r[0].fd, HCOMM_PROG_LOAD, &arg));
	arg.max_runs = 1;
	arg.steps = 4096;
	EXPECT_EQ(-EFAULT, call(self->r[0].fd, HCOMM_PROG_LOAD, &arg));
	arg.steps = (uintptr_t)&step;
	EXPECT_EQ(0, call(self->r[0].fd, HCOMM_PROG_LOAD, &arg));
	/* A communicator that programs were made for stays. */
	EXPECT_EQ(-EBUSY, destroy(self->r[0].fd, self->r[0].comm));
	EXPECT_EQ(0, destroy(self->r[0].fd, arg.out_prog_id));
	EXPECT_EQ(0, destroy(self->r[0].fd, self->r[0].comm));
}

TEST_HARNESS_MAIN
