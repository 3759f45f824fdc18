// SPDX-License-Identifier: GPL-2.0-only
/* Data of all sizes between the nodes: right, and all of it. */
#include "multi.h"

static void exchange_sizes(struct node *x, const uint32_t *lens, size_t n)
{
	static uint32_t salt;

	for (size_t k = 0; k < n; k++) {
		ring_pass(x, lens[k], false, 0, ++salt);
		ring_pass(x, lens[k], true, 3, ++salt);
	}
}

void exchange(void)
{
	static const uint32_t lens[] = {
		0, 1, 63, 64, 65, 4095, 4096, 4097, 16384, 65536, 262143, 262144, 262145,
		1048576, 3000001,
	};
	struct hcomm_link_open arg;
	struct node x;

	node_open(&x, nodes, NULL);
	node_memory(&x, 8 << 20);
	exchange_sizes(&x, lens, ARRAY_LEN(lens));
	NEED0(link_open(&x, (me + 1) % nodes, &arg));
	EQ(HCOMM_LINK_READY, arg.out_state);
	EQ(HCOMM_TRANSPORT_RDMA, arg.out_transport);
	CHECK(arg.out_rtt_ns > 0, " ");
	meet(nodes);
	node_close(&x);
}

void small_chunks(void)
{
	static const uint32_t lens[] = { 64, 65, 4096, 8192, 8193, 40960, 40961, 200000 };
	struct hcomm_comm_create opt;
	struct node x;

	options(&opt);
	opt.chunk_size = 4096;
	opt.eager_size = 64;
	opt.eager_slots = 2;
	opt.window = 2;
	opt.max_runs = 2;
	opt.staging_slots = 2;
	node_open(&x, nodes, &opt);
	node_memory(&x, 1 << 20);
	exchange_sizes(&x, lens, ARRAY_LEN(lens));
	meet(nodes);
	node_close(&x);
}

/* Eight runs in flight, launched in another order on each rank. */
void many_runs(void)
{
	enum { RUNS = 8, LEN = 100000 };
	uint32_t next = (me + 1) % nodes, last = (me + nodes - 1) % nodes;
	uint32_t prog[RUNS];
	struct node x;

	node_open(&x, nodes, NULL);
	node_memory(&x, 2 * RUNS * LEN);
	for (uint32_t k = 0; k < RUNS; k++) {
		struct hcomm_step steps[] = {
			{ .op = HCOMM_STEP_SEND, .peer = next, .src_off = k * LEN, .len = LEN },
			{ .op = HCOMM_STEP_RECV, .peer = last, .dst_off = (RUNS + k) * LEN,
			  .len = LEN },
		};

		prog[k] = load(&x, steps, 2, NULL, 0);
		for (uint32_t i = 0; i < LEN; i++)
			x.buf[k * LEN + i] = pattern(me, i, k);
	}
	for (uint32_t k = 0; k < RUNS; k++) {
		uint32_t run = (k * 3 + me) % RUNS;

		NEED0(go(&x, prog[run], run, 60000));
	}
	for (uint32_t k = 0; k < RUNS; k++) {
		int ret = done(&x, 70, NULL);

		NEED(!ret, "%s", strerror(-ret));
	}
	for (uint32_t i = 0; i < RUNS * LEN; i++)
		NEED(x.buf[RUNS * LEN + i] == pattern(last, i % LEN, i / LEN), "at %u", i);
	meet(nodes);
	node_close(&x);
}

/* 100 in sequence, with a message in each tenth. */
void sequence(void)
{
	for (uint32_t k = 0; k < 100; k++) {
		struct node x;

		node_open(&x, nodes, NULL);
		if (k % 10 == 0) {
			node_memory(&x, 65536);
			ring_pass(&x, 5000, false, 0, k);
			meet(nodes);
		}
		node_close(&x);
	}
}

/* Two ranks of one node with RDMA alone between them. */
void loopback(void)
{
	enum { LEN = 700001 };
	struct hcomm_comm_create opt;
	struct rank r[2] = {};
	uint32_t prog[2], mem[2];
	uint8_t *buf[2];

	options(&opt);
	opt.transports = HCOMM_TRANSPORT_RDMA;
	NEED0(ranks_open(r, 2, &opt));
	for (int i = 0; i < 2; i++) {
		struct hcomm_step steps[] = {
			{ .op = HCOMM_STEP_SEND, .peer = !i, .len = LEN },
			{ .op = HCOMM_STEP_RECV, .peer = !i, .dst_off = LEN, .len = LEN },
		};
		struct hcomm_slot slot = { .length = 2 * LEN };

		buf[i] = pages(2 * LEN);
		NEED(buf[i], "%m");
		for (uint32_t k = 0; k < LEN; k++)
			buf[i][k] = pattern(i, k, 9);
		NEED0(mem_reg(r[i].fd, buf[i], 2 * LEN, 0, &mem[i]));
		NEED0(prog_load(r[i].fd, r[i].comm, steps, 2, NULL, 0, 1, &prog[i]));
		slot.mem_id = mem[i];
		NEED0(launch(r[i].fd, prog[i], &slot, 1, 1, 0, 0));
	}
	for (int i = 0; i < 2; i++) {
		struct hcomm_link_open arg = {
			.size = sizeof(arg), .comm_id = r[i].comm, .peer = !i,
		};
		struct hcomm_cqe cqe = { .status = -EDEADLK };
		uint32_t k;

		NEED0(ring_wait(r[i].fd, 1, 40 * SEC));
		ring_next(r[i].ring, &cqe);
		EQ(0, cqe.status);
		for (k = 0; k < LEN && buf[i][LEN + k] == pattern(!i, k, 9); k++)
			;
		EQ(LEN, k);
		EQ(0, call(r[i].fd, HCOMM_LINK_OPEN, &arg));
		EQ(HCOMM_TRANSPORT_RDMA, arg.out_transport);
	}
	rank_close(&r[0]);
	rank_close(&r[1]);
}
