// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Communicators made of another one.  The parent carries what its ranks have to
 * tell each other, so nothing listens and nobody connects but the links.
 *
 * All of its calls are prepared before the first of those that belong together is
 * made: a rank that lacks something finds out while it can still say so, or has done
 * nothing and may call again, and does not leave the others waiting half-way.
 *
 * The new secret is derived from one that the parent's ranks have in common, with
 * random bytes of the new rank 0: it is never sent.
 */
#include <stdlib.h>
#include <string.h>

#include "../base/base.h"
#include "../mem/mem.h"
#include "create.h"

_Static_assert(sizeof(struct hcomm_card) <= HCOMM_EXCHANGE_BLOB &&
	       sizeof(struct hcomm_ready) <= HCOMM_EXCHANGE_BLOB, "a round carries both");

/* of what a rank has, until it has all */
#define DOUBLINGS	16u

_Static_assert(1u << DOUBLINGS >= HCOMM_MAX_RANKS, "rounds of the largest communicator");

/**
 * struct member - a rank of the new communicator
 * @key: for the order
 * @rank: in the parent
 */
struct member {
	int32_t key;
	uint32_t rank;
};

/**
 * struct group - the ranks of one color, and how they talk
 * @ex: for the newcomer
 * @parent: communicator that carries the messages
 * @members: in the order of their new ranks
 * @count: how many, 0: no color
 * @me: this rank's new number
 * @blobs: of a round: this rank's first, then those that follow it in the order
 *	of ranks, each with the room of the largest; memory of the pool
 * @send: messages of a round, each doubling what a rank has
 * @recv: their other ends
 */
struct group {
	struct hcomm_exchange ex;
	struct hcomm_comm *parent;
	struct member *members;
	uint32_t count;
	uint32_t me;
	uint8_t *blobs;
	hcommRequest_t send[DOUBLINGS];
	hcommRequest_t recv[DOUBLINGS];
};

/* make a call that was prepared */
static hcommResult_t make(hcommRequest_t prepared)
{
	hcommResult_t ret = hcomm_op_again(prepared, true);

	return ret ? ret : hcomm_op_wait(prepared);
}

static void forget(hcommRequest_t prepared)
{
	if (prepared)
		hcomm_op_free(prepared);
}

/* -------------------------------------------------------------------- rounds */

static hcommResult_t message(struct group *g, uint32_t from, uint32_t to, uint32_t first,
			     uint32_t count, hcommRequest_t *prepared)
{
	void *buf = g->blobs + (size_t)first * HCOMM_EXCHANGE_BLOB;
	struct hcomm_call_args call = {
		.name = "split",
		.coll = HCOMM_COLL_P2P,
		.dtype = HCOMM_DT_UINT8,
		.root = g->members[from].rank,
		.peer = g->members[to].rank,
		.tag = HCOMM_SPLIT_TAG,
		.count = (uint64_t)count * HCOMM_EXCHANGE_BLOB,
		.send = buf,
		.recv = buf,
		.internal = true,
	};

	return hcomm_op_init(g->parent, &call, prepared);
}

/* blobs that come when there are @have */
static uint32_t doubling(const struct group *g, uint32_t have)
{
	return have < g->count - have ? have : g->count - have;
}

/* each sends what it has to the rank @have before it, and gets as much from behind */
static hcommResult_t prepare_round(struct group *g)
{
	hcommResult_t ret = HCOMM_SUCCESS;
	uint32_t have, more, i = 0;

	for (have = 1; have < g->count && !ret; have += more, i++) {
		more = doubling(g, have);
		ret = message(g, g->me, (g->me + g->count - have) % g->count, 0, more,
			      &g->send[i]);
		if (!ret)
			ret = message(g, (g->me + have) % g->count, g->me, have, more,
				      &g->recv[i]);
	}
	return ret;
}

/*
 * The parent may allow one call at a time: those whose receiver wraps around receive
 * first, one at least in each circle of ranks.
 */
static hcommResult_t swap(struct group *g, uint32_t i, bool send_first)
{
	hcommResult_t ret = make(send_first ? g->send[i] : g->recv[i]);

	return ret ? ret : make(send_first ? g->recv[i] : g->send[i]);
}

/* doubling what each has: Bruck et al., Efficient algorithms for all-to-all
 * communications in multiport message-passing systems, 1997
 */
static hcommResult_t group_gather(struct hcomm_exchange *ex, const void *blob,
				  uint32_t len, void *all)
{
	struct group *g = (struct group *)ex;
	hcommResult_t ret = HCOMM_SUCCESS;
	uint32_t have, i = 0;

	if (len > HCOMM_EXCHANGE_BLOB)
		return hcomm_fail(HCOMM_ERR_INTERNAL, "split: a blob of %u bytes", len);
	memcpy(g->blobs, blob, len);
	for (have = 1; have < g->count && !ret; have += doubling(g, have))
		ret = swap(g, i++, g->me >= have);
	if (ret)
		return ret;
	for (i = 0; i < g->count; i++)
		memcpy((uint8_t *)all + (size_t)((g->me + i) % g->count) * len,
		       g->blobs + (size_t)i * HCOMM_EXCHANGE_BLOB, len);
	return HCOMM_SUCCESS;
}

/* --------------------------------------------------------------- the parent's */

/**
 * struct vote - what a rank of the parent wants
 * @color: see hcommCommSplit()
 * @key: see hcommCommSplit()
 */
struct vote {
	int32_t color;
	int32_t key;
};

/**
 * struct parent_calls - what all ranks of the parent do together
 * @votes: of its ranks; memory of the pool, with @worst behind them
 * @worst: the worst result in the upper half, a rank that has it in the lower
 * @gather: everybody's vote to all
 * @compare: the worst result of all
 */
struct parent_calls {
	struct vote *votes;
	uint64_t *worst;
	hcommRequest_t gather;
	hcommRequest_t compare;
};

static void parent_calls_exit(struct parent_calls *p)
{
	forget(p->gather);
	forget(p->compare);
	hcomm_mem_free(p->votes);
}

static hcommResult_t parent_calls_init(struct parent_calls *p, struct hcomm_comm *parent)
{
	struct hcomm_call_args gather = {
		.name = "split",
		.coll = HCOMM_COLL_ALLGATHER,
		.dtype = HCOMM_DT_INT32,
		.count = sizeof(*p->votes) / sizeof(int32_t),
		.in_place = true,
		.internal = true,
	};
	struct hcomm_call_args compare = {
		.name = "split",
		.coll = HCOMM_COLL_ALLREDUCE,
		.dtype = HCOMM_DT_UINT64,
		.redop = HCOMM_OP_MAX,
		.count = 1,
		.in_place = true,
		.internal = true,
	};
	hcommResult_t ret;
	void *mem;

	*p = (struct parent_calls){ 0 };
	ret = hcomm_mem_alloc(parent->nranks * sizeof(*p->votes) + sizeof(*p->worst), &mem);
	if (ret)
		return ret;
	p->votes = mem;
	p->worst = (uint64_t *)(p->votes + parent->nranks);
	gather.send = &p->votes[parent->rank];
	gather.recv = p->votes;
	compare.send = p->worst;
	compare.recv = p->worst;
	ret = hcomm_op_init(parent, &gather, &p->gather);
	if (!ret)
		ret = hcomm_op_init(parent, &compare, &p->compare);
	if (ret)
		parent_calls_exit(p);
	return ret;
}

/* could all ranks of the parent prepare?  Else none goes on. */
static hcommResult_t all_prepared(struct parent_calls *p, uint32_t rank, hcommResult_t mine)
{
	struct hcomm_first_error own = { .result = HCOMM_SUCCESS };
	hcommResult_t ret;

	*p->worst = (uint64_t)mine << 32 | rank;
	hcomm_error_keep(&own, mine);
	ret = make(p->compare);
	if (mine)
		return hcomm_error_restore(&own);
	if (ret || !(*p->worst >> 32))
		return ret;
	ret = (hcommResult_t)(*p->worst >> 32);
	return hcomm_fail(ret, "rank %u of the parent can't take part: %s",
			  (uint32_t)*p->worst, hcommGetErrorString(ret));
}

static int compare(const void *a, const void *b)
{
	const struct member *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return x->rank < y->rank ? -1 : x->rank > y->rank;
}

/* an error that all ranks hear of, as they are all here by now */
static hcommResult_t check_color(int color)
{
	if (color >= 0 || color == HCOMM_SPLIT_NOCOLOR)
		return HCOMM_SUCCESS;
	return hcomm_fail(HCOMM_ERR_INVALID_ARGUMENT,
			  "color is %d, must be 0 or more, or HCOMM_SPLIT_NOCOLOR", color);
}

/* who has this rank's color, and the memory for all that follows */
static hcommResult_t form(struct group *g, const struct vote *votes)
{
	uint32_t rank = g->parent->rank, i;
	hcommResult_t ret;
	void *blobs;

	if (votes[rank].color == HCOMM_SPLIT_NOCOLOR)
		return HCOMM_SUCCESS;
	g->members = calloc(g->parent->nranks, sizeof(*g->members));
	if (!g->members)
		return hcomm_fail_nomem("the table of ranks");
	for (i = 0; i < g->parent->nranks; i++) {
		if (votes[i].color == votes[rank].color)
			g->members[g->count++] = (struct member){ votes[i].key, i };
	}
	qsort(g->members, g->count, sizeof(*g->members), compare);
	while (g->members[g->me].rank != rank)
		g->me++;
	ret = hcomm_mem_alloc((size_t)g->count * HCOMM_EXCHANGE_BLOB, &blobs);
	if (ret)
		return ret;
	g->blobs = blobs;
	return prepare_round(g);
}

static void group_exit(struct group *g)
{
	uint32_t i;

	for (i = 0; i < DOUBLINGS; i++) {
		forget(g->send[i]);
		forget(g->recv[i]);
	}
	hcomm_mem_free(g->blobs);
	free(g->members);
}

static hcommResult_t child_options(const struct hcomm_comm *parent,
				   const hcommConfig_t *config, struct hcomm_options *opts)
{
	if (config)
		return hcomm_options_read(config, opts);
	*opts = parent->opts;
	opts->tuner = parent->tuner_path;
	/* texts of the environment may have moved */
	opts->nic = getenv("HCOMM_NIC");
	return HCOMM_SUCCESS;
}

hcommResult_t hcomm_comm_split(struct hcomm_comm *parent, int color, int key,
			       const hcommConfig_t *config, struct hcomm_comm **out)
{
	struct group g = { .ex.gather = group_gather, .parent = parent };
	struct hcomm_newcomer n = { 0 };
	struct hcomm_options opts;
	struct parent_calls p;
	hcommResult_t ret;

	*out = NULL;
	ret = parent_calls_init(&p, parent);
	if (ret)
		return ret;
	p.votes[parent->rank] = (struct vote){ color, key };
	ret = make(p.gather);
	if (ret)
		goto out;
	ret = check_color(color);
	if (!ret)
		ret = child_options(parent, config, &opts);
	if (!ret)
		ret = form(&g, p.votes);
	if (!ret && g.count)
		ret = hcomm_newcomer_init(&n, g.count);
	ret = all_prepared(&p, parent->rank, ret);
	if (!ret && g.count)
		ret = hcomm_newcomer_join(&n, g.me, g.count, &opts,
					  g.count > 1 ? &g.ex : NULL,
					  parent->split_secret, out);
	hcomm_newcomer_exit(&n);
	group_exit(&g);
out:
	parent_calls_exit(&p);
	return ret;
}
