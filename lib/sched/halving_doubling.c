// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Recursive halving and doubling: ReduceScatter, AllGather, and AllReduce as one
 * after the other (R. Rabenseifner: Optimization of collective reduction
 * operations, ICCS 2004; R. Thakur, R. Rabenseifner, W. Gropp: Optimization of
 * collective communication operations in MPICH, IJHPCA 19, 2005).
 *
 * 2^k ranks take part.  Halving: partners at distance 2^(k-1), ..., 2, 1 each send
 * the half of their range that the other one keeps, and reduce what they get
 * into their own.  Doubling goes back the same way with complete ranges.  Of n
 * ranks the first 2 * (n - 2^k) fold in pairs: the odd one gives all it has to
 * the even one before, and gets its part after.
 *
 * Parts are contiguous and in the order of ranks, so every round is one message
 * each way; only a part of two ranks is sent as two, as they go to different
 * places.
 */
#include "builders.h"

#define MAX_ROUNDS	32

struct hd {
	struct hcomm_plan *plan;
	const struct hcomm_sched_args *args;
	uint32_t pow2;
	uint32_t rounds;
	uint32_t folded;
	uint32_t me;
	uint32_t sent[MAX_ROUNDS];	/* halving: SEND of a round */
	uint32_t made[2 * MAX_ROUNDS + 4];	/* what the range consists of */
	uint32_t nmade;
};

static uint32_t rank_of(const struct hd *h, uint32_t v)
{
	return v < h->folded ? 2 * v : v + h->folded;
}

static uint64_t block_start(const struct hd *h, uint32_t block)
{
	uint64_t off, len;

	if (block < h->args->nranks) {
		hcomm_block(h->args, block, &off);
		return off;
	}
	len = hcomm_block(h->args, block - 1, &off);
	return off + len;
}

/* byte where part v begins, or where the last one ends */
static uint64_t start(const struct hd *h, uint32_t v)
{
	uint32_t size = hcomm_dtype_bytes(h->args->dtype);
	uint64_t first;

	if (h->args->coll != HCOMM_COLL_ALLREDUCE)
		return block_start(h, rank_of(h, v));
	hcomm_split(h->args->count, h->pow2, v, &first);
	return first * size;
}

static void after_made(struct hd *h)
{
	uint32_t i;

	for (i = 0; i < h->nmade; i++)
		hcomm_plan_follow(h->plan, h->made[i]);
}

static struct hcomm_loc plus(struct hcomm_loc loc, uint64_t off)
{
	loc.off += off;
	return loc;
}

/*
 * Halving.  @at is where the data is, offset 0 being that of the whole vector; in
 * the end, the range of this rank is in the output (ALLREDUCE), or its own block
 * is and that of the folded rank is in scratch memory at the offset returned.
 */
static uint64_t halve(struct hd *h, struct hcomm_loc at, struct hcomm_loc acc)
{
	const struct hcomm_sched_args *args = h->args;
	bool scatter = args->coll == HCOMM_COLL_REDUCE_SCATTER;
	uint32_t lo = 0, mask, k = h->rounds, partner, keep, give, b, step;
	uint64_t from, to, theirs = 0, own = 0;
	struct hcomm_loc dst;

	if (scatter)
		own = args->in_place ? block_start(h, args->rank) : 0;
	for (mask = h->pow2 / 2; mask; mask /= 2) {
		partner = rank_of(h, h->me ^ mask);
		keep = h->me & mask ? lo + mask : lo;
		give = h->me & mask ? lo : lo + mask;
		k--;
		h->sent[k] = HCOMM_NO_STEP;
		if (scatter && acc.slot != HCOMM_SLOT_SCRATCH) {
			/* room for what is kept, laid out from its start on */
			from = start(h, keep);
			to = start(h, keep + mask);
			acc = hcomm_loc(HCOMM_SLOT_SCRATCH,
					hcomm_plan_scratch(h->plan, to - from) - from);
		}
		if (scatter && mask == 1) {
			for (b = rank_of(h, give); b < rank_of(h, give + 1); b++) {
				from = block_start(h, b);
				to = block_start(h, b + 1);
				if (from == to)
					continue;
				hcomm_plan_send(h->plan, partner, plus(at, from), to - from);
				after_made(h);
			}
			for (b = rank_of(h, keep); b < rank_of(h, keep + 1); b++) {
				from = block_start(h, b);
				to = block_start(h, b + 1);
				dst = b == args->rank ? hcomm_output(own) : plus(acc, from);
				if (b != args->rank)
					theirs = dst.off;
				if (from == to)
					continue;
				step = hcomm_plan_recv_reduce(h->plan, partner, dst,
							      plus(at, from), to - from);
				after_made(h);
				if (b != args->rank)
					h->made[h->nmade++] = step;
			}
			break;
		}
		from = start(h, give);
		to = start(h, give + mask);
		if (from != to) {
			h->sent[k] = hcomm_plan_send(h->plan, partner, plus(at, from),
						     to - from);
			after_made(h);
		}
		from = start(h, keep);
		to = start(h, keep + mask);
		if (from != to) {
			step = hcomm_plan_recv_reduce(h->plan, partner, plus(acc, from),
						      plus(at, from), to - from);
			after_made(h);
			h->made[0] = step;
			h->nmade = 1;
		}
		at = acc;
		lo = keep;
	}
	return theirs;
}

/* doubling in the output; @over: what comes overwrites what halving sent */
static void redouble(struct hd *h, bool over, bool first_too)
{
	uint32_t mask, k = 0, lo, partner;
	uint64_t from, to;

	for (mask = 1; mask < h->pow2; mask *= 2, k++) {
		partner = rank_of(h, h->me ^ mask);
		lo = h->me & ~(mask - 1);
		from = start(h, lo);
		to = start(h, lo + mask);
		if (from != to) {
			hcomm_plan_send(h->plan, partner, hcomm_output(from), to - from);
			after_made(h);
		}
		lo ^= mask;
		from = start(h, lo);
		to = start(h, lo + mask);
		if (from == to)
			continue;
		h->made[h->nmade] = hcomm_plan_recv(h->plan, partner, hcomm_output(from),
						    to - from);
		/* the first round of halving may have read the input */
		if (over && (k + 1 < h->rounds || first_too))
			hcomm_plan_follow(h->plan, h->sent[k]);
		h->nmade++;
	}
}

static void allreduce(struct hd *h)
{
	const struct hcomm_sched_args *args = h->args;
	uint64_t len = args->count * hcomm_dtype_bytes(args->dtype);
	struct hcomm_loc in = hcomm_input(args, 0), out = hcomm_output(0);
	bool folds = args->rank < 2 * h->folded;
	uint32_t sent;

	if (!len)
		return;
	if (folds && args->rank % 2) {
		sent = hcomm_plan_send(h->plan, args->rank - 1, in, len);
		hcomm_plan_recv(h->plan, args->rank - 1, out, len);
		if (args->in_place)
			hcomm_plan_stream(h->plan, sent);
		return;
	}
	if (folds) {
		h->made[h->nmade++] = hcomm_plan_recv_reduce(h->plan, args->rank + 1,
							     out, in, len);
		in = out;
	}
	halve(h, in, out);
	redouble(h, true, folds || args->in_place);
	if (folds) {
		hcomm_plan_send(h->plan, args->rank + 1, out, len);
		after_made(h);
	}
}

static void reduce_scatter(struct hd *h)
{
	const struct hcomm_sched_args *args = h->args;
	uint64_t all = block_start(h, args->nranks), off, len, theirs;
	struct hcomm_loc in = hcomm_input(args, 0), acc = hcomm_output(0);
	uint32_t r = args->rank, sent = HCOMM_NO_STEP;

	if (!all)
		return;
	if (r < 2 * h->folded && r % 2) {
		sent = hcomm_plan_send(h->plan, r - 1, in, all);
		len = hcomm_block(args, r, &off);
		if (!len)
			return;
		hcomm_plan_recv(h->plan, r - 1, hcomm_output(args->in_place ? off : 0), len);
		if (args->in_place)
			hcomm_plan_stream(h->plan, sent);
		return;
	}
	if (r < 2 * h->folded) {
		acc = hcomm_loc(HCOMM_SLOT_SCRATCH, hcomm_plan_scratch(h->plan, all));
		h->made[h->nmade++] = hcomm_plan_recv_reduce(h->plan, r + 1, acc, in, all);
		in = acc;
	}
	theirs = halve(h, in, acc);
	if (r >= 2 * h->folded)
		return;
	len = hcomm_block(args, r + 1, &off);
	if (len) {
		hcomm_plan_send(h->plan, r + 1, hcomm_loc(HCOMM_SLOT_SCRATCH, theirs), len);
		after_made(h);
	}
}

/* the folded pair: all but the block of the odd rank, in two ranges */
static void unfold(struct hd *h, bool send)
{
	uint32_t odd = h->args->rank | 1, i;
	uint64_t from[2] = { 0, block_start(h, odd + 1) };
	uint64_t to[2] = { block_start(h, odd), block_start(h, h->args->nranks) };

	for (i = 0; i < 2; i++) {
		if (from[i] == to[i])
			continue;
		if (send) {
			hcomm_plan_send(h->plan, odd, hcomm_output(from[i]),
					to[i] - from[i]);
			after_made(h);
		} else {
			hcomm_plan_recv(h->plan, odd - 1, hcomm_output(from[i]),
					to[i] - from[i]);
		}
	}
}

static void allgather(struct hd *h)
{
	const struct hcomm_sched_args *args = h->args;
	uint32_t r = args->rank, step = HCOMM_NO_STEP;
	uint64_t off, len = hcomm_block(args, r, &off);
	struct hcomm_loc own = hcomm_input(args, args->in_place ? off : 0);

	if (!len)
		return;
	if (r < 2 * h->folded && r % 2)
		step = hcomm_plan_send(h->plan, r - 1, own, len);
	if (!args->in_place) {
		h->made[h->nmade++] = hcomm_plan_copy(h->plan, hcomm_output(off), own, len);
		hcomm_plan_stream(h->plan, step);
	}
	if (r < 2 * h->folded && r % 2) {
		unfold(h, false);
		return;
	}
	if (r < 2 * h->folded)
		h->made[h->nmade++] = hcomm_plan_recv(h->plan, r + 1,
						      hcomm_output(off + len), len);
	redouble(h, false, false);
	if (r < 2 * h->folded)
		unfold(h, true);
}

void hcomm_build_halving_doubling(struct hcomm_plan *plan,
				  const struct hcomm_sched_args *args)
{
	struct hd h = { .plan = plan, .args = args, .pow2 = 1 };
	uint32_t r = args->rank;

	for (; h.pow2 * 2 <= args->nranks; h.pow2 *= 2)
		h.rounds++;
	h.folded = args->nranks - h.pow2;
	h.me = r < 2 * h.folded ? r / 2 : r - h.folded;
	if (args->coll == HCOMM_COLL_ALLREDUCE)
		allreduce(&h);
	else if (args->coll == HCOMM_COLL_REDUCE_SCATTER)
		reduce_scatter(&h);
	else
		allgather(&h);
}
