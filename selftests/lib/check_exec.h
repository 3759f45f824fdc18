/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The executor: it moves real numbers, chunk by chunk, in random order, held back by
 * nothing but what the ABI says about dependencies and messages.
 */
#ifndef HCOMM_TEST_CHECK_EXEC_H
#define HCOMM_TEST_CHECK_EXEC_H

#include "check_values.h"

struct exec_step {
	uint32_t nchunks;
	uint32_t issued;
	uint8_t *done;		/* by chunk */
	uint8_t *taken;		/* SEND: by chunk, the data is in flight */
	uint8_t *flight;	/* SEND: the data */
	bool eager;
};

struct exec {
	const struct set *set;
	uint8_t *mem[MAX_RANKS][3];
	uint32_t *before[MAX_RANKS];	/* slot 1 at the start */
	struct exec_step *st[MAX_RANKS];
	bool entered[MAX_RANKS];
	uint32_t left[MAX_RANKS];	/* chunks to go */
};

static void exec_init(struct exec *x, const struct set *set)
{
	uint32_t r, i, k;
	uint64_t n, e, at;

	memset(x, 0, sizeof(*x));
	x->set = set;
	for (r = 0; r < set->args.nranks; r++) {
		const struct hcomm_check_prog *p = &set->prog[r];

		for (k = 0; k < 3; k++) {
			n = slot_size(set, r, k);
			x->mem[r][k] = dup(NULL, 0, n);
			for (e = 0; e < n; e++)
				x->mem[r][k][e] = rnd(256);
		}
		for (e = 0; e < slot_size(set, r, 0) / SIZE; e++)
			((uint32_t *)x->mem[r][0])[e] = value(r, e);
		n = input_in_output(set, r, &at);
		for (e = 0; e < n; e++)
			((uint32_t *)x->mem[r][1])[at + e] = value(r, e);
		x->before[r] = dup(x->mem[r][1], slot_size(set, r, 1), 0);

		x->st[r] = dup(NULL, 0, p->nsteps * sizeof(*x->st[r]));
		for (i = 0; i < p->nsteps; i++) {
			struct exec_step *st = &x->st[r][i];
			uint64_t len = p->steps[i].len;

			st->nchunks = len <= set->opts.eager_size || !len ? 1 :
				(len + set->opts.chunk_size - 1) / set->opts.chunk_size;
			st->done = dup(NULL, 0, st->nchunks);
			st->taken = dup(NULL, 0, st->nchunks);
			st->flight = dup(NULL, 0, len);
			st->eager = rnd(2);
			x->left[r] += st->nchunks;
		}
	}
}

static void exec_exit(struct exec *x)
{
	uint32_t r, i;

	for (r = 0; r < x->set->args.nranks; r++) {
		for (i = 0; i < x->set->prog[r].nsteps; i++) {
			free(x->st[r][i].done);
			free(x->st[r][i].taken);
			free(x->st[r][i].flight);
		}
		free(x->st[r]);
		for (i = 0; i < 3; i++)
			free(x->mem[r][i]);
		free(x->before[r]);
	}
}

/* may the next chunk of a step begin? */
static bool exec_ready(const struct exec *x, uint32_t r, uint32_t i)
{
	const struct hcomm_check_prog *p = &x->set->prog[r];
	const struct hcomm_step *s = &p->steps[i];
	uint32_t chunk = x->st[r][i].issued, k, j;

	if (!x->entered[r] || chunk == x->st[r][i].nchunks)
		return false;
	for (k = 0; k < s->dep_count; k++) {
		uint32_t dep = p->deps[s->dep_first + k];
		const struct exec_step *d = &x->st[r][HCOMM_DEP_INDEX(dep)];

		for (j = 0; j < d->nchunks; j++) {
			if ((!(dep & HCOMM_DEP_STREAM) || j == chunk) && !d->done[j])
				return false;
		}
	}
	/* messages of a pair begin in order */
	for (k = 0; has_peer(s) && k < i; k++) {
		if (has_peer(&p->steps[k]) && p->steps[k].peer == s->peer &&
		    receives(&p->steps[k]) == receives(s) &&
		    x->st[r][k].issued < x->st[r][k].nchunks)
			return false;
	}
	return true;
}

static uint32_t other_end(const struct exec *x, uint32_t r, const struct hcomm_step *s)
{
	const struct hcomm_check_prog *p = &x->set->prog[s->peer];
	uint32_t i;

	for (i = 0; i < p->nsteps; i++) {
		if (has_peer(&p->steps[i]) && p->steps[i].peer == r &&
		    p->steps[i].msg == s->msg &&
		    receives(&p->steps[i]) != receives(s))
			return i;
	}
	abort();
}

static uint64_t chunk_at(const struct exec *x, uint32_t r, uint32_t i, uint32_t chunk,
			 uint64_t *len)
{
	uint64_t off = (uint64_t)chunk * x->set->opts.chunk_size;
	uint64_t all = x->set->prog[r].steps[i].len;

	*len = all;
	if (x->st[r][i].nchunks > 1)
		*len = all - off < x->set->opts.chunk_size ?
		       all - off : x->set->opts.chunk_size;
	return off;
}

static void finish(struct exec *x, uint32_t r, uint32_t i, uint32_t chunk)
{
	x->st[r][i].done[chunk] = 1;
	x->left[r]--;
}

static void reduce(uint32_t op, uint8_t *dst, const uint8_t *a, const uint8_t *b,
		   uint64_t len)
{
	uint32_t va, vb, v;
	uint64_t e;

	for (e = 0; e < len; e += SIZE) {
		memcpy(&va, a + e, SIZE);
		memcpy(&vb, b + e, SIZE);
		v = apply(op, va, vb);
		memcpy(dst + e, &v, SIZE);
	}
}

static void exec_local(struct exec *x, uint32_t r, uint32_t i)
{
	const struct hcomm_step *s = &x->set->prog[r].steps[i];
	uint32_t chunk = x->st[r][i].issued++;
	uint64_t len, off = chunk_at(x, r, i, chunk, &len);
	uint8_t *src = x->mem[r][s->src_slot] + s->src_off + off;
	uint8_t *dst = x->mem[r][s->dst_slot] + s->dst_off + off;

	if (s->op == HCOMM_STEP_COPY)
		memmove(dst, src, len);
	else if (s->op == HCOMM_STEP_REDUCE)
		reduce(s->redop, dst, dst, src, len);
	finish(x, r, i, chunk);
}

/* the data of a SEND leaves: at once, or when it is accepted */
static bool exec_take(struct exec *x, uint32_t r, uint32_t i, uint32_t chunk, bool test)
{
	const struct hcomm_step *s = &x->set->prog[r].steps[i];
	struct exec_step *st = &x->st[r][i];
	uint64_t len, off = chunk_at(x, r, i, chunk, &len);

	if (chunk >= st->issued || st->taken[chunk] ||
	    (!st->eager && x->st[s->peer][other_end(x, r, s)].issued <= chunk))
		return false;
	if (test)
		return true;
	memcpy(st->flight + off, x->mem[r][s->src_slot] + s->src_off + off, len);
	st->taken[chunk] = 1;
	finish(x, r, i, chunk);
	return true;
}

static bool exec_land(struct exec *x, uint32_t r, uint32_t i, uint32_t chunk, bool test)
{
	const struct hcomm_step *s = &x->set->prog[r].steps[i];
	struct exec_step *st = &x->st[r][i], *from;
	uint64_t len, off = chunk_at(x, r, i, chunk, &len);
	uint8_t *dst;

	from = &x->st[s->peer][other_end(x, r, s)];
	if (chunk >= st->issued || st->done[chunk] || !from->taken[chunk])
		return false;
	if (test)
		return true;
	dst = x->mem[r][s->dst_slot] + s->dst_off + off;
	if (s->op == HCOMM_STEP_RECV)
		memcpy(dst, from->flight + off, len);
	else
		reduce(s->redop, dst, x->mem[r][s->src_slot] + s->src_off + off,
		       from->flight + off, len);
	finish(x, r, i, chunk);
	return true;
}

struct action {
	uint32_t rank, step, chunk;
	enum { BEGIN, LOCAL, TAKE, LAND } what;
};

static uint32_t exec_actions(struct exec *x, struct action *list, uint32_t room)
{
	uint32_t r, i, k, n = 0;

	for (r = 0; r < x->set->args.nranks; r++) {
		for (i = 0; i < x->set->prog[r].nsteps; i++) {
			const struct hcomm_step *s = &x->set->prog[r].steps[i];

			if (n + x->st[r][i].nchunks + 1 > room)
				return n;
			if (exec_ready(x, r, i))
				list[n++] = (struct action){
					r, i, 0, has_peer(s) ? BEGIN : LOCAL,
				};
			for (k = 0; has_peer(s) && k < x->st[r][i].issued; k++) {
				if (receives(s) ? exec_land(x, r, i, k, true) :
						  exec_take(x, r, i, k, true))
					list[n++] = (struct action){
						r, i, k, receives(s) ? LAND : TAKE,
					};
			}
		}
	}
	return n;
}

static bool exec_right(const struct exec *x)
{
	const struct set *set = x->set;
	uint64_t e;
	uint32_t r;

	for (r = 0; r < set->args.nranks; r++) {
		for (e = 0; e < slot_size(set, r, 0) / SIZE; e++) {
			if (((uint32_t *)x->mem[r][0])[e] != value(r, e))
				return false;
		}
		exec_want(set, r, x->before[r]);
		if (memcmp(x->before[r], x->mem[r][1], slot_size(set, r, 1)))
			return false;
	}
	return true;
}

/*
 * Run in random order.  One rank enters only when nothing else can go on: of a
 * barrier, nobody may be through by then.
 */
static bool exec(const struct set *set, uint32_t late)
{
	static struct action list[4096];
	uint32_t n, r, i, favour;
	bool good = true;
	struct exec x;

	exec_init(&x, set);
	for (r = 0; r < set->args.nranks; r++)
		x.entered[r] = r != late;
	/* now and then one kind of action always waits for the others */
	favour = rnd(6);
	for (;;) {
		struct action a;

		n = exec_actions(&x, list, 4096);
		if (!n && !x.entered[late]) {
			for (r = 0; r < set->args.nranks; r++) {
				if (set->args.coll == HCOMM_COLL_BARRIER && r != late &&
				    !x.left[r])
					good = false;
			}
			x.entered[late] = true;
			continue;
		}
		if (!n)
			break;
		a = list[rnd(n)];
		for (i = 0; i < 8 && a.what == favour; i++)
			a = list[rnd(n)];
		switch (a.what) {
		case BEGIN:
			x.st[a.rank][a.step].issued++;
			break;
		case LOCAL:
			exec_local(&x, a.rank, a.step);
			break;
		case TAKE:
			exec_take(&x, a.rank, a.step, a.chunk, false);
			break;
		case LAND:
			exec_land(&x, a.rank, a.step, a.chunk, false);
			break;
		}
	}
	for (r = 0; r < set->args.nranks; r++)
		good &= !x.left[r];	/* else it hangs */
	good = good && exec_right(&x);
	exec_exit(&x);
	return good;
}

static bool exec_often(const struct set *set, uint32_t times)
{
	uint32_t i;

	for (i = 0; i < times; i++) {
		if (!exec(set, i % set->args.nranks))
			return false;
	}
	return true;
}

#endif /* HCOMM_TEST_CHECK_EXEC_H */
