// SPDX-License-Identifier: GPL-2.0-only
/* A rank: its communicator, memory, links, programs and runs. */
#include "multi.h"

void options(struct hcomm_comm_create *opt)
{
	create_init(opt, me, nodes);
	/* All on one node: they would not use RDMA by themselves. */
	opt->transports = addrs[0].s_addr == addrs[1].s_addr ? HCOMM_TRANSPORT_RDMA :
							       HCOMM_TRANSPORT_ALL;
	opt->connect_timeout_ms = 20000;
	opt->listen.family = AF_INET;
	memcpy(opt->listen.addr, &addrs[me], 4);
}

void node_open(struct node *x, uint32_t n, const struct hcomm_comm_create *opt)
{
	struct hcomm_info info = { .size = sizeof(info) };
	struct hcomm_peer peers[MAX_NODES] = {};
	uint8_t uuids[MAX_NODES][16];
	struct hcomm_comm_peers arg = {
		.size = sizeof(arg), .peers = (uintptr_t)peers, .count = n,
	};

	memset(x, 0, sizeof(*x));
	x->n = n;
	if (opt)
		x->r.create = *opt;
	else
		options(&x->r.create);
	x->r.create.nranks = n;
	getrandom(uuids[me], sizeof(uuids[me]), 0);
	boot_gather(&boot, uuids, sizeof(uuids[0]), n);
	memcpy(x->r.create.uuid, uuids[0], 16);
	x->r.fd = dev_open();
	NEED(x->r.fd >= 0, "%m");
	NEED0(ring_setup(x->r.fd, 64, -1, &x->r.ring, &x->r.ring_size));
	NEED0(call(x->r.fd, HCOMM_COMM_CREATE, &x->r.create));
	x->r.comm = x->r.create.out_comm_id;
	NEED0(call(x->r.fd, HCOMM_INFO, &info));
	memcpy(peers[me].node_id, info.node_id, sizeof(info.node_id));
	peers[me].addr = x->r.create.listen;
	boot_gather(&boot, peers, sizeof(peers[0]), n);
	arg.comm_id = x->r.comm;
	NEED0(call(x->r.fd, HCOMM_COMM_PEERS, &arg));
}

void node_memory(struct node *x, size_t len)
{
	x->len = len;
	x->buf = pages(len);
	NEED(x->buf, "%m");
	NEED0(mem_reg(x->r.fd, x->buf, len, 0, &x->mem));
}

void node_close(struct node *x)
{
	rank_close(&x->r);
	if (x->buf)
		munmap(x->buf, x->len);
	x->buf = NULL;
}

int link_open(struct node *x, uint32_t peer, struct hcomm_link_open *arg)
{
	*arg = (struct hcomm_link_open){
		.size = sizeof(*arg), .comm_id = x->r.comm, .peer = peer, .timeout_ms = 20000,
	};
	return call(x->r.fd, HCOMM_LINK_OPEN, arg);
}

uint32_t load(struct node *x, const struct hcomm_step *steps, uint32_t n,
	      const uint32_t *deps, uint32_t ndeps)
{
	uint32_t id = 0;

	NEED0(prog_load(x->r.fd, x->r.comm, steps, n, deps, ndeps, 1, &id));
	return id;
}

int go(struct node *x, uint32_t prog, uint64_t run, uint32_t timeout_ms)
{
	struct hcomm_slot slot = { .mem_id = x->mem, .length = x->len };
	struct hcomm_launch arg = {
		.size = sizeof(arg), .prog_id = prog, .slots = (uintptr_t)&slot, .nslots = 1,
		.run = run, .user_data = run, .timeout_ms = timeout_ms,
		.call = { .coll = HCOMM_COLL_P2P },
	};

	return call(x->r.fd, HCOMM_LAUNCH, &arg);
}

int done(struct node *x, double seconds, struct hcomm_cqe *cqe)
{
	struct hcomm_cqe none;
	int ret = ring_wait(x->r.fd, 1, (int64_t)(seconds * SEC));

	if (ret)
		return ret == -ETIMEDOUT ? -EDEADLK : ret;
	cqe = cqe ?: &none;
	return ring_next(x->r.ring, cqe) ? cqe->status : -EDEADLK;
}

struct hcomm_fault fault_of(struct node *x)
{
	struct hcomm_fault f = {};

	EQ(0, query_fault(x->r.fd, x->r.comm, &f));
	return f;
}

void expect_fault(struct node *x, int error, uint32_t reason, uint32_t rank)
{
	struct hcomm_fault f = fault_of(x);

	if (f.error != error || f.reason != reason || f.rank != rank)
		check_failed(__FILE__, __LINE__, "fault",
			     "%d (%s), reason %u, rank %u; not %d (%s), %u, %u",
			     f.error, strerror(f.error), f.reason, f.rank, error,
			     strerror(error), reason, rank);
}

uint8_t pattern(uint32_t rank, uint64_t i, uint32_t salt)
{
	return (i * 2654435761u + rank * 97 + salt * 31) >> 5;
}

void ring_pass(struct node *x, uint64_t len, bool reduce, uint32_t shift, uint32_t salt)
{
	uint32_t next = (me + 1) % x->n, last = (me + x->n - 1) % x->n;
	uint64_t half = x->len / 2 + shift;
	struct hcomm_step steps[] = {
		{ .op = HCOMM_STEP_SEND, .peer = next, .src_off = shift, .len = len },
		{ .op = reduce ? HCOMM_STEP_RECV_REDUCE : HCOMM_STEP_RECV, .peer = last,
		  .dtype = reduce ? HCOMM_DT_UINT8 : 0, .src_off = reduce ? half : 0,
		  .dst_off = half, .len = len },
	};
	uint32_t prog;
	uint64_t i;
	int ret;

	for (i = 0; i < len; i++)
		x->buf[shift + i] = pattern(me, i, salt);
	memset(x->buf + x->len / 2, 0x33, x->len / 2);
	prog = load(x, steps, 2, NULL, 0);
	NEED0(go(x, prog, salt, 60000));
	ret = done(x, 70, NULL);
	NEED(!ret, "%llu bytes: %s", (unsigned long long)len, strerror(-ret));
	for (i = x->len / 2; i < x->len; i++) {
		uint64_t at = i - half;
		uint8_t want = 0x33;

		if (i >= half && at < len)
			want = pattern(last, at, salt) + (reduce ? 0x33 : 0);
		if (x->buf[i] != want)
			break;
	}
	NEED(i == x->len, "%llu bytes, shift %u: wrong at %lld", (unsigned long long)len,
	     shift, (long long)(i - half));
	EQ(0, destroy(x->r.fd, prog));
}
