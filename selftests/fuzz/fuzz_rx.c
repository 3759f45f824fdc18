// SPDX-License-Identifier: GPL-2.0-only
/*
 * Hostile peers: an engine that runs a program gets messages and notifications
 * that are right, almost right or nonsense, in any order, over a transport that
 * now and then has no room or fails.  The communicator may die of it; nothing
 * else may.
 */
#include "peer.h"

enum op {
	OP_GOOD,	/* the good peer does its next step */
	OP_MSG,		/* a message made of the input */
	OP_ECHO,	/* one that the engine sent comes back, a little different */
	OP_NOTIFY,	/* any immediate value */
	OP_WRITE_GRANT,	/* a granted chunk is written and notified, out of turn */
	OP_WRITE_DONE,	/* completion of a write, out of turn */
	OP_NO_ROOM,
	OP_ROOM,
	OP_FAIL,	/* the transport fails from now on */
	OP_DOWN,
	OP_TICK,
	OP_RUN,
	OP_BYE,
	OPS,
};

static void random_msg(struct fuzz_host *h, struct fuzz_link *l, struct fuzz_in *in)
{
	struct hcomm_msg m = {};
	u8 c;

	m.type = in_u8(in) % (HCOMM_MSG_TYPES + 1);
	c = in_u8(in);
	m.run = c & 1 ? in_u8(in) : h->key;
	m.call = h->call;
	if (c & 2)
		m.call.count = in_u8(in);
	m.msg = in_u8(in);
	m.chunk = in_u8(in);
	m.len = in_u16(in);
	if (c & 4)
		m.credits = in_u8(in);
	if (c & 8)
		m.flags = in_u8(in);
	if (c & 16) {
		m.msg = in_u32(in);
		m.chunk = in_u32(in);
	}
	m.addr = in_u8(in);
	m.imm = in_u8(in);
	if (m.type == HCOMM_MSG_ABORT) {
		m.fault.error = (s32)in_u32(in);
		m.fault.reason = in_u8(in);
		m.fault.rank = in_u8(in);
		m.fault.reporter = in_u8(in);
	}
	/* Transports let no longer EAGER through, and RTS only within a kernel. */
	if (m.type == HCOMM_MSG_EAGER && m.len > HCOMM_MAX_EAGER_SIZE)
		m.len = HCOMM_MAX_EAGER_SIZE;
	if (m.type == HCOMM_MSG_RTS && !l->el.direct)
		m.type = HCOMM_MSG_GRANT;
	host_rx(h, l, &m, NULL);
}

static struct fuzz_out *pick(struct fuzz_link *l, struct fuzz_in *in)
{
	u8 i = in_u8(in);

	return l->nout ? &l->out[i % l->nout] : NULL;
}

static void forget(struct fuzz_link *l, struct fuzz_out *o)
{
	memmove(o, o + 1, (size_t)(l->out + l->nout - o - 1) * sizeof(*o));
	l->nout--;
}

static void one_op(struct fuzz_host *h, struct fuzz_in *in)
{
	u32 peer = in_u8(in) % h->eng.par.nranks;
	u32 op = in_u8(in) % OPS;
	struct fuzz_link *l = &h->links[peer];
	static const u8 junk[4096];
	struct fuzz_out *o;
	struct hcomm_msg m;

	if (peer == h->eng.par.rank || !l->el.up) {
		hcomm_engine_run(&h->eng, 1);
		return;
	}
	switch (op) {
	case OP_GOOD:
		host_good_step(h, l);
		break;
	case OP_MSG:
		random_msg(h, l, in);
		break;
	case OP_ECHO:
		o = pick(l, in);
		if (!o || o->kind != OUT_MSG)
			break;
		m = o->msg;
		m.type = in_u8(in) % HCOMM_MSG_TYPES;
		if (m.type == HCOMM_MSG_RTS && !l->el.direct)
			break;
		m.len = min_t(u32, m.len, 65536);
		m.credits = 0;
		if (m.type == HCOMM_MSG_ABORT)
			memset(&m.fault, 0, sizeof(m.fault));
		host_rx(h, l, &m, NULL);
		break;
	case OP_NOTIFY:
		hcomm_engine_notify(&l->el, in_u32(in));
		break;
	case OP_WRITE_GRANT:
		o = pick(l, in);
		if (!o || o->kind != OUT_MSG || o->msg.type != HCOMM_MSG_GRANT ||
		    h->eng.fault.error || h->dones)
			break;
		/* Hardware lets it through for as long as the grant is valid. */
		hcomm_mem_write(o->granted, junk, o->msg.len);
		hcomm_engine_notify(&l->el, o->msg.imm);
		forget(l, o);
		break;
	case OP_WRITE_DONE:
		o = pick(l, in);
		if (!o || o->kind != OUT_WRITE)
			break;
		hcomm_engine_write_done(&l->el, o->cookie);
		forget(l, o);
		break;
	case OP_NO_ROOM:
		l->fail = -EAGAIN;
		break;
	case OP_ROOM:
		l->fail = 0;
		l->again = false;
		hcomm_engine_tx_space(&l->el);
		break;
	case OP_FAIL:
		l->fail = -EIO;
		break;
	case OP_DOWN:
		hcomm_engine_link_down(&l->el, HCOMM_FAULT_LINK, ECONNRESET);
		break;
	case OP_TICK:
		hcomm_engine_tick(&h->eng);
		break;
	case OP_RUN:
		hcomm_engine_run(&h->eng, 1 + in_u8(in));
		break;
	case OP_BYE:
		if (!h->eng.nruns)
			hcomm_engine_bye(&h->eng);
		break;
	}
	if (!(in_u8(in) & 1))
		host_run(h);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_in in = { data, size };
	struct hcomm_prog_reject why;
	struct hcomm_prog *prog;
	struct fuzz_prog fp;
	struct fuzz_host h;
	u32 direct = in_u8(&in), tuning = in_u8(&in), i;

	fuzz_read_prog(&in, &fp);
	if (hcomm_prog_create(&prog, &fp.par, fp.steps, fp.nsteps, fp.deps, fp.ndeps,
			      fp.nslots, &why))
		return 0;
	if (!host_init(&h, &fp, prog, direct, tuning))
		return 0;
	/* What comes before the launch is as good as what comes after. */
	for (i = in_u8(&in) & 7; i && in.left; i--)
		one_op(&h, &in);
	if (!h.eng.fault.error)
		host_launch(&h);
	while (in.left)
		one_op(&h, &in);
	host_exit(&h);
	return 0;
}

size_t fuzz_make(struct sim_rng *rng, u8 *buf, size_t max)
{
	u32 nranks = rng_range(rng, 2, 4), n = rng_range(rng, 0, 200);
	u32 nasty = rng_below(rng, 8);
	size_t used = 2;

	buf[0] = (u8)rng_next(rng);
	buf[1] = (u8)rng_next(rng);
	fuzz_write_prog(rng, buf, max, &used, nranks);
	if (used < max)
		buf[used++] = (u8)rng_next(rng);
	while (n-- && used + 16 < max) {
		u32 k = 13;

		buf[used++] = (u8)rng_below(rng, nranks);
		if (rng_below(rng, 8) >= nasty) {
			buf[used++] = OP_GOOD;
			buf[used++] = 0;
			continue;
		}
		buf[used++] = (u8)rng_below(rng, OPS);
		while (k--)
			buf[used++] = rng_below(rng, 4) ? (u8)rng_below(rng, 4) :
							   (u8)rng_next(rng);
	}
	return used;
}
