/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the formulas are made of: the time and the work of one message.
 *
 * A message of b bytes over a hop takes
 *
 *  eager	L + o + b/W + b/R + b/C		(C: the sender copies it out)
 *  direct	L + o + b/R			(local links, above the eager size; and
 *						1.5 o for each further chunk)
 *  write	[L + o +] L + o + b/W + c/R	(the grant is hidden where the
 *						receiver could give it early)
 *
 * with latency L and overhead o of the class, R the rate of the receiver's CPU
 * (copy or reduction), W the bandwidth of the adapter divided by the flows that
 * share it, c one chunk: the others are reduced while the next ones arrive.
 *
 * Meanwhile the CPU of each end is busy for its share of the protocol's messages
 * and for b/R, and the adapter for b/W.  What repeats is bound by whichever is
 * busy longest; what happens once takes its time.
 */
#ifndef HCOMM_PLAN_COST_H
#define HCOMM_PLAN_COST_H

#include <stdbool.h>

#include "predict.h"

/**
 * struct hcomm_cost - a prediction under way
 * @m: model
 * @s: shape
 * @lim: options
 * @call: what
 * @cand: how
 * @n: ranks
 * @v: call->bytes
 * @largest: largest message so far
 */
struct hcomm_cost {
	const struct hcomm_model *m;
	const struct hcomm_shape *s;
	const struct hcomm_limits *lim;
	const struct hcomm_call_shape *call;
	const struct hcomm_candidate *cand;
	double n;
	double v;
	double largest;
};

static inline double hcomm_max(double a, double b)
{
	return a > b ? a : b;
}

static inline double hcomm_min(double a, double b)
{
	return a < b ? a : b;
}

/* whole steps of @grain in @bytes, at least 1; below 2^52 */
static inline double hcomm_pieces(double bytes, double grain)
{
	uint64_t n = (uint64_t)(bytes / grain);

	if ((double)n * grain < bytes)
		n++;
	return n ? (double)n : 1;
}

static inline const struct hcomm_link_model *hop_link(const struct hcomm_cost *c,
						      struct hcomm_hop h)
{
	return &c->m->link[h.cls];
}

static inline bool is_eager(const struct hcomm_cost *c, double b)
{
	return b <= (double)c->lim->eager_size;
}

/* the receiver's CPU, per byte */
static inline double byte_work(const struct hcomm_cost *c, struct hcomm_hop h,
			       double b, bool reduce)
{
	if (reduce)
		return 1 / c->m->reduce_rate;
	if (h.cls == HCOMM_LINK_LOCAL && !is_eager(c, b))
		return 1 / hop_link(c, h)->bandwidth;
	return h.cls == HCOMM_LINK_LOCAL || is_eager(c, b) ? 1 / c->m->copy_rate : 0;
}

/* the adapter, per byte */
static inline double wire(const struct hcomm_cost *c, struct hcomm_hop h)
{
	return h.cls == HCOMM_LINK_LOCAL ? 0 : h.flows / hop_link(c, h)->bandwidth;
}

static inline void note_message(struct hcomm_cost *c, double b)
{
	if (b > c->largest)
		c->largest = b;
}

/* from the moment that both ends are ready until the receiver has it */
static inline double message(struct hcomm_cost *c, struct hcomm_hop h, double b,
			     bool reduce, bool early)
{
	const struct hcomm_link_model *l = hop_link(c, h);
	double start = l->latency + l->overhead;
	double chunk = hcomm_min(b, c->lim->chunk_size);

	note_message(c, b);
	if (is_eager(c, b))
		return start + b * (wire(c, h) + byte_work(c, h, b, reduce) +
				    1 / c->m->copy_rate);
	if (h.cls == HCOMM_LINK_LOCAL)
		return start + b * byte_work(c, h, b, reduce) +
		       (hcomm_pieces(b, chunk) - 1) * 1.5 * l->overhead;
	if (!early)
		start += l->latency + l->overhead;
	return start + b * wire(c, h) + chunk * byte_work(c, h, b, reduce);
}

/* how long one rank's CPU has to do for a message in and a message out */
static inline double cpu_busy(const struct hcomm_cost *c, struct hcomm_hop h,
			      double b, bool reduce)
{
	double o = hop_link(c, h)->overhead;
	double chunks = hcomm_pieces(b, c->lim->chunk_size);

	if (is_eager(c, b))
		return o + b * (byte_work(c, h, b, reduce) + 1 / c->m->copy_rate);
	/* RTS and FIN, or GRANT, notification and completion, taken in batches */
	return chunks * (h.cls == HCOMM_LINK_LOCAL ? 1.5 : 2) * o +
	       b * byte_work(c, h, b, reduce);
}

/* what one of many small messages is to its receiver: they are taken in together */
static inline double taken_in(const struct hcomm_cost *c, struct hcomm_hop h, double b,
			      bool reduce)
{
	return hop_link(c, h)->overhead / 2 + b * byte_work(c, h, b, reduce);
}

/*
 * One rank takes in @kids messages of a gather.  News of small ones and what follows them
 * keep it from handing on what it has; the root, in the end, is not kept, and had time for
 * the news while others gathered: @late.
 */
static inline double hcomm_fan_in(struct hcomm_cost *c, struct hcomm_hop h, double b,
				  double kids, bool late)
{
	double more = kids > 1 ? kids - 1 : 0;

	if (is_eager(c, b) && late)
		return message(c, h, b, false, true) +
		       more * hcomm_max(taken_in(c, h, b, false), b * wire(c, h));
	return message(c, h, b, false, true) +
	       more * hcomm_max(cpu_busy(c, h, b, false), b * wire(c, h));
}

/*
 * What the root of a Gather or Scatter (@out) has to do at least, for all blocks but its
 * own: @sent messages to or from the others, the largest of @most bytes.
 */
static inline double hcomm_root_work(struct hcomm_cost *c, struct hcomm_hop local,
				     struct hcomm_hop far, double sent, double most,
				     bool out)
{
	double o = hop_link(c, far)->overhead, b = (c->n - 1) * c->v, net = b * wire(c, far);

	/* small ones cost their sender nothing but a copy */
	if (out)
		return hcomm_max(net, is_eager(c, most) ? b / c->m->copy_rate : sent * o / 2);
	return hcomm_max(hcomm_max(net, sent * o),
			 b * byte_work(c, far.cls ? far : local, b, false));
}

/*
 * What a large message adds to a whole schedule: the first one waits for its
 * grant, and the last sender for the news that it may end.
 */
static inline double ends(const struct hcomm_cost *c, struct hcomm_hop h, double b)
{
	const struct hcomm_link_model *l = hop_link(c, h);

	if (is_eager(c, b))
		return 0;
	return (h.cls == HCOMM_LINK_LOCAL ? 1 : 2) * l->latency + l->overhead;
}

/* what limits one after the other of them */
static inline double busy(const struct hcomm_cost *c, struct hcomm_hop h, double b,
			  bool reduce)
{
	return hcomm_max(cpu_busy(c, h, b, reduce), b * wire(c, h));
}

/* collectives that reduce */
static inline bool reduces(uint32_t coll)
{
	return coll == HCOMM_COLL_ALLREDUCE || coll == HCOMM_COLL_REDUCE ||
	       coll == HCOMM_COLL_REDUCE_SCATTER || coll == HCOMM_COLL_SCAN ||
	       coll == HCOMM_COLL_EXSCAN;
}

/* the formulas: seconds, negative where a limit would be exceeded */
typedef double (*hcomm_formula)(struct hcomm_cost *c);

double hcomm_cost_ring(struct hcomm_cost *c);
double hcomm_cost_binomial(struct hcomm_cost *c);
double hcomm_cost_double_tree(struct hcomm_cost *c);
double hcomm_cost_recursive_doubling(struct hcomm_cost *c);
double hcomm_cost_direct(struct hcomm_cost *c);
double hcomm_cost_dissemination(struct hcomm_cost *c);
double hcomm_cost_bidirectional_ring(struct hcomm_cost *c);
double hcomm_cost_knomial(struct hcomm_cost *c);
double hcomm_cost_halving_doubling(struct hcomm_cost *c);
double hcomm_cost_bruck(struct hcomm_cost *c);
double hcomm_cost_pairwise(struct hcomm_cost *c);
double hcomm_cost_star(struct hcomm_cost *c);
double hcomm_cost_pipeline(struct hcomm_cost *c);
double hcomm_cost_scatter_allgather(struct hcomm_cost *c);
double hcomm_cost_nonuniform_ring(struct hcomm_cost *c);
double hcomm_cost_nonuniform_bruck(struct hcomm_cost *c);
double hcomm_cost_hierarchical(struct hcomm_cost *c);
double hcomm_cost_linear(struct hcomm_cost *c);

/* what all messages of a call cost together on one node, in seconds; 0: not known */
double hcomm_cost_work(struct hcomm_cost *c);
/* do ranks share processors?  Then what a formula says is corrected for that */
bool hcomm_crowded(const struct hcomm_cost *c);
double hcomm_cost_crowd(struct hcomm_cost *c, double time);

/* pieces that formulas share: slices of a pipelined schedule, a way round */
double hcomm_cost_slices(const struct hcomm_cost *c, double part);
double hcomm_cost_next(struct hcomm_cost *c, double b, bool reduce);
double hcomm_cost_stride(struct hcomm_cost *c, struct hcomm_hop h, double count,
			 double block, bool reduce);
/*
 * A broadcast takes @time in place; how long on average?  The root gives @count slices of
 * @slice to @sends ranks each, @net seconds of its adapter per byte
 */
double hcomm_cost_own_copy(struct hcomm_cost *c, double time, double count, double slice,
			   double sends, double net);
/* blocks of the round of stride 2^k among n, see nonuniform_ring.c */
double hcomm_stride_blocks(double n, uint32_t k);

#endif /* HCOMM_PLAN_COST_H */
