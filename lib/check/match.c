// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Numbering of all steps and chunks, and the two ends of every message: those of
 * a pair of ranks, in step order at either end.
 */
#include <errno.h>
#include <stdlib.h>

#include "internal.h"

/* message ends are sorted by pair, then by step */
struct end {
	uint64_t pair;
	uint32_t gstep;
};

static int compare_ends(const void *pa, const void *pb)
{
	const struct end *a = pa, *b = pb;

	if (a->pair != b->pair)
		return a->pair < b->pair ? -1 : 1;
	return a->gstep < b->gstep ? -1 : a->gstep > b->gstep;
}

static int number_steps(struct checker *c)
{
	uint64_t steps = 0, nodes = 0, deps = 0, k;
	uint32_t rank, i, gs = 0, succ = 0;

	for (rank = 0; rank < c->n; rank++) {
		steps += c->progs[rank].nsteps;
		deps += c->progs[rank].ndeps;
		for (i = 0; i < c->progs[rank].nsteps; i++)
			nodes += step_chunks(c, c->progs[rank].steps[i].len);
	}
	/* gsteps share a word with HCOMM_DEP_STREAM, nodes with the clock */
	if (steps >= HCOMM_DEP_STREAM || nodes >= 1u << 30 || deps >= UINT32_MAX)
		return -E2BIG;
	c->nsteps = steps;
	c->nnodes = nodes;
	c->g = calloc(steps, sizeof(*c->g));
	c->node = calloc(nodes, sizeof(*c->node));
	c->succ = malloc((deps + 1) * sizeof(*c->succ));
	c->queue = malloc(steps * sizeof(*c->queue));
	if (!c->g || !c->node || !c->succ || !c->queue)
		return -ENOMEM;

	nodes = 0;
	for (rank = 0; rank < c->n; rank++) {
		const struct hcomm_check_prog *p = &c->progs[rank];

		c->first[rank] = gs;
		for (i = 0; i < p->nsteps; i++, gs++) {
			struct gstep *g = &c->g[gs];

			g->s = &p->steps[i];
			g->rank = rank;
			g->link = NO_LINK;
			g->peer = NO_GSTEP;
			g->node = nodes;
			g->nchunks = step_chunks(c, g->s->len);
			for (k = 0; k < g->nchunks; k++)
				c->node[nodes++].gstep = gs;
			for (k = 0; k < g->s->dep_count; k++) {
				uint32_t dep = p->deps[g->s->dep_first + k];

				c->g[c->first[rank] + HCOMM_DEP_INDEX(dep)].nsucc++;
				g->deps_left += !(dep & HCOMM_DEP_STREAM);
			}
		}
	}
	c->first[c->n] = gs;

	for (gs = 0; gs < c->nsteps; gs++) {
		c->g[gs].succ = succ;
		succ += c->g[gs].nsucc;
		c->g[gs].nsucc = 0;
	}
	for (gs = 0; gs < c->nsteps; gs++) {
		const struct gstep *g = &c->g[gs];

		for (k = 0; k < g->s->dep_count; k++) {
			uint32_t dep = c->progs[g->rank].deps[g->s->dep_first + k];
			struct gstep *d;

			d = &c->g[c->first[g->rank] + HCOMM_DEP_INDEX(dep)];
			c->succ[d->succ + d->nsucc++] = gs | (dep & HCOMM_DEP_STREAM);
		}
	}
	return 0;
}

static int unmatched(struct checker *c, uint32_t gs)
{
	const struct gstep *g = &c->g[gs];
	bool recv = is_recv(g->s);

	return chk_fail(c, HCOMM_CHECK_MATCH, g->rank, local_step(c, gs),
		    "rank %u has no %s for it: drop this step or add that one",
		    g->s->peer, recv ? "SEND" : "RECV");
}

static int join(struct checker *c, uint32_t send, uint32_t recv)
{
	struct gstep *s = &c->g[send], *r = &c->g[recv];

	if (s->s->len != r->s->len)
		return chk_fail(c, HCOMM_CHECK_MATCH, r->rank, local_step(c, recv),
			    "has %llu bytes, but step %u of rank %u sends %llu: make lengths equal and list the messages of the pair in one order",
			    (unsigned long long)r->s->len, local_step(c, send),
			    s->rank, (unsigned long long)s->s->len);
	s->peer = recv;
	r->peer = send;
	s->link = c->nlinks - 1;
	r->link = c->nlinks - 1;
	c->link[c->nlinks - 1].count++;
	return 0;
}

static int match(struct checker *c, struct end *send, uint32_t nsend,
		 struct end *recv, uint32_t nrecv)
{
	uint32_t i;
	int err;

	qsort(send, nsend, sizeof(*send), compare_ends);
	qsort(recv, nrecv, sizeof(*recv), compare_ends);
	for (i = 0; i < nsend && i < nrecv; i++) {
		if (send[i].pair < recv[i].pair)
			return unmatched(c, send[i].gstep);
		if (send[i].pair > recv[i].pair)
			return unmatched(c, recv[i].gstep);
		if (!i || send[i].pair != send[i - 1].pair)
			c->link[c->nlinks++] = (struct link){
				.src = c->g[send[i].gstep].rank,
				.dst = c->g[recv[i].gstep].rank,
				.first = i,
			};
		err = join(c, send[i].gstep, recv[i].gstep);
		if (err)
			return err;
		c->sends[i] = send[i].gstep;
		c->recvs[i] = recv[i].gstep;
	}
	if (i < nsend)
		return unmatched(c, send[i].gstep);
	if (i < nrecv)
		return unmatched(c, recv[i].gstep);
	return 0;
}

static void list_staged(struct checker *c)
{
	uint32_t gs, n = 0;

	for (gs = 0; gs < c->nsteps; gs++) {
		const struct gstep *g = &c->g[gs];
		struct staging *st = &c->staging[g->rank];

		if (g->s->op != HCOMM_STEP_RECV_REDUCE ||
		    g->s->len <= c->opts.eager_size)
			continue;
		if (!st->count++)
			st->first = n;
		c->staged[n++] = gs;
	}
}

int chk_match(struct checker *c)
{
	struct end *send = NULL, *recv = NULL;
	uint32_t nsend = 0, nrecv = 0, gs;
	int err;

	err = number_steps(c);
	if (err)
		return err;
	send = malloc(c->nsteps * sizeof(*send));
	recv = malloc(c->nsteps * sizeof(*recv));
	c->link = malloc(c->nsteps * sizeof(*c->link));
	c->sends = malloc(c->nsteps * sizeof(*c->sends));
	c->recvs = malloc(c->nsteps * sizeof(*c->recvs));
	c->staged = malloc(c->nsteps * sizeof(*c->staged));
	c->staging = calloc(c->n, sizeof(*c->staging));
	err = -ENOMEM;
	if (!send || !recv || !c->link || !c->sends || !c->recvs || !c->staged ||
	    !c->staging)
		goto out;
	for (gs = 0; gs < c->nsteps; gs++) {
		const struct gstep *g = &c->g[gs];
		uint64_t peer = g->s->peer, rank = g->rank;

		if (g->s->op == HCOMM_STEP_SEND)
			send[nsend++] = (struct end){ rank << 32 | peer, gs };
		else if (is_recv(g->s))
			recv[nrecv++] = (struct end){ peer << 32 | rank, gs };
	}
	err = match(c, send, nsend, recv, nrecv);
	list_staged(c);
out:
	free(send);
	free(recv);
	return err;
}
