// SPDX-License-Identifier: GPL-2.0-only
/* One measurement: warm up, check, time the rounds, and tell all ranks. */
#include <stdlib.h>
#include <string.h>

#include "../common/elems.h"
#include "../common/util.h"
#include "perf.h"

#define MAX_IN_FLIGHT	64
#define TAG		1

/**
 * struct round - what one round does; the same on all ranks
 * @coll: which
 * @line: count, type and root
 * @op: reduction, as the library knows it
 * @send: input
 * @recv: output
 * @peers: of sendrecv and oneway: to whom and from whom, -1: nobody
 */
struct round {
	enum perf_coll coll;
	const struct line *line;
	hcommRedOp_t op;
	const void *send;
	void *recv;
	int to;
	int from;
};

static hcommResult_t call(const struct round *r)
{
	const struct line *l = r->line;

	switch (r->coll) {
	case PERF_ALLREDUCE:
		return hcommAllReduce(r->send, r->recv, l->count, l->dtype,
				      r->op, COMM_WORLD);
	case PERF_REDUCE:
		return hcommReduce(r->send, r->recv, l->count, l->dtype, r->op,
				   l->root, COMM_WORLD);
	case PERF_BROADCAST:
		return hcommBroadcast(r->send, r->recv, l->count, l->dtype,
				      l->root, COMM_WORLD);
	case PERF_REDUCE_SCATTER:
		return hcommReduceScatter(r->send, r->recv, l->count, l->dtype,
					  r->op, COMM_WORLD);
	case PERF_ALLGATHER:
		return hcommAllGather(r->send, r->recv, l->count, l->dtype,
				      COMM_WORLD);
	case PERF_GATHER:
		return hcommGather(r->send, r->recv, l->count, l->dtype, l->root,
				   COMM_WORLD);
	case PERF_SCATTER:
		return hcommScatter(r->send, r->recv, l->count, l->dtype, l->root,
				    COMM_WORLD);
	case PERF_ALLTOALL:
		return hcommAlltoAll(r->send, r->recv, l->count, l->dtype, COMM_WORLD);
	case PERF_SCAN:
		return hcommScan(r->send, r->recv, l->count, l->dtype, r->op,
				 COMM_WORLD);
	case PERF_EXSCAN:
		return hcommExscan(r->send, r->recv, l->count, l->dtype, r->op,
				   COMM_WORLD);
	default:
		return hcommBarrier(COMM_WORLD);
	}
}

/* the call's requests, one or two; returns HCOMM_ERR_BUSY as the library does */
static hcommResult_t call_async(const struct round *r, hcommRequest_t *req)
{
	const struct line *l = r->line;

	switch (r->coll) {
	case PERF_ALLREDUCE:
		return hcommAllReduceAsync(r->send, r->recv, l->count, l->dtype,
					   r->op, COMM_WORLD, req);
	case PERF_REDUCE:
		return hcommReduceAsync(r->send, r->recv, l->count, l->dtype,
					r->op, l->root, COMM_WORLD, req);
	case PERF_BROADCAST:
		return hcommBroadcastAsync(r->send, r->recv, l->count, l->dtype,
					   l->root, COMM_WORLD, req);
	case PERF_REDUCE_SCATTER:
		return hcommReduceScatterAsync(r->send, r->recv, l->count,
					       l->dtype, r->op, COMM_WORLD, req);
	case PERF_ALLGATHER:
		return hcommAllGatherAsync(r->send, r->recv, l->count, l->dtype,
					   COMM_WORLD, req);
	case PERF_GATHER:
		return hcommGatherAsync(r->send, r->recv, l->count, l->dtype,
					l->root, COMM_WORLD, req);
	case PERF_SCATTER:
		return hcommScatterAsync(r->send, r->recv, l->count, l->dtype,
					 l->root, COMM_WORLD, req);
	case PERF_ALLTOALL:
		return hcommAlltoAllAsync(r->send, r->recv, l->count, l->dtype,
					  COMM_WORLD, req);
	case PERF_SCAN:
		return hcommScanAsync(r->send, r->recv, l->count, l->dtype, r->op,
				      COMM_WORLD, req);
	case PERF_EXSCAN:
		return hcommExscanAsync(r->send, r->recv, l->count, l->dtype, r->op,
					COMM_WORLD, req);
	default:
		return hcommBarrierAsync(COMM_WORLD, req);
	}
}

/**
 * struct flight - calls that are not complete, the oldest first
 * @reqs: a ring
 * @first: the oldest
 * @count: how many
 */
struct flight {
	hcommRequest_t reqs[MAX_IN_FLIGHT];
	unsigned int first;
	unsigned int count;
};

static void land_one(struct flight *f)
{
	must(hcommWait(&f->reqs[f->first]), "Wait");
	f->first = (f->first + 1) % MAX_IN_FLIGHT;
	f->count--;
}

static hcommResult_t post(const struct round *r, unsigned int kind,
			  hcommRequest_t *req)
{
	size_t bytes = r->line->count * dtype_size(r->line->dtype);

	if (kind == 0)
		return call_async(r, req);
	if (kind == 1)
		return hcommRecvAsync(r->recv, bytes, r->from, TAG, COMM_WORLD,
				      req);
	return hcommSendAsync(r->send, bytes, r->to, TAG, COMM_WORLD, req);
}

/* kind 0: the collective, 1: receive, 2: send */
static void start(const struct round *r, unsigned int kind, struct flight *f)
{
	hcommRequest_t *req;
	hcommResult_t ret;

	for (;;) {
		if (f->count == MAX_IN_FLIGHT)
			land_one(f);
		req = &f->reqs[(f->first + f->count) % MAX_IN_FLIGHT];
		ret = post(r, kind, req);
		if (ret != HCOMM_ERR_BUSY || !f->count)
			break;
		land_one(f);
	}
	must(ret, perf_coll_names[r->coll]);
	f->count++;
}

static void one_round(const struct round *r, uint64_t aggregate)
{
	bool p2p = r->coll == PERF_SENDRECV || r->coll == PERF_ONEWAY;
	struct flight f = { .first = 0, .count = 0 };
	uint64_t i;

	if (aggregate == 1 && !p2p) {
		must(call(r), perf_coll_names[r->coll]);
		return;
	}
	for (i = 0; i < aggregate; i++) {
		if (!p2p)
			start(r, 0, &f);
		if (p2p && r->from >= 0)
			start(r, 1, &f);
		if (p2p && r->to >= 0)
			start(r, 2, &f);
	}
	while (f.count)
		land_one(&f);
}

/* where input and output are, for a call that is in place or not */
static void place(const struct perf *perf, const struct line *line,
		  bool in_place, struct round *r)
{
	size_t block = line->count * dtype_size(line->dtype);
	char *in = perf->memory[0], *out = perf->memory[1];
	bool root = (int)perf->rank == line->root;

	/* of a gather or scatter, only the root has both buffers */
	if (in_place && (root || (r->coll != PERF_GATHER && r->coll != PERF_SCATTER))) {
		in = out;
		if (r->coll == PERF_ALLGATHER || r->coll == PERF_GATHER)
			in = out + perf->rank * block;
		if (r->coll == PERF_REDUCE_SCATTER || r->coll == PERF_SCATTER)
			out = in + perf->rank * block;
	}
	r->send = in;
	r->recv = out;
	r->to = -1;
	r->from = -1;
	if (perf->size > 1 && r->coll == PERF_SENDRECV) {
		r->to = (int)((perf->rank + 1) % perf->size);
		r->from = (int)((perf->rank + perf->size - 1) % perf->size);
	}
	/* the lower half of the ranks to the upper half: over the network, if any */
	if (r->coll == PERF_ONEWAY) {
		unsigned int half = perf->size / 2;

		if (perf->rank < half)
			r->to = (int)(perf->rank + half);
		else if (perf->rank < 2 * half)
			r->from = (int)(perf->rank - half);
	}
}

static size_t input_count(const struct perf *perf, const struct round *r)
{
	bool all = r->coll == PERF_REDUCE_SCATTER || r->coll == PERF_ALLTOALL ||
		   (r->coll == PERF_SCATTER && (int)perf->rank == r->line->root);

	return r->line->count * (all ? perf->size : 1);
}

/* number of wrong elements on this rank */
static size_t check_output(const struct perf *perf, const struct round *r,
			   unsigned int seed)
{
	const struct line *l = r->line;
	size_t elem = dtype_size(l->dtype), wrong = 0, count = l->count;
	char period[PERIOD * 8];
	unsigned int i;

	switch (r->coll) {
	case PERF_ALLREDUCE:
	case PERF_REDUCE:
	case PERF_REDUCE_SCATTER:
		if (r->coll == PERF_REDUCE && (int)perf->rank != l->root)
			return 0;
		pattern_reduced(period, l->dtype, l->op, seed, perf->size);
		return pattern_wrong(r->recv, period, elem,
				     r->coll == PERF_REDUCE_SCATTER ?
				     perf->rank * count : 0, count, NULL);
	case PERF_BROADCAST:
		pattern_of_rank(period, l->dtype, l->op, seed,
				(unsigned int)l->root);
		return pattern_wrong(r->recv, period, elem, 0, count, NULL);
	case PERF_SCATTER:
		pattern_of_rank(period, l->dtype, l->op, seed,
				(unsigned int)l->root);
		return pattern_wrong(r->recv, period, elem, perf->rank * count, count,
				     NULL);
	case PERF_SCAN:
	case PERF_EXSCAN:
		i = perf->rank + (r->coll == PERF_SCAN);
		if (!i)
			return 0;
		pattern_reduced(period, l->dtype, l->op, seed, i);
		return pattern_wrong(r->recv, period, elem, 0, count, NULL);
	case PERF_GATHER:
	case PERF_ALLGATHER:
	case PERF_ALLTOALL:
		if (r->coll == PERF_GATHER && (int)perf->rank != l->root)
			return 0;
		for (i = 0; i < perf->size; i++) {
			pattern_of_rank(period, l->dtype, l->op, seed, i);
			wrong += pattern_wrong((char *)r->recv + i * count * elem,
					       period, elem, r->coll == PERF_ALLTOALL ?
					       perf->rank * count : 0, count, NULL);
		}
		return wrong;
	default:
		if (r->from < 0)
			return 0;
		pattern_of_rank(period, l->dtype, l->op, seed,
				(unsigned int)r->from);
		return pattern_wrong(r->recv, period, elem, 0, count, NULL);
	}
}

static double check_round(const struct perf *perf, const struct round *r)
{
	static unsigned int seed;
	char period[PERIOD * 8];
	const struct line *l = r->line;
	size_t elem = dtype_size(l->dtype);

	seed++;
	/* what an earlier round left must not look right */
	memset(perf->memory[1], 0x5a, l->bytes);
	pattern_of_rank(period, l->dtype, l->op, seed, perf->rank);
	pattern_fill((void *)(uintptr_t)r->send, period, elem, 0,
		     input_count(perf, r));
	one_round(r, 1);
	return (double)check_output(perf, r, seed);
}

/* numbers that have sums and products again and again without end */
static void calm_input(const struct perf *perf, const struct line *line)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(perf->memory); i++)
		memset(perf->memory[i], 0, line->bytes);
}

static double combine_ranks(const struct perf *perf, const double *values)
{
	double result = values[0], sum = 0;
	unsigned int i;

	if (perf->opt->average == AVERAGE_RANK0)
		return result;
	for (i = 0; i < perf->size; i++) {
		double v = values[i * 4];

		sum += v;
		if (perf->opt->average == AVERAGE_MIN ? v < result : v > result)
			result = v;
	}
	return perf->opt->average == AVERAGE_MEAN ? sum / perf->size : result;
}

/* Collective: what all ranks have measured becomes one timing. */
static void combine(const struct perf *perf, struct timing *timing)
{
	double *mine = must_hcomm_malloc(4 * sizeof(*mine)), *all, wrong = 0;
	unsigned int i;

	all = must_hcomm_malloc(4 * sizeof(*all) * perf->size);
	mine[0] = timing->mean;
	mine[1] = timing->median;
	mine[2] = timing->min;
	mine[3] = timing->wrong;
	must(hcommAllGather(mine, all, 4, hcommFloat64, COMM_WORLD),
	     "AllGather of the times");
	timing->mean = combine_ranks(perf, all);
	timing->median = combine_ranks(perf, all + 1);
	timing->min = combine_ranks(perf, all + 2);
	for (i = 0; i < perf->size; i++)
		wrong += all[i * 4 + 3];
	timing->wrong = timing->wrong < 0 ? -1 : wrong;
	hcommFree(mine);
	hcommFree(all);
}

void perf_measure(struct perf *perf, struct line *line, bool in_place)
{
	struct timing *timing = &line->way[in_place];
	const struct options *opt = perf->opt;
	struct round r = { .coll = opt->coll, .line = line, .op = line->op };
	uint64_t i, begin, end, total = 0;
	char scalar[8];

	if (line->op == PREMUL_SUM) {
		premul_scalar(scalar, line->dtype, perf->rank);
		must(hcommRedOpCreatePreMulSum(&r.op, scalar, line->dtype, COMM_WORLD),
		     "RedOpCreatePreMulSum");
	}

	place(perf, line, in_place, &r);
	timing->wrong = -1;
	if (opt->check && perf_moves_data(opt->coll))
		timing->wrong = check_round(perf, &r);
	calm_input(perf, line);
	for (i = 0; i < opt->warmup; i++)
		one_round(&r, opt->aggregate);
	must(hcommBarrier(COMM_WORLD), "Barrier");
	begin = now_ns();
	for (i = 0; i < opt->iters; i++) {
		one_round(&r, opt->aggregate);
		end = now_ns();
		perf->samples[i] = (double)(end - begin) / 1000 /
				   (double)opt->aggregate;
		total += end - begin;
		begin = end;
	}
	timing->mean = (double)total / 1000 / (double)(opt->iters * opt->aggregate);
	timing->median = median_of(perf->samples, opt->iters);
	timing->min = perf->samples[0];
	if (line->op == PREMUL_SUM)
		must(hcommRedOpDestroy(r.op, COMM_WORLD), "RedOpDestroy");
	combine(perf, timing);
	if (timing->wrong > 0)
		perf->wrong += timing->wrong;
}
