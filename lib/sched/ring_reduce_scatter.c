// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Ring ReduceScatter: the first half of the ring AllReduce (see
 * ring_allreduce.c), turned by one so that block r ends at rank r.
 *
 * The output has room for one block only and the input stays as it is, so
 * partial sums are made in scratch memory.  To bound it, large blocks are done
 * in sections, and the buffers of a channel are used in turn: three, so that
 * one is sent from, one is filled, and one can be granted ahead.
 */
#include <errno.h>
#include <stdlib.h>

#include "builders.h"

#define BUFFERS		3

/* what a channel keeps between rounds */
struct channel {
	uint64_t scratch[BUFFERS];
	uint32_t reader[BUFFERS];	/* SEND that reads the buffer */
	uint32_t made;			/* what produced the block to send next */
	uint32_t used;			/* buffers filled so far */
};

/* a channel's piece of a section of a block: where it is in the input */
static uint64_t piece(const struct hcomm_sched_args *args, uint32_t block,
		      uint32_t nsec, uint32_t q, uint32_t channel, uint64_t *off,
		      uint64_t *within)
{
	uint32_t size = hcomm_dtype_bytes(args->dtype);
	uint64_t cnt, first, sub;

	cnt = hcomm_block(args, block, off) / size;
	cnt = hcomm_split(cnt, nsec, q, &first);
	cnt = hcomm_split(cnt, args->channels, channel, &sub);
	*within = (first + sub) * size;
	*off += *within;
	return cnt * size;
}

/* round s of section q in a channel */
static void exchange(struct hcomm_plan *plan, const struct hcomm_sched_args *args,
		     struct channel *h, uint32_t nsec, uint32_t q, uint32_t s,
		     uint32_t c)
{
	uint32_t n = args->nranks, r = args->rank, last = n - 2, i;
	uint64_t off, within, len;
	struct hcomm_loc dst;

	/* block r - s - 1, from where round s - 1 made it */
	len = piece(args, hcomm_ring_sub(r, s + 1, n), nsec, q, c, &off, &within);
	i = (h->used + BUFFERS - 1) % BUFFERS;
	if (len && s) {
		h->reader[i] = hcomm_plan_send(plan, (r + 1) % n,
					       hcomm_loc(HCOMM_SLOT_SCRATCH, h->scratch[i]),
					       len);
		hcomm_plan_stream(plan, h->made);
	} else if (len) {
		hcomm_plan_send(plan, (r + 1) % n, hcomm_input(args, off), len);
	}

	/* block r - s - 2 */
	len = piece(args, hcomm_ring_sub(r, (s + 2) % n, n), nsec, q, c, &off, &within);
	i = h->used % BUFFERS;
	dst = s < last ? hcomm_loc(HCOMM_SLOT_SCRATCH, h->scratch[i]) :
			 hcomm_output(args->in_place ? off : within);
	if (len) {
		h->made = hcomm_plan_recv_reduce(plan, hcomm_ring_sub(r, 1, n), dst,
						 hcomm_input(args, off), len);
		if (s < last)
			hcomm_plan_stream(plan, h->reader[i]);
	}
	h->used += s < last;
}

void hcomm_build_ring_reduce_scatter(struct hcomm_plan *plan,
				     const struct hcomm_sched_args *args)
{
	uint32_t n = args->nranks, nch = args->channels;
	uint64_t most = hcomm_longest_block(args), first, max;
	uint32_t nsec = hcomm_sections(args), q, s, c, i;
	struct channel *ch;

	ch = calloc(nch, sizeof(*ch));
	if (!ch) {
		hcomm_plan_fail(plan, -ENOMEM);
		return;
	}
	/* the first piece of the first section is the largest */
	max = hcomm_split(hcomm_split(most, nsec, 0, &first), nch, 0, &first) *
	      hcomm_dtype_bytes(args->dtype);
	for (c = 0; c < nch; c++) {
		/* n - 2 rounds fill a buffer; the last one fills the output */
		for (i = 0; i < BUFFERS; i++) {
			if ((uint64_t)nsec * (n - 2) > i)
				ch[c].scratch[i] = hcomm_plan_scratch(plan, max);
			ch[c].reader[i] = HCOMM_NO_STEP;
		}
	}

	for (q = 0; q < nsec; q++) {
		for (s = 0; s < n - 1; s++) {
			for (c = 0; c < nch; c++)
				exchange(plan, args, &ch[c], nsec, q, s, c);
		}
	}
	free(ch);
}
