// SPDX-License-Identifier: GPL-2.0-only
/* Collectives: results, and bytes around and behind them, in every combination. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../common/elems.h"
#include "../common/util.h"
#include "test.h"

static const char *const coll_names[COLL_COUNT] = {
	"allreduce", "reduce", "reduce_scatter", "scan", "exscan", "allgather",
	"gather", "scatter", "alltoall", "broadcast",
};

/**
 * struct call - one collective call, the same on all ranks
 * @coll: which
 * @dtype: type of the elements
 * @op: reduction
 * @root: root, where there is one
 * @count: elements, as in the API
 * @first: element of the period that every input begins with
 * @in_place: the input is where the output goes
 * @misaligned: buffers begin at an odd address
 */
struct call {
	enum coll coll;
	hcommDataType_t dtype;
	hcommRedOp_t op;
	unsigned int root;
	size_t count;
	size_t first;
	bool in_place;
	bool misaligned;
};

/* periods of the values, per group */
struct patterns {
	char mine[PERIOD * 8];
	char reduced[PERIOD * 8];
	char root[PERIOD * 8];
};

static bool reduces(enum coll coll)
{
	return coll <= COLL_EXSCAN;
}

static bool has_root(enum coll coll)
{
	return coll == COLL_REDUCE || coll == COLL_BROADCAST || coll == COLL_GATHER ||
	       coll == COLL_SCATTER;
}

static bool has_blocks(enum coll coll)
{
	return coll == COLL_REDUCE_SCATTER ||
	       (coll >= COLL_ALLGATHER && coll <= COLL_ALLTOALL);
}

static const char *describe(const struct call *call, char *out, size_t room)
{
	int len = snprintf(out, room, "%s of %zu %s", coll_names[call->coll],
			   call->count, dtype_names[call->dtype]);

	if (reduces(call->coll))
		len += snprintf(out + len, room - (size_t)len, " %s",
				redop_name(call->op));
	if (has_root(call->coll))
		len += snprintf(out + len, room - (size_t)len, " root %u",
				call->root);
	snprintf(out + len, room - (size_t)len, "%s%s",
		 call->in_place ? " in place" : "",
		 call->misaligned ? " misaligned" : "");
	return out;
}

static hcommResult_t make_call(const struct call *call, const void *send,
			       void *recv)
{
	switch (call->coll) {
	case COLL_ALLREDUCE:
		return hcommAllReduce(send, recv, call->count, call->dtype,
				      call->op, COMM_WORLD);
	case COLL_REDUCE:
		return hcommReduce(send, recv, call->count, call->dtype,
				   call->op, (int)call->root, COMM_WORLD);
	case COLL_REDUCE_SCATTER:
		return hcommReduceScatter(send, recv, call->count, call->dtype,
					  call->op, COMM_WORLD);
	case COLL_ALLGATHER:
		return hcommAllGather(send, recv, call->count, call->dtype,
				      COMM_WORLD);
	case COLL_GATHER:
		return hcommGather(send, recv, call->count, call->dtype,
				   (int)call->root, COMM_WORLD);
	case COLL_SCATTER:
		return hcommScatter(send, recv, call->count, call->dtype,
				    (int)call->root, COMM_WORLD);
	case COLL_ALLTOALL:
		return hcommAlltoAll(send, recv, call->count, call->dtype,
				     COMM_WORLD);
	case COLL_SCAN:
		return hcommScan(send, recv, call->count, call->dtype, call->op,
				 COMM_WORLD);
	case COLL_EXSCAN:
		return hcommExscan(send, recv, call->count, call->dtype, call->op,
				   COMM_WORLD);
	default:
		return hcommBroadcast(send, recv, call->count, call->dtype,
				      (int)call->root, COMM_WORLD);
	}
}

static bool is_poison(const char *at, size_t bytes)
{
	while (bytes--) {
		if (*at++ != POISON)
			return false;
	}
	return true;
}

static void compare(struct test *t, const struct call *call, const void *data,
		    const void *period, size_t first, size_t count)
{
	size_t elem = dtype_size(call->dtype), where = 0, wrong;
	char text[160];

	wrong = pattern_wrong(data, period, elem, first, count, &where);
	if (!wrong) {
		check_result(t, true, "right");
		return;
	}
	check_result(t, false, "%s: %zu elements are wrong; the first, %zu, is %.9g instead of %.9g",
		     describe(call, text, sizeof(text)), wrong, where,
		     elem_value(call->dtype, (const char *)data + where * elem),
		     elem_value(call->dtype, (const char *)period +
				(first + where) % PERIOD * elem));
}

static void check_output(struct test *t, const struct call *call,
			 const struct patterns *p, const char *recv)
{
	size_t elem = dtype_size(call->dtype), i, mine = 0;
	char other[PERIOD * 8];

	switch (call->coll) {
	case COLL_ALLREDUCE:
	case COLL_SCAN:
		compare(t, call, recv, p->reduced, call->first, call->count);
		break;
	case COLL_EXSCAN:
		if (t->rank)
			compare(t, call, recv, p->reduced, call->first, call->count);
		break;
	case COLL_REDUCE:
		if (t->rank == call->root)
			compare(t, call, recv, p->reduced, call->first,
				call->count);
		break;
	case COLL_REDUCE_SCATTER:
		compare(t, call, recv, p->reduced,
			call->first + t->rank * call->count, call->count);
		break;
	case COLL_BROADCAST:
		compare(t, call, recv, p->root, call->first, call->count);
		break;
	case COLL_SCATTER:
		compare(t, call, recv, p->root, call->first + t->rank * call->count,
			call->count);
		break;
	default:
		if (call->coll == COLL_GATHER && t->rank != call->root)
			return;
		if (call->coll == COLL_ALLTOALL)
			mine = t->rank * call->count;
		for (i = 0; i < t->size; i++) {
			pattern_of_rank(other, call->dtype, call->op, t->seed,
					(unsigned int)i);
			compare(t, call, recv + i * call->count * elem, other,
				call->first + mine, call->count);
		}
	}
}

/**
 * struct layout - buffers of a call on this rank
 * @in: input
 * @out: output
 * @in_bytes: bytes of the input
 * @out_bytes: bytes of the output
 * @gives: this rank has an input
 * @gets: this rank has an output
 * @here: both are in one buffer
 */
struct layout {
	char *in;
	char *out;
	size_t in_bytes;
	size_t out_bytes;
	bool gives;
	bool gets;
	bool here;
};

/* the input of an in place call is laid into the output buffer as that call defines it */
static struct layout lay_out(const struct test *t, const struct call *call)
{
	size_t skew = GUARD_BYTES + (call->misaligned ? MISALIGNMENT : 0);
	size_t block = call->count * dtype_size(call->dtype);
	enum coll coll = call->coll;
	bool root = t->rank == call->root;
	struct layout l = {
		.in = t->memory[0] + skew, .out = t->memory[1] + skew,
		.in_bytes = block, .out_bytes = block,
		.gives = true, .gets = true, .here = call->in_place,
	};

	if (coll == COLL_ALLGATHER || coll == COLL_ALLTOALL ||
	    (coll == COLL_GATHER && root))
		l.out_bytes *= t->size;
	if (coll == COLL_REDUCE_SCATTER || coll == COLL_ALLTOALL ||
	    (coll == COLL_SCATTER && root))
		l.in_bytes *= t->size;
	if (coll == COLL_REDUCE || coll == COLL_GATHER)
		l.gets = root;
	if (coll == COLL_EXSCAN)
		l.gets = t->rank;
	if (coll == COLL_BROADCAST || coll == COLL_SCATTER)
		l.gives = root;
	/* only the root has both buffers */
	if ((coll == COLL_GATHER || coll == COLL_SCATTER) && !root)
		l.here = false;
	if (!l.here)
		return l;
	l.in = l.out;
	if (coll == COLL_ALLGATHER || coll == COLL_GATHER)
		l.in = l.out + t->rank * block;
	if (coll == COLL_REDUCE_SCATTER || coll == COLL_SCATTER)
		l.out = l.in + t->rank * block;
	return l;
}

/* what is around the buffers that the call may write to is as it was */
static bool kept_inside(const struct call *call, const struct layout *l)
{
	bool blocks_of_input = l->here && (call->coll == COLL_REDUCE_SCATTER ||
					   call->coll == COLL_SCATTER);
	const char *out = blocks_of_input ? l->in : l->out;
	size_t bytes = blocks_of_input ? l->in_bytes : l->out_bytes;

	if (!l->gets && !l->here)
		bytes = 0;
	return is_poison(out - GUARD_BYTES, GUARD_BYTES) &&
	       is_poison(out + bytes, GUARD_BYTES);
}

/* buffers that a rank does not use are NULL in some of the calls */
static void one_check(struct test *t, const struct call *call,
		      const struct patterns *p)
{
	size_t elem = dtype_size(call->dtype);
	struct layout l = lay_out(t, call);
	bool spare = t->calls++ & 1;
	hcommResult_t ret;
	char text[160];

	memset(t->memory[1], POISON, 2 * (GUARD_BYTES + MISALIGNMENT) +
	       (l.in_bytes > l.out_bytes ? l.in_bytes : l.out_bytes));
	if (l.gives)
		pattern_fill(l.in, p->mine, elem, call->first, l.in_bytes / elem);

	ret = make_call(call, l.gives || l.here || !spare ? l.in : NULL,
			l.gets || l.here || !spare ? l.out : NULL);
	if (ret)
		fatal("rank %u: %s: %s: %s", t->rank,
		      describe(call, text, sizeof(text)),
		      hcommGetErrorString(ret), hcommGetLastError(NULL));

	check_output(t, call, p, l.out);
	/* what is only read stays as it was */
	if (l.gives && (!l.here || !l.gets))
		compare(t, call, l.in, p->mine, call->first, l.in_bytes / elem);
	if (!kept_inside(call, &l))
		check_result(t, false, "%s: wrote outside of its buffer",
			     describe(call, text, sizeof(text)));
}

static size_t count_of(const struct test *t, const struct call *call,
		       uint64_t bytes)
{
	size_t elem = dtype_size(call->dtype);

	if (!bytes)
		return 0;
	if (has_blocks(call->coll) && bytes > t->max_bytes / t->size)
		bytes = t->max_bytes / t->size;
	return bytes < elem ? 1 : (size_t)bytes / elem;
}

/* all roots of a small job, the corners of a large one */
static unsigned int roots_of(const struct test *t, const struct call *call,
			     unsigned int *roots)
{
	unsigned int i, n = 0;

	if (!has_root(call->coll)) {
		roots[n++] = 0;
	} else if (!t->all) {
		roots[n++] = t->calls / 2 % t->size;
	} else if (t->size <= 8) {
		for (i = 0; i < t->size; i++)
			roots[n++] = i;
	} else {
		roots[n++] = 0;
		roots[n++] = t->size / 2;
		roots[n++] = t->size - 1;
	}
	return n;
}

static void check_size(struct test *t, struct call *call,
		       const struct patterns *patterns)
{
	struct patterns with_root = *patterns;
	/* placement: 1: in place, 2: misaligned; a sample takes turns */
	static const unsigned int turns[2][2] = { { 0, 3 }, { 1, 2 } };
	const unsigned int *turn = turns[t->calls / 2 / t->size % 2];
	unsigned int roots[8], n, i, k, how;

	n = roots_of(t, call, roots);
	for (i = 0; i < n; i++) {
		call->root = roots[i];
		if (call->coll == COLL_BROADCAST || call->coll == COLL_SCATTER)
			pattern_of_rank(with_root.root, call->dtype, call->op,
					t->seed, call->root);
		for (k = 0; k < (t->all ? 4 : 2); k++) {
			how = t->all ? k : turn[k];
			call->in_place = how & 1;
			call->misaligned = how & 2;
			call->first = (call->first + 37) % PERIOD;
			one_check(t, call, &with_root);
		}
	}
}

/* ranks whose input the output of this one has in it; at least 1 */
static unsigned int summands(const struct test *t, enum coll coll)
{
	if (coll == COLL_SCAN)
		return t->rank + 1;
	return coll == COLL_EXSCAN && t->rank ? t->rank : t->size;
}

static void check_op(struct test *t, struct call *call)
{
	bool large = t->all || call->dtype == hcommFloat32;
	static struct patterns patterns;
	uint64_t sizes[MAX_SIZES];
	unsigned int n, i;

	t->seed++;
	pattern_of_rank(patterns.mine, call->dtype, call->op, t->seed, t->rank);
	if (reduces(call->coll))
		pattern_reduced(patterns.reduced, call->dtype, call->op,
				t->seed, summands(t, call->coll));
	n = test_sizes(t, sizes);
	for (i = 0; i < n; i++) {
		/* of a sample, one type has all sizes */
		if (!large && (sizes[i] > 2 * t->chunk || sizes[i] == t->eager ||
			       !sizes[i]))
			continue;
		call->count = count_of(t, call, sizes[i]);
		check_size(t, call, &patterns);
	}
}

static bool wants_op(const struct test *t, const struct call *call)
{
	if (!reduces(call->coll))
		return call->op == hcommSum;
	/* there is no average of a prefix */
	if (call->op == hcommAvg &&
	    (call->coll == COLL_SCAN || call->coll == COLL_EXSCAN))
		return false;
	/* sum, and one or two more that depend on the type */
	return t->all || call->op == hcommSum ||
	       redop_index(call->op) == 1 + (unsigned int)call->dtype % (REDOPS - 1) ||
	       redop_index(call->op) == 1 + (unsigned int)call->dtype % 4;
}

/*
 * In a sample, the reductions but the first share the types; and what only moves
 * needs a type of each width.
 */
static bool wants_dtype(const struct test *t, const struct call *call)
{
	if (t->all || call->dtype == hcommFloat32 ||
	    call->coll == COLL_ALLREDUCE)
		return true;
	if (reduces(call->coll))
		return call->dtype % 2 == call->coll % 2;
	return call->dtype == hcommInt8 || call->dtype == hcommFloat16 ||
	       call->dtype == hcommFloat64;
}

static void check_group(struct test *t, enum coll coll, hcommDataType_t dtype)
{
	struct call call = { .coll = coll, .dtype = dtype };
	char ops[80] = "";
	unsigned int op;

	if (!wants_dtype(t, &call))
		return;
	group_begin(t);
	for (op = 0; op < REDOPS; op++) {
		call.op = redops[op];
		if (!wants_op(t, &call) || !redop_fits(call.op, dtype))
			continue;
		if (reduces(coll)) {
			strcat(ops, " ");
			strcat(ops, redop_name(call.op));
		}
		check_op(t, &call);
	}
	group_end(t, "%s %s%s", coll_names[coll], dtype_names[dtype], ops);
}

void test_collectives(struct test *t)
{
	unsigned int coll, dtype;

	for (coll = 0; coll < COLL_COUNT; coll++) {
		for (dtype = 0; dtype < DTYPES; dtype++)
			check_group(t, (enum coll)coll, (hcommDataType_t)dtype);
	}
}
