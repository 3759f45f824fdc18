// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Pipelined trees.
 *
 * The data is cut into slices that go up and down one behind the other.  A
 * slice is a message, a few chunks long where there is much data: staging memory
 * is given to RECV_REDUCEs in step order, so a message of all the data from the
 * first child would keep the second one waiting.
 *
 * Order of steps, the same on all ranks: in turn t, slice t goes up in each
 * tree, then slice t - delay comes down in each tree.  A rank may be both parent
 * and child of another one, in two trees; as messages of a pair can't overtake
 * one another, the delay lets slices go on climbing while the first ones come
 * down.
 */
#include <errno.h>
#include <stdlib.h>

#include "builders.h"
#include "hierarchy.h"
#include "tree.h"

#define SLICE_CHUNKS	4	/* longest slice */
#define MIN_SLICES	16	/* before slices get longer than a chunk */
#define MAX_SLICES	1024
#define BUFFERS		8	/* slices of scratch memory */

/*
 * acc: where partial sums are made, off being that of the scratch buffers;
 * up: per slice, the SEND to the parent, or what made the result at the root;
 * sent: the last SEND of the slice before, on the way down from the root
 */
struct tree_state {
	const struct hcomm_tree *tree;
	uint64_t first;
	uint64_t count;
	struct hcomm_loc acc;
	uint64_t buffer;
	uint32_t *up;
	uint32_t sent;
};

struct emitter {
	struct hcomm_plan *plan;
	const struct hcomm_sched_args *args;
	struct tree_state state[HCOMM_MAX_TREES];
	uint32_t ntrees;
	uint32_t nslices;
	bool up;
	bool down;
	bool meanwhile;	/* the root copies a slice while its children get it */
};

static uint64_t slice_of(const struct emitter *e, const struct tree_state *ts,
			 uint32_t slice, uint64_t *off)
{
	uint32_t size = hcomm_dtype_bytes(e->args->dtype);
	uint64_t first, n;

	n = hcomm_split(ts->count, e->nslices, slice, &first);
	*off = (ts->first + first) * size;
	return n * size;
}

uint32_t hcomm_tree_slices(const struct hcomm_sched_args *args, uint64_t count)
{
	uint64_t n = count * hcomm_dtype_bytes(args->dtype) / args->chunk_size;

	if (n > (uint64_t)MIN_SLICES * SLICE_CHUNKS)
		n /= SLICE_CHUNKS;
	else if (n > MIN_SLICES)
		n = MIN_SLICES;
	n = (n ? n : 1) * args->channels;
	return n > MAX_SLICES ? MAX_SLICES : n;
}

static void slice_up(struct emitter *e, struct tree_state *ts, uint32_t slice)
{
	const struct hcomm_tree *tree = ts->tree;
	uint32_t made = HCOMM_NO_STEP, i;
	struct hcomm_loc in, acc;
	uint64_t off, len;

	ts->up[slice] = HCOMM_NO_STEP;
	len = slice_of(e, ts, slice, &off);
	if (!len)
		return;
	in = hcomm_input(e->args, off);
	acc = ts->acc;
	if (acc.slot == HCOMM_SLOT_SCRATCH)
		acc.off += slice % BUFFERS * ts->buffer;
	else
		acc.off = off;

	for (i = 0; i < tree->nchildren; i++) {
		uint32_t step = hcomm_plan_recv_reduce(e->plan, tree->child[i],
						       acc, in, len);

		hcomm_plan_stream(e->plan, made);
		/* the scratch buffer is still being sent from */
		if (!i && acc.slot == HCOMM_SLOT_SCRATCH && slice >= BUFFERS)
			hcomm_plan_stream(e->plan, ts->up[slice - BUFFERS]);
		made = step;
		in = acc;
	}
	ts->up[slice] = made;
	if (tree->parent != HCOMM_NO_RANK) {
		ts->up[slice] = hcomm_plan_send(e->plan, tree->parent, in, len);
		hcomm_plan_stream(e->plan, made);
	}
}

static void slice_down(struct emitter *e, struct tree_state *ts, uint32_t slice)
{
	const struct hcomm_tree *tree = ts->tree;
	uint32_t made = HCOMM_NO_STEP, step = HCOMM_NO_STEP, i;
	struct hcomm_loc src;
	uint64_t off, len;

	len = slice_of(e, ts, slice, &off);
	if (!len)
		return;
	if (tree->parent != HCOMM_NO_RANK) {
		src = hcomm_output(off);
		made = hcomm_plan_recv(e->plan, tree->parent, src, len);
		/* what went up was sent from here, unless from the input */
		if (e->up && (tree->nchildren || e->args->in_place))
			hcomm_plan_stream(e->plan, ts->up[slice]);
	} else if (e->up) {
		src = hcomm_output(off);
		made = ts->up[slice];
	} else {
		src = hcomm_input(e->args, off);
	}
	/* the largest subtree first: it needs the most time */
	for (i = tree->nchildren; i-- > 0;) {
		step = hcomm_plan_send(e->plan, tree->child[i], src, len);
		hcomm_plan_stream(e->plan, made);
	}
	if (!e->up && tree->parent == HCOMM_NO_RANK && !e->args->in_place) {
		hcomm_plan_copy(e->plan, hcomm_output(off), src, len);
		hcomm_plan_stream(e->plan, e->meanwhile ? ts->sent : step);
		ts->sent = step;
	}
}

static void init_tree(struct emitter *e, uint32_t t, const struct hcomm_tree *tree)
{
	const struct hcomm_sched_args *args = e->args;
	struct tree_state *ts = &e->state[t];
	uint32_t size = hcomm_dtype_bytes(args->dtype), n;
	uint64_t first;

	ts->tree = tree;
	ts->sent = HCOMM_NO_STEP;
	ts->count = hcomm_split(args->count, e->ntrees, t, &ts->first);
	ts->up = malloc(e->nslices * sizeof(*ts->up));
	if (!ts->up)
		hcomm_plan_fail(e->plan, -ENOMEM);
	ts->acc = hcomm_output(0);
	/* only the root of a REDUCE has an output */
	if (e->up && !e->down && tree->nchildren && tree->parent != HCOMM_NO_RANK) {
		n = e->nslices < BUFFERS ? e->nslices : BUFFERS;
		ts->buffer = (hcomm_split(ts->count, e->nslices, 0, &first) *
			      size + 63) & ~63ull;
		ts->acc = hcomm_loc(HCOMM_SLOT_SCRATCH,
				    hcomm_plan_scratch(e->plan, n * ts->buffer));
	}
}

/*
 * May the root of a broadcast copy a slice for itself while its children get it?  On one
 * node they read it by themselves, and of two ranks the other's grant takes its time.
 * Grants of several ranks would wait behind a copy, and with them whole subtrees: there a
 * slice is copied when it is sent.
 */
static bool copy_meanwhile(const struct hcomm_sched_args *args,
			   const struct hcomm_tree *trees, uint32_t ntrees)
{
	uint32_t node = hcomm_node_of(args, args->rank), t, i;

	if (args->nranks == 2)
		return true;
	for (t = 0; t < ntrees; t++)
		for (i = 0; i < trees[t].nchildren; i++)
			if (hcomm_node_of(args, trees[t].child[i]) != node)
				return false;
	return true;
}

void hcomm_tree_emit(struct hcomm_plan *plan, const struct hcomm_sched_args *args,
		     const struct hcomm_tree *trees, uint32_t ntrees,
		     uint32_t height)
{
	struct emitter e = {
		.plan = plan,
		.args = args,
		.ntrees = ntrees,
		.up = args->coll != HCOMM_COLL_BROADCAST,
		.down = args->coll != HCOMM_COLL_REDUCE,
		.meanwhile = copy_meanwhile(args, trees, ntrees),
	};
	uint32_t delay = e.up ? 2 * height : 0, turn, t;
	uint64_t first;

	/* the widest part decides, so that all ranks and trees agree */
	e.nslices = hcomm_tree_slices(args, hcomm_split(args->count, ntrees, 0, &first));
	for (t = 0; t < ntrees; t++)
		init_tree(&e, t, &trees[t]);

	for (turn = 0; !plan->err && turn < e.nslices + delay; turn++) {
		if (turn >= e.nslices && turn < delay)
			turn = delay;
		for (t = 0; e.up && turn < e.nslices && t < ntrees; t++)
			slice_up(&e, &e.state[t], turn);
		for (t = 0; e.down && turn >= delay && t < ntrees; t++)
			slice_down(&e, &e.state[t], turn - delay);
	}

	for (t = 0; t < ntrees; t++)
		free(e.state[t].up);
}
