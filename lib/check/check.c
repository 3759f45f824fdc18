// SPDX-License-Identifier: LGPL-2.1-or-later
/* The checker's door: arguments, initial memory, and the order of the proofs. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../sched/args.h"
#include "internal.h"

static const char * const op_names[HCOMM_STEP_COUNT] = {
	[HCOMM_STEP_NOP] = "NOP",
	[HCOMM_STEP_SEND] = "SEND to",
	[HCOMM_STEP_RECV] = "RECV from",
	[HCOMM_STEP_RECV_REDUCE] = "RECV_REDUCE from",
	[HCOMM_STEP_COPY] = "COPY",
	[HCOMM_STEP_REDUCE] = "REDUCE",
	[HCOMM_STEP_SCALE] = "SCALE",
};

const char *chk_step_name(const struct checker *c, uint32_t rank, uint32_t step,
			  char *buf, size_t size)
{
	const struct hcomm_step *s = &c->progs[rank].steps[step];

	if (s->op >= HCOMM_STEP_COUNT)
		snprintf(buf, size, "op %u", s->op);
	else if (s->op == HCOMM_STEP_SEND || is_recv(s))
		snprintf(buf, size, "%s %u, message %u", op_names[s->op], s->peer,
			 s->msg);
	else
		snprintf(buf, size, "%s", op_names[s->op]);
	return buf;
}

int chk_fail(struct checker *c, enum hcomm_check_kind kind, uint32_t rank,
	     uint32_t step, const char *fmt, ...)
{
	struct hcomm_check_result *res = c->res;
	char name[64];
	va_list ap;
	int n;

	res->kind = kind;
	res->rank = rank;
	res->step = step;
	if (step == HCOMM_CHECK_NO_STEP)
		n = snprintf(res->text, sizeof(res->text), "rank %u: ", rank);
	else
		n = snprintf(res->text, sizeof(res->text), "rank %u step %u (%s): ",
			     rank, step,
			     chk_step_name(c, rank, step, name, sizeof(name)));
	va_start(ap, fmt);
	vsnprintf(res->text + n, sizeof(res->text) - n, fmt, ap);
	va_end(ap);
	return -EPROTO;
}

void chk_blocks(const struct checker *c, uint32_t rank, bool received,
		struct block *blocks)
{
	const struct hcomm_sched_args *a = &c->ranks[rank];
	bool v = a->vector || a->counts;
	const uint64_t *counts = received || a->in_place ? a->rcounts : a->counts;
	const uint64_t *displs = received || a->in_place ? a->rdispls : a->displs;
	uint64_t at = 0, count = a->count;
	uint32_t q;

	if (a->coll != HCOMM_COLL_ALLTOALL) {
		counts = a->counts;
		displs = a->displs;
	}
	for (q = 0; q < c->n; q++) {
		if (v) {
			count = counts[q];
			at = displs ? displs[q] : at;
		}
		blocks[q] = (struct block){ at * c->size, count * c->size };
		at += count;
	}
}

struct block chk_own_block(const struct checker *c, uint32_t rank)
{
	const struct hcomm_sched_args *a = &c->ranks[rank];
	struct block b = { 0, (a->counts ? a->counts[rank] : a->count) * c->size };
	uint32_t q;

	if (a->coll == HCOMM_COLL_GATHER || a->coll == HCOMM_COLL_SCATTER)
		return b;
	if (!a->counts)
		b.off = b.len * rank;
	else if (a->displs)
		b.off = a->displs[rank] * c->size;
	for (q = 0; a->counts && !a->displs && q < rank; q++)
		b.off += a->counts[q] * c->size;
	return b;
}

/* in place: bytes of slot 1 that are input */
static int input_in_output(struct checker *c, uint32_t rank, struct block *in)
{
	bool root = rank == c->args.root;
	struct block *all;

	*in = (struct block){ 0, slot_size(c, rank, HCOMM_SLOT_RECV) };
	switch (c->args.coll) {
	case HCOMM_COLL_ALLGATHER:
		*in = chk_own_block(c, rank);
		break;
	case HCOMM_COLL_GATHER:
		if (!root)
			break;
		all = malloc(c->n * sizeof(*all));
		if (!all)
			return -ENOMEM;
		chk_blocks(c, rank, false, all);
		*in = all[rank];
		free(all);
		break;
	case HCOMM_COLL_BROADCAST:
	case HCOMM_COLL_SCATTER:
	case HCOMM_COLL_P2P:
		if (!root)
			in->len = 0;
		break;
	}
	return 0;
}

/* the inputs, where they are */
static int init_memory(struct checker *c)
{
	struct block in;
	struct memory *m;
	uint32_t rank, slot;
	int err = 0;

	c->mem = calloc(c->n, 3 * sizeof(*c->mem));
	if (!c->mem)
		return -ENOMEM;
	for (rank = 0; rank < c->n && !err; rank++) {
		m = slot_memory(c, rank, 0);
		for (slot = 0; slot < 3 && !err; slot++)
			err = chk_memory_init(m + slot, slot_size(c, rank, slot));
		if (!err)
			err = chk_memory_set(m, 0, m->size, chk_expr_leaf(rank), 0);
		if (err || !c->args.in_place)
			continue;
		err = input_in_output(c, rank, &in);
		/* position 0 is where the input begins, or where all of it is */
		if (!err)
			err = chk_memory_set(m + 1, in.off, in.len, chk_expr_leaf(rank), 0);
	}
	return err;
}

static void destroy(struct checker *c)
{
	uint32_t i;

	for (i = 0; c->mem && i < 3 * c->n; i++)
		chk_memory_exit(&c->mem[i]);
	free(c->mem);
	free(c->sizes);
	chk_expr_exit(&c->expr);
	free(c->readers.cell);
	free(c->a.v);
	free(c->b.v);
	free(c->out.v);
	free(c->first);
	free(c->g);
	free(c->succ);
	free(c->node);
	free(c->link);
	free(c->sends);
	free(c->recvs);
	free(c->staging);
	free(c->staged);
	free(c->queue);
	free(c->stack);
	free(c->knows);
}

static int init_args(struct checker *c)
{
	uint32_t rank, slot;
	int err;

	if (!c->n || c->n > HCOMM_MAX_RANKS || !c->opts.chunk_size || !c->opts.window ||
	    !c->opts.staging_slots || c->args.coll == HCOMM_COLL_NONE ||
	    c->args.coll > HCOMM_COLL_EXSCAN)
		return -EINVAL;
	c->sizes = malloc(2 * (size_t)c->n * sizeof(*c->sizes));
	if (!c->sizes)
		return -ENOMEM;
	for (rank = 0; rank < c->n; rank++) {
		struct hcomm_sched_args a = c->ranks[rank];

		a.chunk_size = c->opts.chunk_size;
		err = hcomm_args_check(&a);
		if (err || a.nranks != c->n || a.rank != rank)
			return -EINVAL;
		for (slot = 0; slot < 2; slot++)
			c->sizes[2 * rank + slot] = hcomm_sched_buffer_size(&a, slot);
	}
	return c->opts.chunk_size % c->size ? -EINVAL : 0;
}

static int check(struct checker *c)
{
	int err;

	memset(c->res, 0, sizeof(*c->res));
	c->res->step = HCOMM_CHECK_NO_STEP;
	err = init_args(c);
	if (err)
		goto out;
	c->first = calloc(c->n + 1, sizeof(*c->first));
	err = c->first ? chk_expr_init(&c->expr, c->n) : -ENOMEM;
	if (!err)
		err = chk_rules(c);
	if (!err)
		err = chk_match(c);
	if (!err)
		err = init_memory(c);
	if (!err)
		err = chk_run(c);
	if (!err)
		err = chk_outcome(c);
out:
	destroy(c);
	return err;
}

int hcomm_check_each(const struct hcomm_check_prog *progs,
		     const struct hcomm_sched_args *args,
		     const struct hcomm_check_opts *opts,
		     struct hcomm_check_result *res)
{
	struct hcomm_sched_args *ranks;
	struct checker c = {
		.progs = progs, .args = *args, .opts = *opts, .res = res,
		.n = args->nranks, .size = hcomm_dtype_bytes(args->dtype),
	};
	int err;

	ranks = malloc((c.n + 1) * sizeof(*ranks));
	if (!ranks)
		return -ENOMEM;
	memcpy(ranks, args, c.n * sizeof(*ranks));
	c.ranks = ranks;
	err = check(&c);
	free(ranks);
	return err;
}

/* one for all ranks */
static struct hcomm_sched_args *spread(const struct hcomm_sched_args *args)
{
	struct hcomm_sched_args *ranks;
	uint32_t i;

	ranks = malloc((args->nranks + 1) * sizeof(*ranks));
	for (i = 0; ranks && i < args->nranks; i++) {
		ranks[i] = *args;
		ranks[i].rank = i;
	}
	return ranks;
}

int hcomm_check(const struct hcomm_check_prog *progs,
		const struct hcomm_sched_args *args,
		const struct hcomm_check_opts *opts,
		struct hcomm_check_result *res)
{
	struct hcomm_sched_args *ranks;
	int err;

	memset(res, 0, sizeof(*res));
	if (!args->nranks || args->nranks > HCOMM_MAX_RANKS)
		return -EINVAL;
	ranks = spread(args);
	if (!ranks)
		return -ENOMEM;
	err = hcomm_check_each(progs, ranks, opts, res);
	free(ranks);
	return err;
}

int hcomm_check_sched_each(const struct hcomm_sched_args *args,
			   const struct hcomm_check_opts *opts,
			   struct hcomm_check_result *res)
{
	struct hcomm_check_prog *progs;
	struct hcomm_plan **plans;
	uint32_t n = args->nranks, i;
	int err = 0;

	memset(res, 0, sizeof(*res));
	progs = calloc(n, sizeof(*progs));
	plans = calloc(n, sizeof(*plans));
	if (!progs || !plans)
		err = -ENOMEM;
	for (i = 0; i < n && !err; i++) {
		err = hcomm_sched_build(&args[i], &plans[i]);
		if (err)
			break;
		progs[i].steps = hcomm_plan_steps(plans[i], &progs[i].nsteps);
		progs[i].deps = hcomm_plan_deps(plans[i], &progs[i].ndeps);
		progs[i].nslots = hcomm_plan_nslots(plans[i]);
		progs[i].scratch_size = hcomm_plan_scratch_size(plans[i]);
	}
	if (!err)
		err = hcomm_check_each(progs, args, opts, res);
	for (i = 0; plans && i < n; i++)
		hcomm_plan_free(plans[i]);
	free(plans);
	free(progs);
	return err;
}

int hcomm_check_sched(const struct hcomm_sched_args *args,
		      const struct hcomm_check_opts *opts,
		      struct hcomm_check_result *res)
{
	struct hcomm_sched_args *ranks;
	int err;

	memset(res, 0, sizeof(*res));
	if (!args->nranks || args->nranks > HCOMM_MAX_RANKS)
		return -EINVAL;
	ranks = spread(args);
	if (!ranks)
		return -ENOMEM;
	err = hcomm_check_sched_each(ranks, opts, res);
	free(ranks);
	return err;
}
