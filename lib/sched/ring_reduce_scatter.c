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

#define SECTION_CHUNKS	16	/* chunks of a block in one section */
#define BUFFERS		3

/* what a channel keeps between rounds */
struct channel {
	uint64_t scratch[BUFFERS];
	uint32_t reader[BUFFERS];	/* SEND that reads the buffer */
	uint32_t made;			/* what produced the block to send next */
	uint32_t used;			/* buffers filled so far */
};

static uint32_t sections(const struct hcomm_sched_args *args)
{
	uint64_t block = args->count * hcomm_dtype_bytes(args->dtype);
	uint64_t want = block / ((uint64_t)args->chunk_size * SECTION_CHUNKS) + 1;
	uint64_t fit = HCOMM_MAX_STEPS / 2 / (args->nranks * (uint64_t)args->channels);

	if (want > fit)
		want = fit;
	return want ? want : 1;
}

/* one round of a channel: @off and @len of the piece within its block */
static void exchange(struct hcomm_plan *plan, const struct hcomm_sched_args *args,
		     struct channel *h, uint32_t s, uint64_t off, uint64_t len)
{
	uint32_t n = args->nranks, r = args->rank, last = n - 2, i;
	uint64_t block = args->count * hcomm_dtype_bytes(args->dtype);
	uint64_t own = args->in_place ? r * block : 0;
	struct hcomm_loc loc;

	/* block r - s - 1, from where round s - 1 made it */
	loc = hcomm_input(args, block * hcomm_ring_sub(r, s + 1, n) + off);
	i = (h->used + BUFFERS - 1) % BUFFERS;
	if (s) {
		loc = hcomm_loc(HCOMM_SLOT_SCRATCH, h->scratch[i]);
		h->reader[i] = hcomm_plan_send(plan, (r + 1) % n, loc, len);
		hcomm_plan_stream(plan, h->made);
	} else {
		hcomm_plan_send(plan, (r + 1) % n, loc, len);
	}

	/* block r - s - 2 */
	i = h->used % BUFFERS;
	loc = s < last ? hcomm_loc(HCOMM_SLOT_SCRATCH, h->scratch[i]) :
			 hcomm_output(own + off);
	off += block * hcomm_ring_sub(r, (s + 2) % n, n);
	h->made = hcomm_plan_recv_reduce(plan, hcomm_ring_sub(r, 1, n), loc,
					 hcomm_input(args, off), len);
	if (s < last) {
		hcomm_plan_stream(plan, h->reader[i]);
		h->used++;
	}
}

void hcomm_build_ring_reduce_scatter(struct hcomm_plan *plan,
				     const struct hcomm_sched_args *args)
{
	uint32_t n = args->nranks, nch = args->channels;
	uint32_t size = hcomm_dtype_bytes(args->dtype);
	uint32_t nsec = sections(args), q, s, c, i;
	uint64_t first, sub, cnt, max;
	struct channel *ch;

	ch = calloc(nch, sizeof(*ch));
	if (!ch) {
		hcomm_plan_fail(plan, -ENOMEM);
		return;
	}
	/* the first piece of the first section is the largest */
	max = hcomm_split(hcomm_split(args->count, nsec, 0, &first), nch, 0, &sub);
	for (c = 0; c < nch; c++) {
		/* n - 2 rounds fill a buffer; the last one fills the output */
		for (i = 0; i < BUFFERS; i++) {
			if ((uint64_t)nsec * (n - 2) > i)
				ch[c].scratch[i] = hcomm_plan_scratch(plan, max * size);
			ch[c].reader[i] = HCOMM_NO_STEP;
		}
	}

	for (q = 0; q < nsec; q++) {
		for (s = 0; s < n - 1; s++) {
			for (c = 0; c < nch; c++) {
				cnt = hcomm_split(args->count, nsec, q, &first);
				cnt = hcomm_split(cnt, nch, c, &sub);
				if (cnt)
					exchange(plan, args, &ch[c], s,
						 (first + sub) * size, cnt * size);
			}
		}
	}
	free(ch);
}
