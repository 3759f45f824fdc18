/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A call of any collective against a plain reference.
 *
 * Both buffers, and what is around and between their blocks, are known bytes
 * beforehand; what all of them must be afterwards follows from a list of blocks,
 * without any communication.  All ranks make the same case.
 */
#ifndef SELFTESTS_LIB_API_CASE_H
#define SELFTESTS_LIB_API_CASE_H

#include "api_util.h"

#define CASE_RANKS	8
#define CASE_GUARD	64
#define CASE_POISON	0xa5

enum case_coll {
	CASE_ALLREDUCE,
	CASE_REDUCE,
	CASE_SCAN,
	CASE_EXSCAN,
	CASE_REDUCE_SCATTER,
	CASE_BROADCAST,
	CASE_ALLGATHER,
	CASE_GATHER,
	CASE_SCATTER,
	CASE_ALLTOALL,
	CASE_COLLS,
};

static const char *const case_names[CASE_COLLS] = {
	"AllReduce", "Reduce", "Scan", "Exscan", "ReduceScatter", "Broadcast",
	"AllGather", "Gather", "Scatter", "AlltoAll",
};

enum case_form { FORM_BLOCKING, FORM_ASYNC, FORM_PERSISTENT, FORMS };

/**
 * struct acase - a call
 * @comm: communicator
 * @coll: which
 * @vector: V form
 * @type: hcommDataType_t
 * @op: hcommRedOp_t
 * @count: elements, of a block where there are blocks
 * @spread: V form: what counts are made of
 * @gap: V form with displacements, the blocks in reverse order: elements between
 *	two of them; -1: packed
 * @root: root
 * @in_place: on all ranks
 * @skew: the buffers begin so many bytes off
 * @plain: memory of malloc()
 * @form: enum case_form
 */
struct acase {
	hcommComm_t comm;
	int coll;
	int vector;
	int type;
	int op;
	size_t count;
	size_t spread;
	int gap;
	int root;
	int in_place;
	int skew;
	int plain;
	int form;
};

/**
 * struct block - a part of a buffer
 * @at: first element in the buffer
 * @count: elements
 * @src: rank whose values they are
 * @first: first of these values
 * @upto: they are reduced over the ranks below this one; 0: as @src has them
 */
struct block {
	size_t at;
	size_t count;
	int src;
	size_t first;
	int upto;
};

/**
 * struct side - a buffer of a call
 * @blocks: what is in it
 * @n: how many
 * @base: first element that the call is told of
 */
struct side {
	struct block blocks[CASE_RANKS];
	int n;
	size_t base;
};

static uint8_t *case_memory[2][2], *case_want[2];
static size_t case_room;

static inline void case_begin(size_t room)
{
	int i;

	case_room = room + 4 * CASE_GUARD;
	for (i = 0; i < 2; i++) {
		case_memory[0][i] = hcommMalloc(case_room);
		case_memory[1][i] = malloc(case_room);
		case_want[i] = malloc(case_room);
		if (!case_memory[0][i] || !case_memory[1][i] || !case_want[i])
			MUST(HCOMM_ERR_NO_MEMORY);
	}
}

static inline void case_end(void)
{
	int i;

	for (i = 0; i < 2; i++) {
		MUST(hcommFree(case_memory[0][i]));
		free(case_memory[1][i]);
		free(case_want[i]);
	}
}

static inline bool case_reduces(int coll)
{
	return coll <= CASE_REDUCE_SCATTER;
}

static inline bool case_has_vector(int coll)
{
	return coll == CASE_REDUCE_SCATTER || coll >= CASE_ALLGATHER;
}

static inline bool case_has_root(int coll)
{
	return coll == CASE_REDUCE || coll == CASE_BROADCAST || coll == CASE_GATHER ||
	       coll == CASE_SCATTER;
}

/* elements of the block from rank s to rank d, or of rank d's block */
static inline size_t case_count(const struct acase *c, int s, int d)
{
	size_t a = (size_t)s, b = (size_t)d;

	if (!c->vector)
		return c->count;
	if (c->coll != CASE_ALLTOALL)
		a = 0;
	else if (c->in_place && a > b)
		return case_count(c, d, s);
	/* some are empty */
	return (a * 5 + b * 3 + c->spread) % 4 ? (c->count + a * 7 + b * c->spread) %
						 (c->count + 1) : 0;
}

/* where the blocks of one side begin: from or to this rank, or of all ranks */
static inline void case_displs(const struct acase *c, bool to_me, size_t *counts,
			       size_t *displs)
{
	size_t at = 0;
	int i, q;

	for (i = 0; i < size; i++)
		counts[i] = to_me ? case_count(c, i, rank) : case_count(c, rank, i);
	for (i = 0; i < size; i++) {
		q = c->gap >= 0 && c->vector && c->coll != CASE_REDUCE_SCATTER ?
		    size - 1 - i : i;
		displs[q] = at;
		at += counts[q];
		if (q != i || size == 1)
			at += c->gap > 0 ? (size_t)c->gap : 0;
	}
}

static inline void add_block(struct side *side, size_t at, size_t count, int src,
			     size_t first, int upto)
{
	side->blocks[side->n++] = (struct block){ at, count, src, first, upto };
}

/**
 * struct layout - the buffers and the arrays of a call
 */
struct layout {
	struct side in;
	struct side out;
	size_t counts[CASE_RANKS];	/* to each */
	size_t displs[CASE_RANKS];
	size_t rcounts[CASE_RANKS];	/* from each */
	size_t rdispls[CASE_RANKS];
};

static inline void case_layout(const struct acase *c, struct layout *l)
{
	bool root = rank == c->root, here = c->in_place;
	struct side *in = &l->in, *out = &l->out;
	size_t n = c->count, own;
	int q;

	memset(l, 0, sizeof(*l));
	case_displs(c, false, l->counts, l->displs);
	case_displs(c, true, l->rcounts, l->rdispls);
	own = l->counts[rank];
	switch (c->coll) {
	case CASE_ALLREDUCE:
	case CASE_REDUCE:
	case CASE_SCAN:
	case CASE_EXSCAN:
		add_block(in, 0, n, rank, 0, 0);
		if (c->coll == CASE_ALLREDUCE || (c->coll == CASE_REDUCE && root))
			add_block(out, 0, n, 0, 0, size);
		if (c->coll == CASE_SCAN)
			add_block(out, 0, n, 0, 0, rank + 1);
		if (c->coll == CASE_EXSCAN && rank)
			add_block(out, 0, n, 0, 0, rank);
		break;
	case CASE_BROADCAST:
		if (root)
			add_block(in, 0, n, rank, 0, 0);
		add_block(out, 0, n, c->root, 0, 0);
		break;
	case CASE_REDUCE_SCATTER:
		for (q = 0; q < size; q++)
			add_block(in, l->displs[q], l->counts[q], rank, l->displs[q], 0);
		out->base = here ? l->displs[rank] : 0;
		add_block(out, out->base, own, 0, l->displs[rank], size);
		break;
	case CASE_ALLGATHER:
	case CASE_GATHER:
		for (q = 0; q < size && (root || c->coll == CASE_ALLGATHER); q++)
			add_block(out, l->displs[q], l->counts[q], q, 0, 0);
		in->base = here && out->n ? l->displs[rank] : 0;
		add_block(in, in->base, own, rank, 0, 0);
		break;
	case CASE_SCATTER:
		for (q = 0; q < size && root; q++)
			add_block(in, l->displs[q], l->counts[q], rank,
				  (size_t)q * 17, 0);
		out->base = here && root ? l->displs[rank] : 0;
		add_block(out, out->base, own, c->root, (size_t)rank * 17, 0);
		break;
	default:
		for (q = 0; q < size; q++) {
			add_block(in, l->displs[q], l->counts[q], rank, (size_t)q * 31, 0);
			add_block(out, l->rdispls[q], l->rcounts[q], q,
				  (size_t)rank * 31, 0);
		}
	}
}

static inline void case_fill(const struct acase *c, uint8_t *buf, const struct side *side)
{
	const struct block *b;
	size_t i;
	int k;

	for (k = 0; k < side->n; k++) {
		b = &side->blocks[k];
		for (i = 0; i < b->count; i++)
			put(c->type, buf, b->at + i,
			    b->upto ? prefix(c->type, c->op, b->upto, b->first + i) :
				      value(c->type, c->op, b->src, b->first + i));
	}
}

static inline size_t case_bytes(const struct acase *c, const struct side *side)
{
	size_t end = 0;
	int k;

	for (k = 0; k < side->n; k++) {
		if (side->blocks[k].at + side->blocks[k].count > end)
			end = side->blocks[k].at + side->blocks[k].count;
	}
	return end * type_bytes[c->type];
}

/* one of the forms of the same call */
#define CASE_CALL(name, ...)							\
	(c->form == FORM_ASYNC ? hcomm##name##Async(__VA_ARGS__, c->comm, &req) :	\
	 c->form == FORM_PERSISTENT ? hcomm##name##Init(__VA_ARGS__, c->comm, &req) :	\
				 hcomm##name(__VA_ARGS__, c->comm))

/* what remains of the call */
static inline hcommResult_t case_finish(const struct acase *c, hcommRequest_t *req)
{
	hcommResult_t ret = HCOMM_SUCCESS;

	if (c->form == FORM_PERSISTENT)
		ret = hcommStart(*req);
	if (!ret)
		ret = hcommWait(req);
	if (!ret && (c->form == FORM_PERSISTENT) != (*req != NULL))
		FAIL("a request that is waited for is %p", (void *)*req);
	return ret ? ret : hcommRequestFree(req);
}

static inline hcommResult_t case_vector(const struct acase *c, struct layout *l,
					const void *s, void *r)
{
	const size_t *displs = c->gap >= 0 ? l->displs : NULL;
	const size_t *rdispls = c->gap >= 0 ? l->rdispls : NULL;
	const size_t *counts = l->counts;
	bool root = rank == c->root;
	hcommRequest_t req = NULL;
	hcommResult_t ret;

	/* who need not know the counts does not */
	if (!root && (c->coll == CASE_GATHER || c->coll == CASE_SCATTER)) {
		counts = NULL;
		displs = NULL;
	}
	if (c->in_place && c->coll == CASE_ALLTOALL)
		counts = NULL;
	switch (c->coll) {
	case CASE_REDUCE_SCATTER:
		ret = CASE_CALL(ReduceScatterV, s, r, counts, c->type, c->op);
		break;
	case CASE_ALLGATHER:
		ret = CASE_CALL(AllGatherV, s, r, counts, displs, c->type);
		break;
	case CASE_GATHER:
		ret = CASE_CALL(GatherV, s, l->counts[rank], r, counts, displs, c->type,
				c->root);
		break;
	case CASE_SCATTER:
		ret = CASE_CALL(ScatterV, s, counts, displs, r, l->counts[rank], c->type,
				c->root);
		break;
	default:
		ret = CASE_CALL(AlltoAllV, s, counts, displs, r, l->rcounts, rdispls,
				c->type);
	}
	/* arrays are not needed any more */
	memset(l->counts, 0xff, sizeof(l->counts));
	memset(l->rdispls, 0xff, sizeof(l->rdispls));
	return ret ? ret : case_finish(c, &req);
}

static inline hcommResult_t case_call(const struct acase *c, const void *s, void *r)
{
	hcommRequest_t req = NULL;
	hcommResult_t ret;

	switch (c->coll) {
	case CASE_ALLREDUCE:
		ret = CASE_CALL(AllReduce, s, r, c->count, c->type, c->op);
		break;
	case CASE_REDUCE:
		ret = CASE_CALL(Reduce, s, r, c->count, c->type, c->op, c->root);
		break;
	case CASE_SCAN:
		ret = CASE_CALL(Scan, s, r, c->count, c->type, c->op);
		break;
	case CASE_EXSCAN:
		ret = CASE_CALL(Exscan, s, r, c->count, c->type, c->op);
		break;
	case CASE_REDUCE_SCATTER:
		ret = CASE_CALL(ReduceScatter, s, r, c->count, c->type, c->op);
		break;
	case CASE_BROADCAST:
		ret = CASE_CALL(Broadcast, s, r, c->count, c->type, c->root);
		break;
	case CASE_ALLGATHER:
		ret = CASE_CALL(AllGather, s, r, c->count, c->type);
		break;
	case CASE_GATHER:
		ret = CASE_CALL(Gather, s, r, c->count, c->type, c->root);
		break;
	case CASE_SCATTER:
		ret = CASE_CALL(Scatter, s, r, c->count, c->type, c->root);
		break;
	default:
		ret = CASE_CALL(AlltoAll, s, r, c->count, c->type);
	}
	return ret ? ret : case_finish(c, &req);
}

static inline void case_text(const struct acase *c, char *text, size_t room)
{
	snprintf(text, room,
		 "%s%s of %zu %s, op %d, root %d, spread %zu, gap %d, skew %d%s%s%s",
		 case_names[c->coll], c->vector ? "V" : "", c->count,
		 type_names[c->type], c->op, c->root, c->spread, c->gap, c->skew,
		 c->in_place ? ", in place" : "", c->plain ? ", plain" : "",
		 c->form == FORM_ASYNC ? ", async" :
		 c->form == FORM_PERSISTENT ? ", persistent" : "");
}

static inline void case_compare(const struct acase *c, const char *which,
				const uint8_t *got, const uint8_t *want, size_t bytes)
{
	char text[256];
	size_t i = 0;

	if (!memcmp(got, want, bytes))
		return;
	while (got[i] == want[i])
		i++;
	case_text(c, text, sizeof(text));
	FAIL("%s: byte %td of the %s buffer is %02x, must be %02x", text,
	     (ptrdiff_t)i - CASE_GUARD - c->skew, which, got[i], want[i]);
}

/* make the call, and look at every byte around it */
static inline void case_run(const struct acase *c)
{
	size_t lead = CASE_GUARD + (size_t)c->skew, bytes, out, elem = type_bytes[c->type];
	uint8_t **mem = case_memory[c->plain], *s, *r;
	bool here = c->in_place;
	hcommResult_t ret;
	struct layout l;
	char text[256];

	/* in place is the root's affair where it alone has both buffers */
	if ((c->coll == CASE_GATHER || c->coll == CASE_SCATTER || c->coll == CASE_BROADCAST ||
	     c->coll == CASE_REDUCE) && rank != c->root)
		here = false;
	case_layout(c, &l);
	bytes = case_bytes(c, &l.in);
	out = case_bytes(c, &l.out);
	bytes = 2 * lead + (out > bytes ? out : bytes);
	if (bytes > case_room)
		MUST(HCOMM_ERR_INVALID_USAGE);
	memset(mem[0], CASE_POISON, bytes);
	memset(mem[1], CASE_POISON, bytes);
	case_fill(c, mem[here] + lead, &l.in);
	memcpy(case_want[0], mem[0], bytes);
	memcpy(case_want[1], mem[1], bytes);
	case_fill(c, case_want[1] + lead, &l.out);

	s = mem[here] + lead + l.in.base * elem;
	r = mem[1] + lead + l.out.base * elem;
	/* NULL where nothing is used; in place there is one pointer */
	if (!here && !case_bytes(c, &l.in))
		s = NULL;
	if (!here && !out)
		r = NULL;
	ret = c->vector ? case_vector(c, &l, s, r) : case_call(c, s, r);
	if (ret) {
		case_text(c, text, sizeof(text));
		FAIL("%s: %s: %s", text, hcommGetErrorString(ret),
		     hcommGetLastError(NULL));
		MUST(ret);
	}
	case_compare(c, "send", mem[0], case_want[0], bytes);
	case_compare(c, "receive", mem[1], case_want[1], bytes);
}

#endif /* SELFTESTS_LIB_API_CASE_H */
