// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Ring AllGather: the second half of the ring AllReduce (see ring_allreduce.c).
 * In round s rank r sends block r - s, which it has from round s - 1, and
 * receives block r - s - 1.  The own block is sent from the input, and its copy
 * to the output follows that SEND, so it holds nothing up.
 */
#include <errno.h>
#include <stdlib.h>

#include "builders.h"

void hcomm_build_ring_allgather(struct hcomm_plan *plan,
				const struct hcomm_sched_args *args)
{
	uint32_t n = args->nranks, r = args->rank, nch = args->channels;
	uint32_t next = (r + 1) % n, prev = hcomm_ring_sub(r, 1, n);
	uint32_t size = hcomm_dtype_bytes(args->dtype), s, c;
	uint64_t block = args->count * size;
	uint64_t own = args->in_place ? r * block : 0;
	uint64_t first, len, off;
	uint32_t *made, sent = HCOMM_NO_STEP;

	made = malloc(nch * sizeof(*made));
	if (!made) {
		hcomm_plan_fail(plan, -ENOMEM);
		return;
	}
	for (s = 0; s < n - 1; s++) {
		for (c = 0; c < nch; c++) {
			len = hcomm_split(args->count, nch, c, &first) * size;
			off = first * size;
			if (!len)
				continue;
			if (s) {
				hcomm_plan_send(plan, next,
						hcomm_output(off + block *
							     hcomm_ring_sub(r, s, n)),
						len);
				hcomm_plan_stream(plan, made[c]);
			} else {
				sent = hcomm_plan_send(plan, next,
						       hcomm_input(args, own + off),
						       len);
			}
			made[c] = hcomm_plan_recv(plan, prev,
						  hcomm_output(off + block *
							       hcomm_ring_sub(r, s + 1, n)),
						  len);
			if (s || args->in_place)
				continue;
			hcomm_plan_copy(plan, hcomm_output(r * block + off),
					hcomm_input(args, off), len);
			hcomm_plan_stream(plan, sent);
		}
	}
	free(made);
}
