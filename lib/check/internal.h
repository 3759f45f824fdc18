/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the parts of the checker share.  Steps of all ranks are numbered through
 * (gstep), and so are their chunks (nodes).
 */
#ifndef HCOMM_CHECK_INTERNAL_H
#define HCOMM_CHECK_INTERNAL_H

#include "check.h"
#include "expr.h"
#include "memory.h"

#define NO_GSTEP	UINT32_MAX
#define NO_LINK		UINT32_MAX

/**
 * struct gstep - a step of some rank
 * @s: the step
 * @rank: its rank
 * @node: its first chunk
 * @nchunks: its chunks
 * @succ: index of its first successor
 * @nsucc: successors
 * @link: of a message, NO_LINK: none
 * @peer: of a message, the step at the other end
 * @deps_left: plain dependencies that are not complete
 * @issued: chunks begun
 * @done: chunks complete
 * @queued: it is in the work queue
 */
struct gstep {
	const struct hcomm_step *s;
	uint32_t rank;
	uint32_t node;
	uint32_t nchunks;
	uint32_t succ;
	uint32_t nsucc;
	uint32_t link;
	uint32_t peer;
	uint32_t deps_left;
	uint32_t issued;
	uint32_t done;
	bool queued;
};

/**
 * struct node - a chunk
 * @gstep: its step
 * @issued: when it began; 0: not yet
 * @done: when it was complete; 0: not yet
 * @stamp: last search that came by
 */
struct node {
	uint32_t gstep;
	uint32_t issued;
	uint32_t done;
	uint32_t stamp;
};

/**
 * struct link - all messages from one rank to another
 * @src: sender
 * @dst: receiver
 * @first: index of its messages in the lists of sends and receives
 * @count: messages
 * @send: next message to send
 * @recv: next message to accept
 * @move: next message to move
 * @sent: chunks sent
 * @accepted: chunks accepted
 * @moved: chunks moved
 */
struct link {
	uint32_t src;
	uint32_t dst;
	uint32_t first;
	uint32_t count;
	uint32_t send;
	uint32_t recv;
	uint32_t move;
	uint64_t sent;
	uint64_t accepted;
	uint64_t moved;
};

/**
 * struct staging - staging memory of a rank
 * @first: its first step that needs some, in the list of them
 * @count: how many such steps
 * @next: the one that may take some
 * @used: chunks in use
 */
struct staging {
	uint32_t first;
	uint32_t count;
	uint32_t next;
	uint32_t used;
};

struct checker {
	const struct hcomm_check_prog *progs;
	struct hcomm_sched_args args;	/* what is equal on all ranks */
	struct hcomm_sched_args *ranks;	/* by rank */
	uint64_t *sizes;	/* of slots 0 and 1, by rank */
	struct hcomm_check_opts opts;
	struct hcomm_check_result *res;
	uint32_t n;
	uint32_t size;		/* of an element */

	uint32_t *first;	/* n + 1: first gstep of each rank */
	struct gstep *g;
	uint32_t nsteps;
	uint32_t *succ;		/* gstep, with HCOMM_DEP_STREAM */
	struct node *node;
	uint32_t nnodes;

	struct link *link;
	uint32_t nlinks;
	uint32_t *sends;	/* gsteps, by link and message */
	uint32_t *recvs;
	struct staging *staging;
	uint32_t *staged;	/* gsteps, by rank */

	struct memory *mem;	/* n * 3 */
	struct expr_pool expr;
	struct readers readers;
	struct values a, b, out;

	uint32_t *queue;
	uint32_t queue_len;
	uint32_t *stack;
	uint32_t stack_room;
	uint32_t stamp;
	uint32_t clock;
	uint32_t fixed;		/* expression of the fixed order over ... */
	uint32_t fixed_below;	/* ... the ranks below this */
	uint64_t *knows;	/* barrier: ranks heard of, by gstep */
	uint32_t words;		/* of such a set */
};

static inline struct memory *slot_memory(struct checker *c, uint32_t rank,
					 uint32_t slot)
{
	return &c->mem[rank * 3 + slot];
}

static inline uint32_t local_step(const struct checker *c, uint32_t gs)
{
	return gs - c->first[c->g[gs].rank];
}

static inline bool is_recv(const struct hcomm_step *s)
{
	return s->op == HCOMM_STEP_RECV || s->op == HCOMM_STEP_RECV_REDUCE;
}

static inline bool reads_slot(const struct hcomm_step *s)
{
	return s->op != HCOMM_STEP_NOP && s->op != HCOMM_STEP_RECV;
}

static inline bool writes_slot(const struct hcomm_step *s)
{
	return s->op != HCOMM_STEP_NOP && s->op != HCOMM_STEP_SEND;
}

static inline uint32_t step_chunks(const struct checker *c, uint64_t len)
{
	if (len <= c->opts.eager_size || !len)
		return 1;
	return (len + c->opts.chunk_size - 1) / c->opts.chunk_size;
}

static inline uint64_t slot_size(const struct checker *c, uint32_t rank,
				 uint32_t slot)
{
	return slot == HCOMM_SLOT_SCRATCH ? c->progs[rank].scratch_size :
					    c->sizes[2 * rank + slot];
}

/**
 * struct block - one of the blocks that a buffer is made of
 * @off: first byte
 * @len: bytes
 */
struct block {
	uint64_t off;
	uint64_t len;
};

/*
 * The blocks of the buffer of a rank that has all of them, by rank: of ALLTOALL
 * those that it sends, or those that it receives.
 */
void chk_blocks(const struct checker *c, uint32_t rank, bool received,
		struct block *blocks);

/* the block of a rank, as the rank itself knows it: @off is 0 for GATHER and SCATTER */
struct block chk_own_block(const struct checker *c, uint32_t rank);

/* "SEND to 3, message 0" */
const char *chk_step_name(const struct checker *c, uint32_t rank, uint32_t step,
			  char *buf, size_t size);

/* record what is wrong; always -EPROTO */
int chk_fail(struct checker *c, enum hcomm_check_kind kind, uint32_t rank,
	     uint32_t step, const char *fmt, ...)
	__attribute__((format(printf, 5, 6)));

int chk_rules(struct checker *c);
int chk_match(struct checker *c);
int chk_run(struct checker *c);
int chk_outcome(struct checker *c);

/* may chunk @y touch what @x touched: is x complete before y begins, always? */
int chk_ordered(struct checker *c, uint32_t x, uint32_t y, bool *yes);

#endif /* HCOMM_CHECK_INTERNAL_H */
