/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Programs of all ranks as the checker's tests keep them, and the executor:
 * it moves real numbers, chunk by chunk, in random order, held back by nothing
 * but what the ABI says about dependencies and messages.
 */
#ifndef HCOMM_TEST_CHECK_EXEC_H
#define HCOMM_TEST_CHECK_EXEC_H

#include "check_cases.h"

#define MAX_RANKS	9
#define SIZE		4	/* all programs here reduce uint32, or fp32 */

static uint64_t seed;

static uint32_t rnd(uint32_t n)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (seed >> 11) % n;
}

/* ----------------------------------------------------------- sets of programs */

/* @args is what ranks have in common; @of has them all */
struct set {
	struct hcomm_sched_args args;
	struct test_case of;
	struct hcomm_sched_topo *topo;
	struct hcomm_check_opts opts;
	struct hcomm_check_prog prog[MAX_RANKS];
	struct hcomm_step *steps[MAX_RANKS];
	uint32_t *deps[MAX_RANKS];
};

static void *dup(const void *p, size_t n, size_t extra)
{
	char *q = calloc(1, n + extra + 1);

	if (!q)
		abort();
	if (n)
		memcpy(q, p, n);
	return q;
}

/* room for one more step and its dependencies is left */
static void set_prog(struct set *set, uint32_t r, const struct hcomm_step *steps,
		     uint32_t nsteps, const uint32_t *deps, uint32_t ndeps,
		     uint64_t scratch)
{
	set->steps[r] = dup(steps, nsteps * sizeof(*steps), sizeof(*steps));
	set->deps[r] = dup(deps, ndeps * sizeof(*deps), nsteps * sizeof(*deps));
	set->prog[r] = (struct hcomm_check_prog){
		.steps = set->steps[r], .deps = set->deps[r], .nsteps = nsteps,
		.ndeps = ndeps, .nslots = scratch ? 3 : 2, .scratch_size = scratch,
	};
}

static void set_build(struct set *set)
{
	struct hcomm_plan *plan;
	uint32_t nsteps, ndeps, r;

	for (r = 0; r < set->args.nranks; r++) {
		if (hcomm_sched_build(&set->of.ranks[r], &plan))
			abort();
		const struct hcomm_step *steps = hcomm_plan_steps(plan, &nsteps);
		const uint32_t *deps = hcomm_plan_deps(plan, &ndeps);

		set_prog(set, r, steps, nsteps, deps, ndeps,
			 hcomm_plan_scratch_size(plan));
		hcomm_plan_free(plan);
	}
}

static void set_copy(struct set *to, const struct set *from)
{
	uint32_t r;

	*to = *from;
	to->of = (struct test_case){ 0 };	/* @from keeps it */
	to->topo = NULL;
	to->of.ranks = from->of.ranks;
	for (r = 0; r < from->args.nranks; r++)
		set_prog(to, r, from->steps[r], from->prog[r].nsteps,
			 from->deps[r], from->prog[r].ndeps,
			 from->prog[r].scratch_size);
}

static void set_free(struct set *set)
{
	uint32_t r;

	for (r = 0; r < set->args.nranks; r++) {
		free(set->steps[r]);
		free(set->deps[r]);
	}
}

/* the arguments too; copies have none of their own */
static void set_end(struct set *set)
{
	set_free(set);
	case_free(&set->of);
	hcomm_sched_topo_free(set->topo);
}

static int set_check(struct set *set, struct hcomm_check_result *res)
{
	if (set->of.ranks)
		return hcomm_check_each(set->prog, set->of.ranks, &set->opts, res);
	return hcomm_check(set->prog, &set->args, &set->opts, res);
}

static struct hcomm_sched_args set_args(const struct set *set, uint32_t r)
{
	struct hcomm_sched_args a = set->of.ranks ? set->of.ranks[r] : set->args;

	a.rank = r;
	return a;
}

static bool receives(const struct hcomm_step *s)
{
	return s->op == HCOMM_STEP_RECV || s->op == HCOMM_STEP_RECV_REDUCE;
}

static bool has_peer(const struct hcomm_step *s)
{
	return s->op == HCOMM_STEP_SEND || receives(s);
}

/* --------------------------------------------------------------- the executor */

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

static uint64_t slot_size(const struct set *set, uint32_t r, uint32_t slot)
{
	struct hcomm_sched_args a = set_args(set, r);

	return slot == 2 ? set->prog[r].scratch_size :
			   hcomm_sched_buffer_size(&a, slot);
}

/* block of a buffer that has one for each rank, in elements */
static uint64_t block_of(const struct hcomm_sched_args *a, uint32_t q, bool received,
			 uint64_t *off)
{
	bool out = a->coll == HCOMM_COLL_ALLTOALL && (received || a->in_place);
	const uint64_t *counts = out ? a->rcounts : a->counts;
	const uint64_t *displs = out ? a->rdispls : a->displs;
	uint32_t i;

	*off = q * a->count;
	if (!counts)
		return a->count;
	*off = displs ? displs[q] : 0;
	for (i = 0; !displs && i < q; i++)
		*off += counts[i];
	return counts[q];
}

/* numbers are fp32: sums then depend on their order */
static bool exec_fp32;

/* of very different size, so that each order rounds in its own way */
static uint32_t value_fp32(uint64_t x)
{
	return (x & 0x807fffff) | (120 + (x >> 32) % 16) << 23;
}

static uint32_t value(uint32_t rank, uint64_t elem)
{
	uint64_t x = (rank + 1) * 0x9e3779b97f4a7c15ull + elem * 0xbf58476d1ce4e5b9ull;

	x ^= x >> 29;
	x *= 0x94d049bb133111ebull;
	return exec_fp32 ? value_fp32(x ^ x >> 24) : x >> 32;
}

static uint32_t add_fp32(uint32_t a, uint32_t b)
{
	float x, y;

	memcpy(&x, &a, SIZE);
	memcpy(&y, &b, SIZE);
	x += y;
	memcpy(&a, &x, SIZE);
	return a;
}

static uint32_t apply(uint32_t op, uint32_t a, uint32_t b)
{
	switch (op) {
	case HCOMM_OP_SUM:
		return exec_fp32 ? add_fp32(a, b) : a + b;
	case HCOMM_OP_PROD:
		return a * b;
	case HCOMM_OP_MIN:
		return a < b ? a : b;
	}
	return a > b ? a : b;
}

/* over the ranks below @n */
static uint32_t reduced(const struct set *set, uint32_t n, uint64_t elem)
{
	uint32_t v = value(0, elem), r;

	for (r = 1; r < n; r++)
		v = apply(set->args.redop, v, value(r, elem));
	return v;
}

/* in place: elements of slot 1 that are input, which begins at *off */
static uint64_t input_in_output(const struct set *set, uint32_t r, uint64_t *off)
{
	struct hcomm_sched_args a = set_args(set, r);

	*off = 0;
	if (!a.in_place)
		return 0;
	switch (a.coll) {
	case HCOMM_COLL_GATHER:
		if (r != a.root)
			break;
		/* fall through */
	case HCOMM_COLL_ALLGATHER:
		return block_of(&a, r, false, off);
	case HCOMM_COLL_BROADCAST:
	case HCOMM_COLL_SCATTER:
	case HCOMM_COLL_P2P:
		if (r != a.root)
			return 0;
		break;
	}
	return slot_size(set, r, 1) / SIZE;
}

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

/* what slot 1 of a rank must be in the end, over what it was before */
static void exec_want(const struct set *set, uint32_t r, uint32_t *want)
{
	struct hcomm_sched_args a = set_args(set, r), b;
	uint64_t n = slot_size(set, r, 1) / SIZE, off, from, e;
	bool root = r == a.root;
	uint32_t q;

	switch (a.coll) {
	case HCOMM_COLL_SCAN:
	case HCOMM_COLL_EXSCAN:
		q = a.coll == HCOMM_COLL_SCAN ? r + 1 : r;
		for (e = 0; q && e < n; e++)
			want[e] = reduced(set, q, e);
		break;
	case HCOMM_COLL_REDUCE:
	case HCOMM_COLL_ALLREDUCE:
		for (e = 0; (root || a.coll == HCOMM_COLL_ALLREDUCE) && e < n; e++)
			want[e] = reduced(set, a.nranks, e);
		break;
	case HCOMM_COLL_REDUCE_SCATTER:
		n = block_of(&a, r, false, &off);
		for (e = 0; e < n; e++)
			want[a.in_place ? off + e : e] = reduced(set, a.nranks, off + e);
		break;
	case HCOMM_COLL_P2P:
	case HCOMM_COLL_BROADCAST:
		for (e = 0; e < n; e++)
			want[e] = value(a.root, e);
		break;
	case HCOMM_COLL_SCATTER:
		b = set_args(set, a.root);
		n = block_of(&b, r, false, &off);
		for (e = 0; !(root && a.in_place) && e < n; e++)
			want[e] = value(a.root, off + e);
		break;
	case HCOMM_COLL_GATHER:
	case HCOMM_COLL_ALLGATHER:
		for (q = 0; q < a.nranks && (root || a.coll == HCOMM_COLL_ALLGATHER); q++) {
			n = block_of(&a, q, false, &off);
			for (e = 0; e < n; e++)
				want[off + e] = value(q, e);
		}
		break;
	case HCOMM_COLL_ALLTOALL:
		for (q = 0; q < a.nranks; q++) {
			b = set_args(set, q);
			block_of(&b, r, false, &from);
			n = block_of(&a, q, true, &off);
			for (e = 0; e < n; e++)
				want[off + e] = value(q, from + e);
		}
		break;
	}
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
