/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Arguments: which are valid, what buffers they imply. */
#ifndef HCOMM_SCHED_ARGS_H
#define HCOMM_SCHED_ARGS_H

#include <hcomm/sched.h>

/* longest buffer: offsets and their sums can't overflow */
#define HCOMM_SCHED_MAX_BYTES	(1ull << 60)

/* this rank is the root of a GATHER or SCATTER */
static inline bool hcomm_args_at_root(const struct hcomm_sched_args *args)
{
	return args->rank == args->root;
}

static inline bool hcomm_args_vector(const struct hcomm_sched_args *args)
{
	return args->vector || args->counts;
}

/**
 * hcomm_args_check - all but what the algorithm can do
 * @args: arguments
 *
 * Return: 0, -EINVAL or -EOVERFLOW.
 */
int hcomm_args_check(const struct hcomm_sched_args *args);

/**
 * hcomm_args_complete - write out what arguments leave open
 * @args: valid arguments, changed: channels and radix are set; in a V form
 *	@vector is set, and @counts and @displs where this rank has or needs all
 *	blocks (of ALLTOALL, in place, the input's are the output's), else @count
 * @memory: out: to be given to free() after @args
 *
 * Return: 0 or -ENOMEM.
 */
int hcomm_args_complete(struct hcomm_sched_args *args, uint64_t **memory);

#endif /* HCOMM_SCHED_ARGS_H */
