// SPDX-License-Identifier: LGPL-2.1-or-later
/* The checker's door: arguments, initial memory, and the order of the proofs. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

static const char * const op_names[HCOMM_STEP_COUNT] = {
	[HCOMM_STEP_NOP] = "NOP",
	[HCOMM_STEP_SEND] = "SEND to",
	[HCOMM_STEP_RECV] = "RECV from",
	[HCOMM_STEP_RECV_REDUCE] = "RECV_REDUCE from",
	[HCOMM_STEP_COPY] = "COPY",
	[HCOMM_STEP_REDUCE] = "REDUCE",
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

static int known(uint32_t coll)
{
	switch (coll) {
	case HCOMM_COLL_P2P:
	case HCOMM_COLL_BARRIER:
	case HCOMM_COLL_BROADCAST:
	case HCOMM_COLL_REDUCE:
	case HCOMM_COLL_ALLREDUCE:
	case HCOMM_COLL_REDUCE_SCATTER:
	case HCOMM_COLL_ALLGATHER:
		return 1;
	}
	return 0;
}

/* the inputs, where they are */
static int init_memory(struct checker *c)
{
	uint64_t one = c->args.count * c->size;
	uint32_t rank, coll = c->args.coll;
	struct memory *m;
	int err;

	c->mem = calloc(c->n, 3 * sizeof(*c->mem));
	if (!c->mem)
		return -ENOMEM;
	for (rank = 0; rank < c->n; rank++) {
		struct hcomm_sched_args a = rank_args(c, rank);
		uint64_t in = hcomm_sched_buffer_size(&a, HCOMM_SLOT_SEND);
		uint64_t out = hcomm_sched_buffer_size(&a, HCOMM_SLOT_RECV);

		m = slot_memory(c, rank, 0);
		err = chk_memory_init(m, in);
		if (!err)
			err = chk_memory_init(m + 1, out);
		if (!err)
			err = chk_memory_init(m + 2, c->progs[rank].scratch_size);
		if (!err)
			err = chk_memory_set(m, 0, in, chk_expr_leaf(rank), 0);
		if (err)
			return err;
		if (!c->args.in_place)
			continue;
		if (coll == HCOMM_COLL_ALLGATHER)
			err = chk_memory_set(m + 1, rank * one, one, chk_expr_leaf(rank), 0);
		else if ((coll != HCOMM_COLL_BROADCAST && coll != HCOMM_COLL_P2P) ||
			 rank == c->args.root)
			err = chk_memory_set(m + 1, 0, out, chk_expr_leaf(rank), 0);
		if (err)
			return err;
	}
	return 0;
}

static void destroy(struct checker *c)
{
	uint32_t i;

	for (i = 0; c->mem && i < 3 * c->n; i++)
		chk_memory_exit(&c->mem[i]);
	free(c->mem);
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

int hcomm_check(const struct hcomm_check_prog *progs,
		const struct hcomm_sched_args *args,
		const struct hcomm_check_opts *opts,
		struct hcomm_check_result *res)
{
	struct checker c = {
		.progs = progs, .args = *args, .opts = *opts, .res = res,
		.n = args->nranks, .size = hcomm_dtype_bytes(args->dtype),
	};
	int err;

	memset(res, 0, sizeof(*res));
	res->step = HCOMM_CHECK_NO_STEP;
	if (!c.n || c.n > HCOMM_MAX_RANKS || !c.size || args->root >= c.n ||
	    args->peer >= c.n || !opts->chunk_size ||
	    opts->chunk_size % c.size || !opts->window || !opts->staging_slots ||
	    args->count > (1ull << 60) / c.size / c.n || !known(args->coll))
		return -EINVAL;

	c.first = calloc(c.n + 1, sizeof(*c.first));
	err = c.first ? chk_expr_init(&c.expr, c.n) : -ENOMEM;
	if (!err)
		err = chk_rules(&c);
	if (!err)
		err = chk_match(&c);
	if (!err)
		err = init_memory(&c);
	if (!err)
		err = chk_run(&c);
	if (!err)
		err = chk_outcome(&c);
	destroy(&c);
	return err;
}

int hcomm_check_sched(const struct hcomm_sched_args *args,
		      const struct hcomm_check_opts *opts,
		      struct hcomm_check_result *res)
{
	struct hcomm_sched_args a = *args;
	struct hcomm_check_prog *progs;
	struct hcomm_plan **plans;
	uint32_t i;
	int err = 0;

	memset(res, 0, sizeof(*res));
	if (!a.nranks || a.nranks > HCOMM_MAX_RANKS)
		return -EINVAL;
	progs = calloc(a.nranks, sizeof(*progs));
	plans = calloc(a.nranks, sizeof(*plans));
	if (!progs || !plans)
		err = -ENOMEM;
	for (i = 0; i < a.nranks && !err; i++) {
		a.rank = i;
		err = hcomm_sched_build(&a, &plans[i]);
		if (err)
			break;
		progs[i].steps = hcomm_plan_steps(plans[i], &progs[i].nsteps);
		progs[i].deps = hcomm_plan_deps(plans[i], &progs[i].ndeps);
		progs[i].nslots = hcomm_plan_nslots(plans[i]);
		progs[i].scratch_size = hcomm_plan_scratch_size(plans[i]);
	}
	if (!err)
		err = hcomm_check(progs, args, opts, res);
	for (i = 0; plans && i < args->nranks; i++)
		hcomm_plan_free(plans[i]);
	free(plans);
	free(progs);
	return err;
}
