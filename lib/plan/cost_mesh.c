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

/*
 * Everybody with everybody at once: L + (n - 1) times the work of a message, as
 * each rank takes them in one by one.  Over a network, what is to be reduced is
 * granted one after the other, too, so then each takes its whole time.
 */
double hcomm_cost_direct(struct hcomm_cost *c)
{
	struct hcomm_hop local = { HCOMM_LINK_LOCAL, 1 }, far = c->s->all;
	double p = c->s->max_local, peers = c->n - p, cpu, net = 0, chain = 0;
	bool reduce = reduces(c->call->coll);

	if (c->n - 1 > HCOMM_MAX_PEERS)
		return -1;
	note_message(c, c->v);
	/* the end of the last one is no more in the way */
	cpu = (p - 1) * cpu_busy(c, local, c->v, reduce);
	/* what comes together, faster than it is taken in, is taken in together */
	if (is_eager(c, c->v))
		cpu -= (c->n - 2) * hcomm_max(0, hop_link(c, far)->overhead / 2 -
						 c->v * wire(c, far));
	if (p > 1 && !is_eager(c, c->v))
		cpu -= hop_link(c, local)->overhead / 2;
	if (!reduce)
		cpu += c->v / c->m->copy_rate;
	if (peers) {
		cpu += peers * cpu_busy(c, far, c->v, reduce);
		net = CROWD * peers * c->v * wire(c, far);
		if (reduce && !is_eager(c, c->v))
			chain = peers * message(c, far, c->v, true, false);
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
	if (is_eager(c, b))
		return hop_link(c, far)->latency + near * cpu_busy(c, local, b, reduce) +
		       away * hcomm_max(cpu_busy(c, far, b, reduce),
					CROWD * b * wire(c, far));
	if (near) {
		one = message(c, local, b, reduce, true);
		time += hcomm_max(one, near * hcomm_max(one / AHEAD,
							busy(c, local, b, reduce)));
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

	if (c->n - 1 > HCOMM_MAX_PEERS)
		return -1;
	note_message(c, c->v);
	net = away * c->v * wire(c, far);
	if (out) {
		cpu = is_eager(c, c->v) ? 0 :
		      (c->n - 1) * hop_link(c, far)->overhead / 2;
		time = message(c, far, c->v, false, true) - c->v * wire(c, far);
		return time + hcomm_max(cpu, net) + c->v / c->m->copy_rate +
		       ends(c, far, c->v);
	}
	cpu = near * cpu_busy(c, local, c->v, reduce) +
	      away * cpu_busy(c, far, c->v, reduce);
	if (reduce && away && !is_eager(c, c->v))
		net = away * message(c, far, c->v, true, false);
	return hop_link(c, far)->latency + hcomm_max(cpu, net) + ends(c, far, c->v);
}
