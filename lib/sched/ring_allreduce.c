// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Ring AllReduce: reduce-scatter round the ring, then allgather round it
 * (P. Patarasuk, X. Yuan: Bandwidth optimal all-reduce algorithms for clusters
 * of workstations, JPDC 69, 2009).
 *
 * The vector is cut into one block per rank.  In round s of the first half rank
 * r sends block r - s and reduces block r - s - 1, so that block r + 1 is
 * complete at rank r; in the second half the complete blocks go round once
 * more.  Each SEND streams behind the step that made its block, so chunks run
 * through the ring without a stop between the halves.  Partial sums are made in
 * the output buffer: their block is overwritten only after it was sent on.
 */
#include <errno.h>
#include <stdlib.h>

#include "builders.h"

struct piece {
	uint64_t off;
	uint64_t len;
};

static struct piece block_piece(const struct hcomm_sched_args *args,
				uint32_t block, uint32_t channel)
{
	uint32_t size = hcomm_dtype_bytes(args->dtype);
	uint64_t first, sub, n;

	n = hcomm_split(args->count, args->nranks, block, &first);
	n = hcomm_split(n, args->channels, channel, &sub);
	return (struct piece){ .off = (first + sub) * size, .len = n * size };
}

void hcomm_build_ring_allreduce(struct hcomm_plan *plan,
				const struct hcomm_sched_args *args)
{
	uint32_t n = args->nranks, r = args->rank, nch = args->channels;
	uint32_t next = (r + 1) % n, prev = hcomm_ring_sub(r, 1, n);
	uint32_t *sent, *made, s, c;
	struct piece p;

	/* sent: the SEND of each piece in the first half; made: what a channel
	 * produced last
	 */
	sent = malloc((size_t)(n - 1) * nch * sizeof(*sent));
	made = malloc(nch * sizeof(*made));
	if (!sent || !made) {
		hcomm_plan_fail(plan, -ENOMEM);
		goto out;
	}

	for (s = 0; s < n - 1; s++) {
		for (c = 0; c < nch; c++) {
			uint32_t *snd = &sent[(size_t)s * nch + c];

			*snd = HCOMM_NO_STEP;
			p = block_piece(args, hcomm_ring_sub(r, s, n), c);
			if (p.len) {
				*snd = hcomm_plan_send(plan, next,
						       s ? hcomm_output(p.off) :
						       hcomm_input(args, p.off),
						       p.len);
				if (s)
					hcomm_plan_stream(plan, made[c]);
			}
			made[c] = HCOMM_NO_STEP;
			p = block_piece(args, hcomm_ring_sub(r, s + 1, n), c);
			if (p.len)
				made[c] = hcomm_plan_recv_reduce(plan, prev,
								 hcomm_output(p.off),
								 hcomm_input(args, p.off),
								 p.len);
		}
	}

	for (s = 0; s < n - 1; s++) {
		for (c = 0; c < nch; c++) {
			p = block_piece(args, hcomm_ring_sub(r + 1, s, n), c);
			if (p.len) {
				hcomm_plan_send(plan, next, hcomm_output(p.off),
						p.len);
				hcomm_plan_stream(plan, made[c]);
			}
			made[c] = HCOMM_NO_STEP;
			p = block_piece(args, hcomm_ring_sub(r, s, n), c);
			if (p.len) {
				made[c] = hcomm_plan_recv(plan, prev,
							  hcomm_output(p.off),
							  p.len);
				/* round 0 sent it from the input */
				if (s || args->in_place)
					hcomm_plan_stream(plan,
							  sent[(size_t)s * nch + c]);
			}
		}
	}
out:
	free(sent);
	free(made);
}
