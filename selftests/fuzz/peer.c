// SPDX-License-Identifier: GPL-2.0-only
/* The transport and the good peer of the fuzz targets. */
#include "peer.h"
#include "reduce.h"

/* What came with hcomm_engine_rx(). */
struct rx {
	struct fuzz_link *link;
	struct hcomm_msg msg;
	struct hcomm_mem src;
	struct hcomm_span span;
	u8 *bytes;
};

static struct fuzz_link *to_link(struct hcomm_elink *l)
{
	return container_of(l, struct fuzz_link, el);
}

static void rx_free(struct rx *rx)
{
	free(rx->bytes);
	free(rx);
}

u8 fuzz_sink;

/* Read every byte, as a transport would: sanitizers see what is not there. */
static void touch(struct hcomm_buf buf, u64 len)
{
	u64 i;

	FUZZ_CHECK(buf.off + len >= len && buf.off + len <= buf.mem->length);
	for (i = 0; i < len; i++) {
		u64 contig;

		fuzz_sink ^= *hcomm_mem_ptr(buf.mem, buf.off + i, &contig);
	}
}

static struct fuzz_out *out_add(struct fuzz_link *l, int *err)
{
	struct fuzz_out *o;

	FUZZ_CHECK(l->el.up && !l->again);
	*err = l->fail;
	if (l->fail == -EAGAIN)
		l->again = true;
	if (l->fail)
		return NULL;
	/* A queue that is full is no fault of the engine. */
	if (l->nout == MAX_OUT) {
		l->again = true;
		*err = -EAGAIN;
		return NULL;
	}
	o = &l->out[l->nout++];
	memset(o, 0, sizeof(*o));
	return o;
}

static int fuzz_send(struct hcomm_elink *el, const struct hcomm_msg *msg,
		     struct hcomm_buf payload)
{
	struct fuzz_link *l = to_link(el);
	u8 wire[HCOMM_WIRE_HDR_SIZE + HCOMM_WIRE_FAULT_SIZE];
	struct fuzz_out *o;
	int err;

	if (!el->direct)
		hcomm_wire_encode(msg, wire);
	o = out_add(l, &err);
	if (!o)
		return err;
	if (msg->type == HCOMM_MSG_EAGER && msg->len)
		touch(payload, msg->len);
	if (msg->type == HCOMM_MSG_RTS && msg->len)
		touch(msg->src, msg->len);
	o->kind = OUT_MSG;
	o->msg = *msg;
	o->granted = l->exposed;
	l->credits += msg->credits;
	return 0;
}

static int fuzz_write(struct hcomm_elink *el, struct hcomm_buf src, u32 len, u64 addr,
		      u32 rkey, u32 imm, u32 cookie)
{
	struct fuzz_link *l = to_link(el);
	struct fuzz_out *o;
	int err;

	o = out_add(l, &err);
	if (!o)
		return err;
	touch(src, len);
	o->kind = OUT_WRITE;
	o->len = len;
	o->addr = addr;
	o->rkey = rkey;
	o->imm = imm;
	o->cookie = cookie;
	return 0;
}

static int fuzz_expose(struct hcomm_elink *el, struct hcomm_buf dst, u32 len, u64 *addr,
		       u32 *rkey)
{
	FUZZ_CHECK(len <= el->engine->par.chunk_size);
	FUZZ_CHECK(dst.off + len <= dst.mem->length);
	to_link(el)->exposed = dst;
	*addr = dst.off;
	*rkey = 7;
	return 0;
}

static void fuzz_release(struct hcomm_elink *el, void *p)
{
	struct rx *rx = p;

	FUZZ_CHECK(rx->link == to_link(el));
	rx->link->host->held--;
	rx->link = NULL;
	rx_free(rx);
}

static const struct hcomm_link_ops net_ops = {
	.send = fuzz_send, .write = fuzz_write, .expose = fuzz_expose, .release = fuzz_release,
};

static const struct hcomm_link_ops direct_ops = {
	.send = fuzz_send, .release = fuzz_release,
};

static struct fuzz_host *to_host(struct hcomm_engine *e)
{
	return container_of(e, struct fuzz_host, eng);
}

static void fuzz_run_done(struct hcomm_engine *e, struct hcomm_run *run, int status)
{
	struct fuzz_host *h = to_host(e);

	FUZZ_CHECK(run == h->run && !run->active && !h->dones);
	FUZZ_CHECK(!status || status == -e->fault.error);
	h->dones++;
	h->status = status;
}

static void fuzz_fault(struct hcomm_engine *e)
{
	FUZZ_CHECK(!to_host(e)->faults++);
	FUZZ_CHECK(e->fault.error > 0 && e->fault.reason && e->fault.reason < HCOMM_FAULT_COUNT);
	FUZZ_CHECK(e->fault.rank < e->par.nranks && e->fault.reporter < e->par.nranks);
}

static const struct hcomm_engine_ops engine_ops = {
	.run_done = fuzz_run_done, .fault = fuzz_fault,
};

static bool overlap(u64 a, u64 b, u64 len)
{
	return a != b && a < b + len && b < a + len;
}

/* Is it small, and does no step copy between overlapping ranges? */
static bool may_launch(const struct hcomm_prog *prog)
{
	u64 total = 0, chunks = 0;
	u32 i;

	for (i = 0; i < prog->nslots; i++) {
		if (prog->slots[i].extent > 1 << 20)
			return false;
		total += prog->slots[i].extent;
	}
	for (i = 0; i < prog->nsteps; i++) {
		const struct hcomm_step *s = &prog->steps[i];

		chunks += prog->aux[i].nchunks;
		if (s->len && s->src_slot == s->dst_slot &&
		    (s->op == HCOMM_STEP_COPY || s->op == HCOMM_STEP_REDUCE ||
		     s->op == HCOMM_STEP_RECV_REDUCE || s->op == HCOMM_STEP_SCALE) &&
		    (overlap(s->src_off, s->dst_off, s->len)))
			return false;
	}
	return total <= 1 << 20 && chunks <= 4096;
}

static void mem_init(struct hcomm_mem *mem, struct hcomm_span *span, u64 len)
{
	span->off = 0;
	span->va = calloc(1, len ? len : 1);
	FUZZ_CHECK(span->va);
	mem->length = len;
	mem->nspans = 1;
	mem->spans = span;
}

bool host_init(struct fuzz_host *h, const struct fuzz_prog *fp, struct hcomm_prog *prog,
	       u32 direct_mask, u32 tuning)
{
	struct hcomm_engine_params par = {
		.rank = fp->par.rank, .nranks = fp->par.nranks,
		.chunk_size = fp->par.chunk_size, .eager_size = fp->par.eager_size,
		.eager_slots = 1 + (tuning & 3), .window = 1 + ((tuning >> 2) & 3),
		.max_runs = 1 + ((tuning >> 4) & 3), .staging_slots = 4,
	};
	struct sim_rng rng = { 5 };
	u32 i;

	memset(h, 0, sizeof(*h));
	if (!may_launch(prog)) {
		hcomm_prog_free(prog);
		return false;
	}
	hcomm_reduce_init(HCOMM_REDUCE_ANY);
	h->prog = prog;
	h->key = 0x1234;
	h->call.coll = HCOMM_COLL_GROUP;
	mem_init(&h->staging, &h->staging_span, (u64)par.staging_slots * par.chunk_size);
	FUZZ_CHECK(!hcomm_engine_init(&h->eng, &par, &engine_ops, &h->staging));
	h->links = calloc(par.nranks, sizeof(*h->links));
	h->run = hcomm_run_create(prog);
	FUZZ_CHECK(h->links && h->run);
	for (i = 0; i < par.nranks; i++) {
		bool direct = direct_mask >> i & 1;

		if (i == par.rank)
			continue;
		h->links[i].host = h;
		h->links[i].credits = par.eager_slots;
		FUZZ_CHECK(!hcomm_elink_init(&h->links[i].el, &h->eng, i,
					     direct ? &direct_ops : &net_ops, direct));
		hcomm_engine_link_up(&h->links[i].el);
	}
	for (i = 0; i < prog->npeers; i++)
		h->run_links[i] = &h->links[prog->peers[i].peer].el;
	for (i = 0; i < prog->nslots; i++) {
		u64 len = prog->slots[i].extent;

		mem_init(&h->mem[i], &h->span[i], len);
		rng_fill(&rng, h->span[i].va, len);
		h->before[i] = malloc(len + 1);
		FUZZ_CHECK(h->before[i]);
		memcpy(h->before[i], h->span[i].va, len);
		h->slots[i].mem = &h->mem[i];
	}
	return true;
}

void host_launch(struct fuzz_host *h)
{
	FUZZ_CHECK(!hcomm_engine_launch(&h->eng, h->run, h->run_links, h->slots, h->key,
					&h->call));
	/* From here on nothing may be allocated. */
	hcomm_user_alloc_budget = 0;
}

void host_run(struct fuzz_host *h)
{
	u32 i;

	/* Each round does something; a program of 4096 chunks ends long before. */
	for (i = 0; hcomm_engine_run(&h->eng, 64); i++)
		FUZZ_CHECK(i < 4096);
}

void host_rx(struct fuzz_host *h, struct fuzz_link *l, struct hcomm_msg *msg,
	     const u8 *payload)
{
	struct rx *rx = calloc(1, sizeof(*rx));
	bool bytes = msg->type == HCOMM_MSG_EAGER || msg->type == HCOMM_MSG_RTS;

	FUZZ_CHECK(rx);
	rx->link = l;
	rx->bytes = malloc(bytes && msg->len ? msg->len : 1);
	FUZZ_CHECK(rx->bytes);
	if (bytes && msg->len) {
		if (payload)
			memcpy(rx->bytes, payload, msg->len);
		else
			memset(rx->bytes, 0x5a, msg->len);
	}
	rx->msg = *msg;
	if (msg->type == HCOMM_MSG_RTS) {
		rx->span.va = rx->bytes;
		rx->src.length = msg->len;
		rx->src.nspans = 1;
		rx->src.spans = &rx->span;
		rx->msg.src = (struct hcomm_buf){ .mem = &rx->src };
	}
	h->held++;
	hcomm_engine_rx(&l->el, &rx->msg, rx->bytes, rx);
}

static u32 chunk_len(const struct fuzz_host *h, u32 s, u32 chunk)
{
	const struct hcomm_step *step = &h->prog->steps[s];

	if (chunk + 1 < h->prog->aux[s].nchunks)
		return h->eng.par.chunk_size;
	return (u32)(step->len - (u64)chunk * h->eng.par.chunk_size);
}

static struct hcomm_msg reply(const struct fuzz_host *h, u8 type, u32 msg, u32 chunk, u32 len)
{
	return (struct hcomm_msg){
		.type = type, .run = h->key, .call = h->call, .msg = msg, .chunk = chunk,
		.len = len,
	};
}

static void write_granted(struct fuzz_link *l, const struct fuzz_out *o)
{
	static const u8 junk[4096] = { 1, 2, 3 };

	FUZZ_CHECK(o->msg.len <= sizeof(junk));
	hcomm_mem_write(o->granted, junk, o->msg.len);
	hcomm_engine_notify(&l->el, o->msg.imm);
}

static void answer(struct fuzz_host *h, struct fuzz_link *l, const struct fuzz_out *o)
{
	struct hcomm_msg m = {};

	if (o->kind == OUT_WRITE) {
		l->grants_out--;
		hcomm_engine_write_done(&l->el, o->cookie);
		return;
	}
	switch (o->msg.type) {
	case HCOMM_MSG_EAGER:
		if (o->msg.flags & HCOMM_MSG_F_CTS)
			return;
		m.type = HCOMM_MSG_CREDIT;
		m.credits = 1;
		break;
	case HCOMM_MSG_REQ:
		m = reply(h, HCOMM_MSG_CTS, o->msg.msg, 0, 0);
		break;
	case HCOMM_MSG_RTS:
		m = reply(h, HCOMM_MSG_FIN, o->msg.msg, o->msg.chunk, 0);
		break;
	case HCOMM_MSG_CTS:
		m = reply(h, HCOMM_MSG_EAGER, o->msg.msg, 0,
			  chunk_len(h, h->prog->recvs[h->prog->peers[hcomm_prog_find_peer(
				h->prog, l->el.peer)].recv_first + o->msg.msg], 0));
		m.flags = HCOMM_MSG_F_CTS;
		l->req_out = false;
		break;
	case HCOMM_MSG_GRANT:
		write_granted(l, o);
		return;
	case HCOMM_MSG_FIN:
		l->rts_out--;
		return;
	case HCOMM_MSG_TELL:
		m.type = HCOMM_MSG_TOLD;
		break;
	default:
		return;
	}
	host_rx(h, l, &m, NULL);
}

/* The next message that the program receives from this peer. */
static bool good_send(struct fuzz_host *h, struct fuzz_link *l, const struct hcomm_prog_peer *p)
{
	struct hcomm_msg m;
	u32 s;

	if (l->recv_next >= p->recv_count)
		return false;
	s = h->prog->recvs[p->recv_first + l->recv_next];
	if (h->prog->steps[s].len <= h->eng.par.eager_size) {
		if (l->req_out)
			return false;
		m = reply(h, l->credits ? HCOMM_MSG_EAGER : HCOMM_MSG_REQ, l->recv_next, 0,
			  chunk_len(h, s, 0));
		if (l->credits)
			l->credits--;
		else
			l->req_out = true;
		l->recv_next++;
		host_rx(h, l, &m, NULL);
		return true;
	}
	if (!l->el.direct) {
		l->recv_next++;		/* comes by grants */
		return true;
	}
	if (l->rts_out >= h->eng.par.window)
		return false;
	m = reply(h, HCOMM_MSG_RTS, l->recv_next, l->recv_chunk, chunk_len(h, s, l->recv_chunk));
	l->rts_out++;
	if (++l->recv_chunk == h->prog->aux[s].nchunks) {
		l->recv_chunk = 0;
		l->recv_next++;
	}
	host_rx(h, l, &m, NULL);
	return true;
}

/* Room for the next chunk that the program sends to this peer. */
static bool good_grant(struct fuzz_host *h, struct fuzz_link *l, const struct hcomm_prog_peer *p)
{
	struct hcomm_msg m;
	u32 s;

	if (l->el.direct || l->send_next >= p->send_count)
		return false;
	s = h->prog->sends[p->send_first + l->send_next];
	if (h->prog->steps[s].len <= h->eng.par.eager_size) {
		l->send_next++;
		return true;
	}
	if (l->grants_out >= h->eng.par.window)
		return false;
	m = reply(h, HCOMM_MSG_GRANT, l->send_next, l->send_chunk,
		  chunk_len(h, s, l->send_chunk));
	l->grants_out++;
	if (++l->send_chunk == h->prog->aux[s].nchunks) {
		l->send_chunk = 0;
		l->send_next++;
	}
	host_rx(h, l, &m, NULL);
	return true;
}

bool host_good_step(struct fuzz_host *h, struct fuzz_link *l)
{
	u32 p = hcomm_prog_find_peer(h->prog, l->el.peer);
	struct fuzz_out o;

	if (l->nout) {
		o = l->out[0];
		memmove(l->out, l->out + 1, --l->nout * sizeof(o));
		answer(h, l, &o);
		return true;
	}
	if (l->again) {
		l->again = false;
		l->fail = 0;
		hcomm_engine_tx_space(&l->el);
		return true;
	}
	if (p == U32_MAX || !l->el.up)
		return false;
	return good_send(h, l, &h->prog->peers[p]) || good_grant(h, l, &h->prog->peers[p]);
}

/* Bytes that no step writes are as they were. */
static void check_untouched(struct fuzz_host *h)
{
	u32 i, k;

	for (i = 0; i < h->prog->nslots; i++) {
		u64 len = h->mem[i].length;

		for (k = 0; k < h->prog->nsteps; k++) {
			const struct hcomm_step *s = &h->prog->steps[k];

			if (s->dst_slot == i && s->op != HCOMM_STEP_NOP &&
			    s->op != HCOMM_STEP_SEND && s->len)
				memcpy(h->before[i] + s->dst_off, h->span[i].va + s->dst_off,
				       s->len);
		}
		FUZZ_CHECK(!memcmp(h->before[i], h->span[i].va, len));
	}
}

void host_exit(struct fuzz_host *h)
{
	struct hcomm_fault f = {
		.error = ECANCELED, .reason = HCOMM_FAULT_ABORTED,
		.rank = h->eng.par.rank, .reporter = h->eng.par.rank, .step = U32_MAX,
	};
	bool active = h->run->active;
	u32 i;

	hcomm_engine_fault(&h->eng, &f);
	FUZZ_CHECK(h->faults == 1);
	/* No more budget than one message for each link. */
	for (i = 0; i < h->eng.par.nranks; i++) {
		struct fuzz_link *l = &h->links[i];

		if (i == h->eng.par.rank)
			continue;
		l->fail = 0;
		l->nout = 0;
		if (l->again) {
			l->again = false;
			hcomm_engine_tx_space(&l->el);
		}
	}
	host_run(h);
	FUZZ_CHECK(hcomm_engine_aborts_sent(&h->eng));
	hcomm_engine_fail_runs(&h->eng);
	FUZZ_CHECK(!h->run->active && !h->eng.nruns);
	FUZZ_CHECK(!active || h->dones == 1);
	check_untouched(h);
	hcomm_user_alloc_budget = -1;
	for (i = 0; i < h->eng.par.nranks; i++)
		if (i != h->eng.par.rank)
			hcomm_elink_exit(&h->links[i].el);
	FUZZ_CHECK(!h->held);
	hcomm_engine_exit(&h->eng);
	hcomm_run_free(h->run);
	for (i = 0; i < h->prog->nslots; i++) {
		free(h->span[i].va);
		free(h->before[i]);
	}
	hcomm_prog_free(h->prog);
	free(h->staging_span.va);
	free(h->links);
}
