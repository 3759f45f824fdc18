// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Communicators made of another one.  The parent carries what its ranks have to
 * tell each other, so nothing listens and nobody connects but the links.
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
 *	of ranks; memory of the pool
 */
struct group {
	struct hcomm_exchange ex;
	struct hcomm_comm *parent;
	struct member *members;
	uint32_t count;
	uint32_t me;
	uint8_t *blobs;
};

/* -------------------------------------------------------------------- rounds */

static hcommResult_t message(struct group *g, uint32_t from, uint32_t to, void *buf,
			     uint64_t bytes)
{
	struct hcomm_call_args call = {
		.name = "split",
		.coll = HCOMM_COLL_P2P,
		.dtype = HCOMM_DT_UINT8,
		.root = g->members[from].rank,
		.peer = g->members[to].rank,
		.tag = HCOMM_SPLIT_TAG,
		.count = bytes,
		.send = buf,
		.recv = buf,
		.internal = true,
	};

	return hcomm_op_run(g->parent, &call);
}

/*
 * Each sends what it has to the rank @have before it, and gets as much from the
 * rank @have behind it.  The parent may allow one call at a time: those whose
 * receiver wraps around receive first, one at least in each circle of ranks.
 */
static hcommResult_t swap(struct group *g, uint32_t have, uint64_t bytes, uint64_t len)
{
	uint32_t to = (g->me + g->count - have) % g->count;
	uint32_t from = (g->me + have) % g->count;
	uint8_t *in = g->blobs + have * len;
	hcommResult_t ret;

	if (g->me >= have) {
		ret = message(g, g->me, to, g->blobs, bytes);
		return ret ? ret : message(g, from, g->me, in, bytes);
	}
	ret = message(g, from, g->me, in, bytes);
	return ret ? ret : message(g, g->me, to, g->blobs, bytes);
}

/* doubling what each has: Bruck et al., Efficient algorithms for all-to-all
 * communications in multiport message-passing systems, 1997
 */
static hcommResult_t group_gather(struct hcomm_exchange *ex, const void *blob,
				  uint32_t len, void *all)
{
	struct group *g = (struct group *)ex;
	uint64_t before = (uint64_t)g->me * len;
	uint64_t behind = (uint64_t)(g->count - g->me) * len;
	hcommResult_t ret = HCOMM_SUCCESS;
	uint32_t have, more;

	if (len > HCOMM_EXCHANGE_BLOB)
		return hcomm_fail(HCOMM_ERR_INTERNAL, "split: a blob of %u bytes", len);
	memcpy(g->blobs, blob, len);
	for (have = 1; have < g->count && !ret; have += more) {
		more = have < g->count - have ? have : g->count - have;
		ret = swap(g, have, (uint64_t)more * len, len);
	}
	if (ret)
		return ret;
	memcpy((uint8_t *)all + before, g->blobs, behind);
	memcpy(all, g->blobs + behind, before);
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

static hcommResult_t gather_votes(struct hcomm_comm *parent, struct vote *votes)
{
	struct hcomm_call_args call = {
		.name = "split",
		.coll = HCOMM_COLL_ALLGATHER,
		.dtype = HCOMM_DT_INT32,
		.count = sizeof(*votes) / sizeof(int32_t),
		.in_place = true,
		.internal = true,
		.send = &votes[parent->rank],
		.recv = votes,
	};

	return hcomm_op_run(parent, &call);
}

/* could all ranks of the parent prepare?  Else none goes on. */
static hcommResult_t all_prepared(struct hcomm_comm *parent, hcommResult_t mine)
{
	uint64_t worst = (uint64_t)mine << 32 | parent->rank;
	struct hcomm_call_args call = {
		.name = "split",
		.coll = HCOMM_COLL_ALLREDUCE,
		.dtype = HCOMM_DT_UINT64,
		.redop = HCOMM_OP_MAX,
		.count = 1,
		.in_place = true,
		.internal = true,
		.send = &worst,
		.recv = &worst,
	};
	struct hcomm_first_error own = { .result = HCOMM_SUCCESS };
	hcommResult_t ret;

	hcomm_error_keep(&own, mine);
	ret = hcomm_op_run(parent, &call);
	if (mine)
		return hcomm_error_restore(&own);
	if (ret || !(worst >> 32))
		return ret;
	ret = (hcommResult_t)(worst >> 32);
	return hcomm_fail(ret, "rank %u of the parent can't take part: %s", (uint32_t)worst,
			  hcommGetErrorString(ret));
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
	if (!ret)
		g->blobs = blobs;
	return ret;
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
	struct vote *votes;
	hcommResult_t ret;
	void *mem;

	*out = NULL;
	ret = hcomm_mem_alloc(parent->nranks * sizeof(*votes), &mem);
	if (ret)
		return ret;
	votes = mem;
	votes[parent->rank] = (struct vote){ color, key };
	ret = gather_votes(parent, votes);
	if (ret)
		goto out;
	ret = check_color(color);
	if (!ret)
		ret = child_options(parent, config, &opts);
	if (!ret)
		ret = form(&g, votes);
	if (!ret && g.count)
		ret = hcomm_newcomer_init(&n, g.count);
	ret = all_prepared(parent, ret);
	if (!ret && g.count)
		ret = hcomm_newcomer_join(&n, g.me, g.count, &opts,
					  g.count > 1 ? &g.ex : NULL,
					  parent->split_secret, out);
	hcomm_newcomer_exit(&n);
	hcomm_mem_free(g.blobs);
	free(g.members);
out:
	hcomm_mem_free(votes);
	return ret;
}
