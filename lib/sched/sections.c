// SPDX-License-Identifier: LGPL-2.1-or-later
/* ReduceScatter in sections, so that scratch memory is bounded. */
#include "blocks.h"
#include "builders.h"

#define SECTION_CHUNKS	16	/* chunks of a block in one section */

uint64_t hcomm_longest_block(const struct hcomm_sched_args *args)
{
	uint64_t most = args->count;
	uint32_t i;

	for (i = 0; args->counts && i < args->nranks; i++) {
		if (!i || args->counts[i] > most)
			most = args->counts[i];
	}
	return most;
}

uint32_t hcomm_sections(const struct hcomm_sched_args *args)
{
	uint64_t block = hcomm_longest_block(args) * hcomm_dtype_bytes(args->dtype);
	uint64_t want = block / ((uint64_t)args->chunk_size * SECTION_CHUNKS) + 1;
	uint64_t fit = HCOMM_MAX_STEPS / 2 / (args->nranks * (uint64_t)args->channels);

	if (want > fit)
		want = fit;
	return want ? want : 1;
}

struct hcomm_blk hcomm_section(const struct hcomm_sched_args *args, uint32_t i, uint32_t q,
			       uint32_t nsec, const struct hcomm_blk *before)
{
	struct hcomm_loc acc = { .slot = HCOMM_NO_SLOT };
	uint32_t size = hcomm_dtype_bytes(args->dtype);
	uint64_t off, first, cnt;
	struct hcomm_blk blk;

	cnt = hcomm_block(args, i, &off) / size;
	cnt = hcomm_split(cnt, nsec, q, &first);
	off += first * size;
	if (i == args->rank)
		acc = hcomm_output(args->in_place ? off : first * size);
	else if (q)
		acc = before->acc;
	blk = hcomm_blk(cnt * size, hcomm_input(args, off), acc);
	if (q && i != args->rank)
		blk.reader = before->reader;
	return blk;
}
