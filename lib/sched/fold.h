/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A reduction in the order of ranks at one of them, from a message of each. */
#ifndef HCOMM_SCHED_FOLD_H
#define HCOMM_SCHED_FOLD_H

#include "tree.h"

/**
 * struct hcomm_fold - ((x0 op x1) op x2) op ...
 * @n: ranks 0 to n - 1 give
 * @me: this rank, one of them; HCOMM_NO_RANK: it does not give
 * @in: what this rank gives
 * @out: where the result goes
 * @len: bytes
 * @same: @out is @in, or is sent from
 * @first_send: first of the SENDs that read @out, already emitted
 * @nsends: how many
 */
struct hcomm_fold {
	uint32_t n;
	uint32_t me;
	struct hcomm_loc in;
	struct hcomm_loc out;
	uint64_t len;
	bool same;
	uint32_t first_send;
	uint32_t nsends;
};

/* append it; there are two ranks at least that give, or this one does not */
void hcomm_fold_emit(struct hcomm_plan *plan, const struct hcomm_fold *fold);

#endif /* HCOMM_SCHED_FOLD_H */
