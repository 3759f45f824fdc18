// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Ring AllGather: the second half of the ring AllReduce (see ring_allreduce.c).
 * In round s rank r sends block r - s, which it has from round s - 1, and
 * receives block r - s - 1.  The own block is sent from the input, and its copy
 * to the output follows that SEND, so it holds nothing up.  Of two ranks nobody
 * waits for what comes to be handed on: they copy while they wait for it.
 */
#include <errno.h>
#include <stdlib.h>

#include "builders.h"

/* a channel's piece of a block: where it is in the output */
static uint64_t piece(const struct hcomm_sched_args *args, uint32_t block,
		      uint32_t channel, uint64_t *off, uint64_t *within)
{
	uint32_t size = hcomm_dtype_bytes(args->dtype);
	uint64_t first, len;

	len = hcomm_block(args, block, off);
	len = hcomm_split(len / size, args->channels, channel, &first) * size;
	*within = first * size;
	*off += *within;
	return len;
}

void hcomm_build_ring_allgather(struct hcomm_plan *plan,
				const struct hcomm_sched_args *args)
{
	uint32_t n = args->nranks, r = args->rank, nch = args->channels;
	uint32_t next = (r + 1) % n, prev = hcomm_ring_sub(r, 1, n), s, c, sent;
	struct hcomm_loc own;
	uint64_t len, off, within;
	uint32_t *made;

	made = malloc(nch * sizeof(*made));
	if (!made) {
		hcomm_plan_fail(plan, -ENOMEM);
		return;
	}
	for (s = 0; s < n - 1; s++) {
		for (c = 0; c < nch; c++) {
			len = piece(args, hcomm_ring_sub(r, s, n), c, &off, &within);
			own = hcomm_input(args, args->in_place ? off : within);
			sent = HCOMM_NO_STEP;
			if (len) {
				sent = hcomm_plan_send(plan, next,
						       s ? hcomm_output(off) : own, len);
				if (s)
					hcomm_plan_stream(plan, made[c]);
			}
			if (len && !s && !args->in_place) {
				hcomm_plan_copy(plan, hcomm_output(off), own, len);
				if (n > 2)
					hcomm_plan_stream(plan, sent);
			}
			len = piece(args, hcomm_ring_sub(r, s + 1, n), c, &off, &within);
			if (len)
				made[c] = hcomm_plan_recv(plan, prev, hcomm_output(off),
							  len);
		}
	}
	free(made);
}
