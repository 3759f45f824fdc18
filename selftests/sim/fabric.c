// SPDX-License-Identifier: GPL-2.0-only
/*
 * The fabric: what transports and wires do.  Messages between nodes go through
 * the wire format; NICs of both ends are busy for as long as the bytes take;
 * everything may overtake everything, except that the data of a write is in
 * place before its notification comes.  A write reads its source and lands at
 * one moment late in its life, so that reuse of either side too early shows.
 */
#include <stdio.h>
#include "fabric.h"

static struct sim_end *to_end(struct hcomm_elink *l)
{
	return container_of(l, struct sim_end, el);
}

static struct sim_mem *to_mem(struct hcomm_mem *mem)
{
	return container_of(mem, struct sim_mem, mem);
}

static u32 node_of(const struct sim *sim, u32 rank)
{
	return rank / sim->cfg.ranks_per_node;
}

bool fabric_is_direct(const struct sim *sim, u32 a, u32 b)
{
	return node_of(sim, a) == node_of(sim, b);
}

static u64 jitter(struct sim *sim)
{
	if (!rng_permille(&sim->rng, sim->cfg.reorder_permille))
		return 0;
	return rng_below(&sim->rng, sim->cfg.reorder + 1);
}

/* When do bytes that @from sends now arrive at the other end? */
static u64 transmit(struct sim_end *from, u64 bytes)
{
	struct sim_rank *r = from->rank;
	struct sim *sim = r->sim;
	u32 src = node_of(sim, r->rank), dst = node_of(sim, from->peer->rank->rank);
	u64 t = rank_now(r);

	if (src == dst)
		t += sim->cfg.local_latency;
	else
		t = net_transmit(&sim->net, src, dst, t, bytes);
	t += jitter(sim);
	if (t > from->peer->rx_last)
		from->peer->rx_last = t;
	return t;
}

static bool no_room(struct sim_end *end)
{
	struct sim *sim = end->rank->sim;
	struct sim_event *ev;

	if (end->blocked)
		sim_die(sim, "rank %u sends to %u while it should wait for room",
			end->rank->rank, end->el.peer);
	if (!rng_permille(&sim->rng, sim->cfg.eagain_permille) &&
	    (!sim->cfg.tx_depth || end->tx_busy < sim->cfg.tx_depth))
		return false;
	end->blocked = true;
	sim->stats.eagain++;
	ev = event_new(sim, EV_TX_SPACE, rank_now(end->rank) + 1 +
		       rng_below(&sim->rng, sim->cfg.net.latency + 1));
	ev->end = end;
	event_push(sim, ev);
	return true;
}

static void check_may_send(struct sim_end *end, const char *what)
{
	if (!end->up || end->down)
		sim_die(end->rank->sim, "rank %u: %s to rank %u on a link that is %s",
			end->rank->rank, what, end->el.peer,
			end->down ? "down" : "not up");
}

static void count_out(struct sim_end *to)
{
	struct sim *sim = to->rank->sim;

	to->rx_out++;
	if (to->rx_out > sim->stats.max_rx)
		sim->stats.max_rx = to->rx_out;
	if (to->rx_out > hcomm_link_max_rx(&sim->cfg.par))
		sim_die(sim, "rank %u sent more to rank %u than its queue holds (%u)",
			to->el.peer, to->rank->rank, to->rx_out);
}

static void note_grant(struct sim_end *end, const struct hcomm_msg *msg)
{
	struct sim *sim = end->rank->sim;
	struct sim_grant *g = NULL;
	u32 i;

	for (i = 0; i < end->ngrants; i++) {
		struct sim_grant *o = &end->grants[i];

		if (o->active && o->imm == msg->imm)
			sim_die(sim, "rank %u grants %#x to rank %u twice",
				end->rank->rank, msg->imm, end->el.peer);
		if (!o->active)
			g = o;
	}
	if (!g)
		sim_die(sim, "rank %u has more than %u grants to rank %u",
			end->rank->rank, end->ngrants, end->el.peer);
	if (msg->addr != end->exposed.addr || msg->rkey != end->exposed.rkey ||
	    msg->len > end->exposed.len)
		sim_die(sim, "rank %u grants to rank %u what it did not expose",
			end->rank->rank, end->el.peer);
	*g = end->exposed;
	g->run = msg->run;
	g->len = msg->len;
	g->imm = msg->imm;
	g->active = true;
}

static int sim_send(struct hcomm_elink *l, const struct hcomm_msg *msg,
		    struct hcomm_buf payload)
{
	struct sim_end *end = to_end(l);
	struct sim *sim = end->rank->sim;
	u32 bytes = msg->type == HCOMM_MSG_EAGER ? msg->len : 0;
	struct sim_packet *p;
	struct sim_event *ev;

	check_may_send(end, "message");
	if (no_room(end))
		return -EAGAIN;
	if (bytes > sim->cfg.par.eager_size)
		sim_die(sim, "rank %u sends %u bytes eagerly", end->rank->rank, bytes);
	if (sim->cfg.eager_copy)
		l->engine->ops->account(l->engine, HCOMM_WORK_COPY, bytes);
	p = malloc(sizeof(*p) + HCOMM_WIRE_HDR_SIZE + HCOMM_WIRE_FAULT_SIZE + bytes);
	if (!p)
		sim_die(sim, "out of memory");
	memset(p, 0, sizeof(*p));
	p->to = end->peer;
	if (l->direct) {
		p->msg = *msg;
		p->len = bytes;
		p->payload = bytes ? p->data : NULL;
		if (bytes)
			sim_mem_load(p->data, to_mem(payload.mem), payload.off, bytes);
		if (msg->type == HCOMM_MSG_RTS && msg->len) {
			p->ref = to_mem(msg->src.mem);
			p->ref->refs++;
			if (msg->src.off + msg->len > msg->src.mem->length)
				sim_die(sim, "rank %u offers memory that it lacks",
					end->rank->rank);
			p->src_hash = sim_mem_hash(msg->src.mem, msg->src.off, msg->len);
		}
	} else {
		p->len = hcomm_wire_encode(msg, p->data);
		if (bytes)
			sim_mem_load(p->data + p->len, to_mem(payload.mem), payload.off,
				     bytes);
		p->len += bytes;
		if (msg->type == HCOMM_MSG_GRANT)
			note_grant(end, msg);
	}
	sim->stats.messages++;
	sim->stats.bytes += bytes;
	sim_hash(sim, (u64)msg->type << 56 | (u64)end->rank->rank << 40 |
		 (u64)l->peer << 24 | msg->msg);
	if (sim->cfg.trace)
		printf("%12llu %u -> %u type %u run %llx msg %u chunk %u len %u credits %u\n",
		       (unsigned long long)rank_now(end->rank), end->rank->rank, l->peer,
		       msg->type, (unsigned long long)msg->run, msg->msg, msg->chunk,
		       msg->len, msg->credits);
	count_out(end->peer);
	end->tx_busy++;
	ev = event_new(sim, EV_ARRIVE, transmit(end, p->len));
	ev->end = end->peer;
	ev->packet = p;
	event_push(sim, ev);
	return 0;
}

static int sim_write(struct hcomm_elink *l, struct hcomm_buf src, u32 len, u64 addr,
		     u32 rkey, u32 imm, u32 cookie)
{
	struct sim_end *end = to_end(l);
	struct sim *sim = end->rank->sim;
	struct sim_event *ev;
	struct sim_write *w;

	check_may_send(end, "write");
	if (no_room(end))
		return -EAGAIN;
	if (len > sim->cfg.par.chunk_size || src.off + len > src.mem->length)
		sim_die(sim, "rank %u writes %u bytes from %llu of %llu",
			end->rank->rank, len, (unsigned long long)src.off,
			(unsigned long long)src.mem->length);
	w = calloc(1, sizeof(*w));
	if (!w)
		sim_die(sim, "out of memory");
	w->src = src;
	w->src_hash = sim_mem_hash(src.mem, src.off, len);
	w->addr = addr;
	w->len = len;
	w->rkey = rkey;
	w->imm = imm;
	w->cookie = cookie;
	sim->stats.writes++;
	sim->stats.bytes += len;
	sim_hash(sim, (u64)end->rank->rank << 40 | (u64)l->peer << 24 | len);
	if (sim->cfg.trace)
		printf("%12llu %u -> %u write %u imm %x\n",
		       (unsigned long long)rank_now(end->rank), end->rank->rank, l->peer,
		       len, imm);
	count_out(end->peer);
	end->tx_busy++;
	ev = event_new(sim, EV_LAND, transmit(end, len));
	ev->end = end->peer;
	ev->write = w;
	event_push(sim, ev);
	return 0;
}

static int sim_expose(struct hcomm_elink *l, struct hcomm_buf dst, u32 len, u64 *addr,
		      u32 *rkey)
{
	struct sim_end *end = to_end(l);
	struct sim_mem *m = to_mem(dst.mem);

	if (len > end->rank->sim->cfg.par.chunk_size || dst.off + len > dst.mem->length)
		sim_die(end->rank->sim, "rank %u exposes %u bytes from %llu of %llu",
			end->rank->rank, len, (unsigned long long)dst.off,
			(unsigned long long)dst.mem->length);
	*addr = m->base + dst.off;
	*rkey = m->key;
	end->exposed = (struct sim_grant){
		.addr = *addr, .rkey = *rkey, .len = len, .dst = dst,
	};
	return 0;
}

static void packet_free(struct sim_packet *p)
{
	sim_mem_put(p->ref);
	free(p);
}

static bool healthy(const struct sim_rank *r)
{
	return !r->fault && !r->dead;
}

static void sim_release(struct hcomm_elink *l, void *rx)
{
	struct sim_packet *p = rx;
	struct sim_end *end = to_end(l);

	if (p->to != end || !p->seen)
		sim_die(end->rank->sim, "rank %u releases what it did not get",
			end->rank->rank);
	if (p->ref && healthy(end->rank) && healthy(end->peer->rank) &&
	    p->src_hash != sim_mem_hash(p->msg.src.mem, p->msg.src.off, p->msg.len))
		sim_die(end->rank->sim,
			"rank %u changed a chunk that rank %u was still reading",
			end->el.peer, end->rank->rank);
	p->seen = false;
	end->rx_out--;
	packet_free(p);
}

const struct hcomm_link_ops sim_net_ops = {
	.send = sim_send,
	.write = sim_write,
	.expose = sim_expose,
	.release = sim_release,
};

const struct hcomm_link_ops sim_direct_ops = {
	.send = sim_send,
	.release = sim_release,
};

/* Throw away what is on its way. */
void fabric_drop(struct sim *sim, struct sim_event *ev)
{
	if (ev->packet) {
		ev->end->rx_out--;
		packet_free(ev->packet);
	} else if (ev->type == EV_LAND || ev->type == EV_NOTIFY) {
		ev->end->rx_out--;
	}
	free(ev->write);
	event_free(sim, ev);
}

static bool lost(const struct sim_end *to, u64 time)
{
	return to->down || to->rank->dead || (to->dead_peer && time > to->cut);
}

static void copy(struct hcomm_buf dst, struct hcomm_buf src, u32 len)
{
	u8 part[512];

	while (len) {
		u32 n = min_t(u32, len, sizeof(part));

		sim_mem_load(part, to_mem(src.mem), src.off, n);
		sim_mem_store(to_mem(dst.mem), dst.off, part, n);
		src.off += n;
		dst.off += n;
		len -= n;
	}
}

/* The data of a write gets to its target, without the target's CPU. */
void fabric_land(struct sim *sim, struct sim_event *ev)
{
	struct sim_end *to = ev->end, *from = to->peer;
	struct sim_write *w = ev->write;
	struct sim_event *done;
	struct sim_grant *g = NULL;
	u32 i;

	from->tx_busy--;
	if (lost(to, ev->time) || from->down) {
		fabric_drop(sim, ev);
		return;
	}
	for (i = 0; i < to->ngrants && !g; i++) {
		struct sim_grant *o = &to->grants[i];

		if (o->active && !o->written && o->addr == w->addr &&
		    o->rkey == w->rkey && o->imm == w->imm && o->len == w->len)
			g = o;
	}
	if (!g)
		sim_die(sim, "rank %u writes %u bytes to rank %u without a grant (imm %#x)",
			from->rank->rank, w->len, to->rank->rank, w->imm);
	if (!from->rank->dead &&
	    w->src_hash != sim_mem_hash(w->src.mem, w->src.off, w->len))
		sim_die(sim, "rank %u changed a chunk that it was still sending to rank %u",
			from->rank->rank, to->rank->rank);
	g->written = true;
	copy(g->dst, w->src, w->len);

	if (!from->rank->dead) {
		done = event_new(sim, EV_WRITE_DONE, sim->now + jitter(sim) +
				 (to->el.direct ? sim->cfg.local_latency : sim->cfg.net.latency));
		done->end = from;
		done->a = w->cookie;
		event_push(sim, done);
	}
	free(w);
	ev->write = NULL;
	ev->type = EV_NOTIFY;
	ev->a = (u32)(g - to->grants);
	ev->time = sim->now + jitter(sim);
	if (ev->time > to->rx_last)
		to->rx_last = ev->time;
	event_push(sim, ev);
}

/* The engine of the receiver takes a message. */
void fabric_arrive(struct sim *sim, struct sim_event *ev)
{
	struct sim_end *to = ev->end;
	struct sim_packet *p = ev->packet;

	if (lost(to, ev->time)) {
		fabric_drop(sim, ev);
		return;
	}
	if (!to->el.direct && hcomm_wire_decode(&p->msg, p->data, p->len, &p->payload))
		sim_die(sim, "rank %u sent rank %u a message that can't be decoded",
			to->el.peer, to->rank->rank);
	p->seen = true;
	ev->packet = NULL;
	event_free(sim, ev);
	hcomm_engine_rx(&to->el, &p->msg, p->payload, p);
}

void fabric_notify(struct sim *sim, struct sim_event *ev)
{
	struct sim_end *to = ev->end;
	struct sim_grant *g = &to->grants[ev->a];

	if (lost(to, ev->time)) {
		fabric_drop(sim, ev);
		return;
	}
	event_free(sim, ev);
	to->rx_out--;
	g->active = false;
	g->written = false;
	hcomm_engine_notify(&to->el, g->imm);
}

/* Nothing more is sent or delivered here; the other end learns it. */
void fabric_close(struct sim_end *end, u32 reason, int error, u64 delay)
{
	struct sim *sim = end->rank->sim;
	struct sim_end *peer = end->peer;
	struct sim_event *ev;

	if (end->down)
		return;
	end->down = true;
	if (peer->down || peer->rank->dead)
		return;
	ev = event_new(sim, EV_LINK_DOWN, max(rank_now(end->rank), peer->rx_last) + 1 + delay);
	ev->end = peer;
	ev->a = reason;
	ev->b = (u32)error;
	event_push(sim, ev);
}

static u32 slot_of(const struct sim *sim, u32 rank, u32 peer)
{
	return (u32)rng_mix(((u64)rank << 32) | peer) & sim->ends_mask;
}

struct sim_end *fabric_find(struct sim *sim, u32 rank, u32 peer)
{
	struct sim_end *end;
	u32 i;

	if (!sim->ends)
		return NULL;
	for (i = slot_of(sim, rank, peer); (end = sim->ends[i]); i = (i + 1) & sim->ends_mask)
		if (end->rank->rank == rank && end->el.peer == peer)
			return end;
	return NULL;
}

static void insert(struct sim *sim, struct sim_end *end)
{
	u32 i = slot_of(sim, end->rank->rank, end->el.peer);

	while (sim->ends[i])
		i = (i + 1) & sim->ends_mask;
	sim->ends[i] = end;
}

static int grow(struct sim *sim)
{
	struct sim_end **old = sim->ends;
	u32 n = sim->ends_mask + 1, i;

	if (old && (sim->nends + 2) * 2 < n)
		return 0;
	n = old ? 2 * n : 64;
	sim->ends = calloc(n, sizeof(*sim->ends));
	if (!sim->ends) {
		sim->ends = old;
		return -ENOMEM;
	}
	for (i = 0; old && i <= sim->ends_mask; i++) {
		struct sim_end *end = old[i];

		if (!end)
			continue;
		sim->ends_mask = n - 1;
		insert(sim, end);
		sim->ends_mask = n / 2 - 1;
	}
	sim->ends_mask = n - 1;
	free(old);
	return 0;
}

static struct sim_end *new_end(struct sim *sim, u32 rank, u32 peer)
{
	struct sim_rank *r = &sim->ranks[rank];
	bool direct = fabric_is_direct(sim, rank, peer);
	struct sim_end *end = calloc(1, sizeof(*end));

	if (!end)
		return NULL;
	end->rank = r;
	INIT_LIST_HEAD(&end->early);
	end->ngrants = sim->cfg.par.window * sim->cfg.par.max_runs;
	end->grants = calloc(end->ngrants, sizeof(*end->grants));
	if (!end->grants ||
	    hcomm_elink_init(&end->el, &r->eng, peer,
			     direct ? &sim_direct_ops : &sim_net_ops, direct)) {
		free(end->grants);
		free(end);
		return NULL;
	}
	return end;
}

static void free_end(struct sim_end *end)
{
	free(end->grants);
	free(end);
}

/* Both ends of a link; returns the one of @rank. */
struct sim_end *fabric_connect(struct sim *sim, u32 rank, u32 peer)
{
	struct sim_end *a = fabric_find(sim, rank, peer), *b;

	if (a)
		return a;
	if (grow(sim))
		return NULL;
	a = new_end(sim, rank, peer);
	b = a ? new_end(sim, peer, rank) : NULL;
	if (!b) {
		if (a) {
			hcomm_elink_exit(&a->el);
			free_end(a);
		}
		return NULL;
	}
	a->peer = b;
	b->peer = a;
	a->next = a->rank->ends;
	a->rank->ends = a;
	b->next = b->rank->ends;
	b->rank->ends = b;
	insert(sim, a);
	insert(sim, b);
	sim->nends += 2;
	return a;
}

/* After a run ended well nothing may be granted for it any more. */
void fabric_check_run_over(struct sim_rank *r, u64 key)
{
	struct sim_end *end;
	u32 i;

	for (end = r->ends; end; end = end->next)
		for (i = 0; i < end->ngrants; i++)
			if (end->grants[i].active && end->grants[i].run == key)
				sim_die(r->sim, "rank %u ended a run that has a grant to rank %u",
					r->rank, end->el.peer);
}

/* After a simulation without faults. */
void fabric_check_end(struct sim_end *end)
{
	struct hcomm_elink *l = &end->el;
	struct sim *sim = end->rank->sim;
	const char *what = NULL;

	if (!list_empty(&l->arrivals))
		what = "arrivals";
	else if (end->rx_out)
		what = "receive buffers";
	else if (l->eager_held)
		what = "eager slots";
	else if (l->writes_active || end->tx_busy)
		what = "writes";
	else if (l->eager_credits + end->peer->el.credits_owed > sim->cfg.par.eager_slots)
		what = "too many credits";
	if (what)
		sim_die(sim, "rank %u: %s left on the link to rank %u",
			end->rank->rank, what, l->peer);
}

void fabric_exit(struct sim *sim)
{
	u32 i;

	/* What an end still holds came from its peer. */
	for (i = 0; sim->ends && i <= sim->ends_mask; i++)
		if (sim->ends[i])
			hcomm_elink_exit(&sim->ends[i]->el);
	for (i = 0; sim->ends && i <= sim->ends_mask; i++)
		if (sim->ends[i])
			free_end(sim->ends[i]);
	free(sim->ends);
}
