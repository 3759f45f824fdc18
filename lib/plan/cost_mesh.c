// SPDX-License-Identifier: LGPL-2.1-or-later
/* Predicted times of messages that go straight to where they are needed. */
#include "cost.h"

/* as hcomm_build_pairwise(): rounds at a time */
#define AHEAD	2

/*
 * How much longer an adapter is busy than its bytes say, as simulated: all send to
 * one at a time while others wait for a message.
 */
#define CROWD	1.6
#define CROWD_AT_ONCE	1.2

/* the same of large messages at once; few nodes have less choice */
static double crowd(const struct hcomm_cost *c)
{
	return c->s->max_local > 1 ? 2.05 - 1.6 / c->s->nnodes : 2;
}

/* bytes of an eager message in front of its data */
#define HEADER	64

/*
 * Small messages, of everybody to everybody at once: a rank sends all before it
 * takes in any.
 */
static double small_at_once(struct hcomm_cost *c, bool reduce)
{
	struct hcomm_hop local = { HCOMM_LINK_LOCAL, 1 }, far = c->s->all;
	double p = c->s->max_local, peers = c->n - p, copy = 1 / c->m->copy_rate, out, in;
	bool scan = c->call->coll == HCOMM_COLL_SCAN || c->call->coll == HCOMM_COLL_EXSCAN;

	out = (c->n - 1) * c->v * copy;
	/* who gives most in a scan takes in nothing */
	if (scan)
		out /= c->n - 1;
	if (peers)
		out = hcomm_max(out, CROWD_AT_ONCE * peers * (c->v + HEADER) * wire(c, far));
	in = (p - 1) * taken_in(c, local, c->v, reduce);
	if (peers)
		in += peers * taken_in(c, far, c->v, reduce);
	return hop_link(c, far)->latency + hop_link(c, far)->overhead / 2 + out + in +
	       (reduce ? 0 : c->v * copy);
}

/* in the order of ranks, as all must get the same bits */
static bool same_order(const struct hcomm_cost *c)
{
	return c->call->coll != HCOMM_COLL_REDUCE_SCATTER;
}

/*
 * Everybody with everybody at once: L + (n - 1) times the work of a message, as
 * each rank takes them in one by one.  Over a network, what is to be reduced is
 * granted one after the other, too, so then each takes its whole time; and where
 * all ranks turn to the same ones at a time, these are in demand.
 */
double hcomm_cost_direct(struct hcomm_cost *c)
{
	struct hcomm_hop local = { HCOMM_LINK_LOCAL, 1 }, far = c->s->all;
	double p = c->s->max_local, peers = c->n - p, cpu, net = 0, chain = 0;
	bool reduce = reduces(c->call->coll);

	if (c->n - 1 > HCOMM_MAX_PEERS)
		return -1;
	note_message(c, c->v);
	if (is_eager(c, c->v))
		return small_at_once(c, reduce);
	/* what comes together is taken in together */
	cpu = (p - 1) * (cpu_busy(c, local, c->v, reduce) -
			 hop_link(c, local)->overhead / 2);
	if (!reduce)
		cpu += c->v / c->m->copy_rate;
	if (peers) {
		cpu += peers * cpu_busy(c, far, c->v, reduce);
		net = (reduce ? CROWD_AT_ONCE : crowd(c)) * peers * c->v * wire(c, far);
		if (reduce)
			chain = peers * message(c, far, c->v, true, false);
		if (reduce && same_order(c))
			chain += peers * (1 - 2 / c->n) *
				 c->v * (wire(c, far) + byte_work(c, far, c->v, true));
	}
	return hop_link(c, peers ? far : local)->latency +
	       hcomm_max(chain, hcomm_max(cpu, net)) + ends(c, far, c->v);
}

/*
 * n - 1 rounds of one message each way.  Small ones are all on their way at once;
 * what is to be reduced is granted one after the other over a network; else some
 * rounds run at a time.
 */
static double rounds(struct hcomm_cost *c, double b, bool reduce)
{
	struct hcomm_hop local = { HCOMM_LINK_LOCAL, 1 }, far = c->s->all;
	double near = c->s->max_local - 1, away = c->n - 1 - near, time = 0, one;

	note_message(c, b);
	if (is_eager(c, b)) {
		double copy = b / c->m->copy_rate;

		one = away * hcomm_max(taken_in(c, far, b, reduce) + copy,
				       CROWD * (b + HEADER) * wire(c, far));
		return hop_link(c, far)->latency + hop_link(c, far)->overhead / 2 + one +
		       near * (taken_in(c, local, b, reduce) + copy);
	}
	if (near) {
		one = message(c, local, b, reduce, true);
		time += hcomm_max(one, near * hcomm_max(one / AHEAD,
							busy(c, local, b, reduce) +
							hop_link(c, local)->overhead / 2));
	}
	if (away) {
		one = message(c, far, b, reduce, false);
		time += hcomm_max(one, away * hcomm_max(reduce ? one : one / AHEAD,
							busy(c, far, b, reduce)));
	}
	return time + ends(c, far, b);
}

/*
 * ALLREDUCE		two times n - 1 rounds of v/n
 * REDUCE_SCATTER, ALLTOALL	n - 1 rounds of v
 */
double hcomm_cost_pairwise(struct hcomm_cost *c)
{
	if (c->n - 1 > HCOMM_MAX_PEERS)
		return -1;
	if (c->call->coll == HCOMM_COLL_ALLREDUCE)
		return rounds(c, c->v / c->n, true) + rounds(c, c->v / c->n, false);
	return rounds(c, c->v, reduces(c->call->coll)) +
	       (reduces(c->call->coll) ? 0 : c->v / c->m->copy_rate);
}

/*
 * The root with each of the others.  Towards them its adapter (or on one node
 * nobody but the receivers) is busy, from them its CPU, too.
 */
double hcomm_cost_star(struct hcomm_cost *c)
{
	struct hcomm_hop local = { HCOMM_LINK_LOCAL, 1 }, far = c->s->leader;
	double near = c->s->max_local - 1, away = c->n - 1 - near, time, cpu, net;
	uint32_t coll = c->call->coll;
	bool out = coll == HCOMM_COLL_BROADCAST || coll == HCOMM_COLL_SCATTER;
	bool reduce = coll == HCOMM_COLL_REDUCE;
	double chunk = hcomm_min(c->v, c->lim->chunk_size);

	if (c->n - 1 > HCOMM_MAX_PEERS)
		return -1;
	note_message(c, c->v);
	net = away * c->v * wire(c, far);
	if (out) {
		/* a grant and a completion of each write, news of most others come together */
		cpu = is_eager(c, c->v) ? (c->n - 2) * c->v / c->m->copy_rate :
		      (near / 2 + away * 1.5) * hop_link(c, far)->overhead;
		time = message(c, far, c->v, false, true) - c->v * wire(c, far) +
		       hcomm_max(cpu, net) + ends(c, far, c->v);
		if (is_eager(c, c->v))
			return time + c->v / c->m->copy_rate;
		/* the root's own copy follows its last message chunk by chunk */
		if (away)
			net -= (c->v - chunk) * wire(c, far);
		return hcomm_max(time, hcomm_max(cpu, net) + c->v / c->m->copy_rate +
				       message(c, far, away ? 0 : chunk, false, false) +
				       ends(c, far, c->v));
	}
	if (is_eager(c, c->v))
		return hop_link(c, far)->latency + hop_link(c, far)->overhead / 2 +
		       c->v / c->m->copy_rate + near * taken_in(c, local, c->v, reduce) +
		       away * (taken_in(c, far, c->v, reduce) +
			       hop_link(c, far)->overhead / 2) +
		       (reduce ? 0 : c->v / c->m->copy_rate);
	cpu = near * cpu_busy(c, local, c->v, reduce) +
	      away * cpu_busy(c, far, c->v, reduce);
	if (reduce && away && !is_eager(c, c->v))
		net = away * message(c, far, c->v, true, false);
	return hop_link(c, far)->latency + hcomm_max(cpu, net) + ends(c, far, c->v);
}
