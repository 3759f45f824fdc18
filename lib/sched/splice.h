/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Builders inside builders. */
#ifndef HCOMM_SCHED_SPLICE_H
#define HCOMM_SCHED_SPLICE_H

#include "blocks.h"

typedef void hcomm_builder(struct hcomm_plan *plan, const struct hcomm_sched_args *args);

/**
 * hcomm_splice_allreduce - append an AllReduce among some ranks
 * @plan: plan
 * @build: how
 * @part: what: completed arguments, of the part; ranks are filled in
 * @team: who
 * @base: byte at which the part begins in input and output
 * @made: step that made the input, HCOMM_NO_STEP: it was there
 *
 * Return: the step after which the output is complete.
 */
uint32_t hcomm_splice_allreduce(struct hcomm_plan *plan, hcomm_builder *build,
				struct hcomm_sched_args *part, const struct hcomm_team *team,
				uint64_t base, uint32_t made);

#endif /* HCOMM_SCHED_SPLICE_H */
