// SPDX-License-Identifier: LGPL-2.1-or-later
/* Predicted times of exchanges in rounds, and of everybody with everybody. */
#include "cost.h"

static bool is_pow2(const struct hcomm_cost *c)
{
	return c->s->nranks == 1u << c->s->levels;
}

/*
 * sum over rounds k of T(v) at distance 2^k; chunks of a round follow those of
 * the one before, so of more than one chunk only the first takes its time and the
 * others the work of all rounds.  Ranks beyond a power of two fold first: a round
 * before and a round after.
 */
double hcomm_cost_recursive_doubling(struct hcomm_cost *c)
{
	double first = hcomm_min(c->v, c->lim->chunk_size), time = 0, work = 0;
	uint32_t k, rounds = c->s->levels - !is_pow2(c);

	note_message(c, c->v);
	for (k = 0; k < rounds; k++) {
		time += message(c, c->s->flip[k], first, true, k == 0);
		work += busy(c, c->s->flip[k], first, true);
	}
	if (!is_pow2(c)) {
		time += message(c, c->s->next, first, true, true);
		time += message(c, c->s->next, first, false, true);
		work += busy(c, c->s->next, first, true);
	}
	/* half of all calls are in place, and copy their input first */
	time += c->v / c->m->copy_rate / 2;
	return time + (hcomm_pieces(c->v, first ? first : 1) - 1) * work +
	       ends(c, c->s->leader, c->v);
}

/*
 * L + (n - 1) times the work of a message: all are on their way at once, each
 * rank reduces what it gets one by one
 */
double hcomm_cost_direct(struct hcomm_cost *c)
{
	struct hcomm_hop local = { HCOMM_LINK_LOCAL, 1 }, far = c->s->all;
	double p = c->s->max_local, peers = c->n - p;
	double start = hop_link(c, far)->latency, cpu, net = 0;

	if (c->n > HCOMM_MAX_PEERS)
		return -1;
	note_message(c, c->v);
	cpu = (p - 1) * cpu_busy(c, local, c->v, true);
	if (peers) {
		cpu += peers * cpu_busy(c, far, c->v, true);
		net = peers * c->v * wire(c, far);
		if (!is_eager(c, c->v))
			start += hop_link(c, far)->latency;
	}
	return start + hcomm_max(cpu, net);
}

/* sum over rounds of L + o */
double hcomm_cost_dissemination(struct hcomm_cost *c)
{
	double time = 0;
	uint32_t k;

	for (k = 0; k < c->s->levels; k++)
		time += message(c, c->s->shift[k], 0, false, true);
	return time;
}
