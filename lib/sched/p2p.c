// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Send and receive: one message from args->root to args->peer; other ranks have
 * nothing to do.  To oneself it is a copy.
 */
#include "builders.h"

void hcomm_build_p2p(struct hcomm_plan *plan, const struct hcomm_sched_args *args)
{
	uint64_t len = args->count * hcomm_dtype_bytes(args->dtype);
	uint32_t from = args->root, to = args->peer;

	if (!len)
		return;
	if (args->rank == from && from == to && !args->in_place)
		hcomm_plan_copy(plan, hcomm_output(0), hcomm_input(args, 0), len);
	if (from == to)
		return;
	if (args->rank == from)
		hcomm_plan_send(plan, to, hcomm_input(args, 0), len);
	if (args->rank == to)
		hcomm_plan_recv(plan, from, hcomm_output(0), len);
}
