// SPDX-License-Identifier: GPL-2.0-only
/* Who does not belong here, or wants something else, is turned away and named. */
#include "multi.h"
#include "stranger.h"

void other_secret(void)
{
	struct hcomm_comm_create opt;
	struct hcomm_link_open arg;
	struct hcomm_fault f;
	double start;
	struct node x;
	int ret;

	if (me > 1)
		return;
	options(&opt);
	opt.secret[7] = me;
	opt.connect_timeout_ms = 5000;
	node_open(&x, 2, &opt);
	start = now();
	ret = link_open(&x, !me, &arg);
	CHECK(ret == -EACCES || ret == -ETIMEDOUT, "%s", strerror(-ret));
	CHECK(now() - start < 25, "%f s", now() - start);
	EQ(!me, arg.out_peer);
	f = fault_of(&x);
	CHECK(f.reason == HCOMM_FAULT_AUTH || f.reason == HCOMM_FAULT_CONNECT,
	      "reason %u, error %d", f.reason, f.error);
	EQ(!me, f.rank);
	meet(2);
	node_close(&x);
}

void other_options(void)
{
	struct hcomm_comm_create opt;
	struct hcomm_link_open arg;
	struct node x;

	if (me > 1)
		return;
	options(&opt);
	opt.chunk_size = 65536 << me;
	node_open(&x, 2, &opt);
	EQ(-EPROTO, link_open(&x, !me, &arg));
	expect_fault(&x, EPROTO, HCOMM_FAULT_OPTIONS, !me);
	meet(2);
	node_close(&x);
}

void other_call(void)
{
	struct hcomm_step steps[2] = {
		{ .op = HCOMM_STEP_SEND, .peer = !me, .len = 1000 },
		{ .op = HCOMM_STEP_RECV, .peer = !me, .dst_off = 4096, .len = 1000 },
	};
	struct hcomm_slot slot;
	struct hcomm_launch arg = {
		.size = sizeof(arg), .slots = (uintptr_t)&slot, .nslots = 1, .run = 5,
		.call = { .coll = HCOMM_COLL_ALLREDUCE, .count = 250 + me },
	};
	struct hcomm_fault f;
	struct node x;

	if (me > 1)
		return;
	node_open(&x, 2, NULL);
	node_memory(&x, 8192);
	slot = (struct hcomm_slot){ .mem_id = x.mem, .length = x.len };
	arg.prog_id = load(&x, steps, 2, NULL, 0);
	NEED0(call(x.r.fd, HCOMM_LAUNCH, &arg));
	EQ(-EBADE, done(&x, 30, NULL));
	f = fault_of(&x);
	EQ(HCOMM_FAULT_MISMATCH, f.reason);
	/* Seen from the reporter, whichever of the two it was. */
	EQ(1, f.rank + f.reporter);
	EQ(250 + f.reporter, f.mine.count);
	EQ(250 + f.rank, f.theirs.count);
	meet(2);
	node_close(&x);
}

/*
 * Strangers at the port where rank 0 listens, while ranks work: another private
 * data, none, a cut one.
 */
void strangers(void)
{
	struct sockaddr_in to = { .sin_family = AF_INET };
	struct hcomm_link_open arg;
	uint16_t ports[MAX_NODES] = {};
	struct node x;

	node_open(&x, nodes, NULL);
	node_memory(&x, 2 << 20);
	ports[me] = x.r.create.listen.port;
	boot_gather(&boot, ports, sizeof(ports[0]), nodes);
	/* The last rank knocks at rank 0 before and after there are links. */
	to.sin_addr = addrs[0];
	to.sin_port = ports[0];
	CHECK(ports[0], " ");
	if (me == nodes - 1)
		for (uint32_t k = 0; k < 6; k++)
			EQ(0, stranger_knock(&to, k));
	for (uint32_t k = 0; k < 4; k++) {
		ring_pass(&x, 500000, false, 0, k);
		if (me == nodes - 1)
			EQ(0, stranger_knock(&to, k));
	}
	NEED0(link_open(&x, HCOMM_ALL_LINKS, &arg));
	EQ(0, fault_of(&x).error);
	meet(nodes);
	node_close(&x);
}
