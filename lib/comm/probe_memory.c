// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * How fast the engine copies and reduces on this rank: programs of one local step,
 * of two sizes; what differs between their times is the work.
 */
#include <string.h>

#include "../base/base.h"
#include "../mem/mem.h"
#include "probe.h"

#define SMALL	(64u << 10)
#define LARGE	(512u << 10)
#define ROUNDS	4u

/* no run of a call has such a number: those of collectives count from 0 */
#define RUN_KEY	(1ull << 62)

/* the shortest time of one step, ns */
static hcommResult_t time_step(struct hcomm_comm *comm, const struct hcomm_step *step,
			       const struct hcomm_slot *slots, uint64_t *run_key,
			       uint64_t *best)
{
	struct hcomm_prog_load load = {
		.size = sizeof(load),
		.comm_id = comm->id,
		.steps = (uintptr_t)step,
		.nsteps = 1,
		.nslots = 2,
		.max_runs = 1,
	};
	int err = hcomm_dev_ioctl(HCOMM_PROG_LOAD, &load);
	uint32_t i;

	*best = 0;
	for (i = 0; i < ROUNDS && !err; i++) {
		struct hcomm_launch launch = {
			.prog_id = load.out_prog_id,
			.slots = (uintptr_t)slots,
			.nslots = 2,
			.flags = HCOMM_LAUNCH_WAIT,
			.run = (*run_key)++,
		};
		struct hcomm_run run = { 0 };

		err = hcomm_dev_launch(&launch, &run);
		if (!err)
			err = -run.status;
		if (!*best || run.duration_ns < *best)
			*best = run.duration_ns;
	}
	hcomm_dev_destroy(load.out_prog_id);
	return err ? hcomm_comm_error(comm, err, "probing memory") : HCOMM_SUCCESS;
}

static hcommResult_t rate_of(struct hcomm_comm *comm, uint8_t op,
			     const struct hcomm_slot *slots, uint64_t *run_key,
			     double *rate)
{
	struct hcomm_step step = {
		.op = op,
		.dtype = op == HCOMM_STEP_REDUCE ? HCOMM_DT_FP32 : 0,
		.src_slot = 0,
		.dst_slot = 1,
		.len = SMALL,
	};
	uint64_t small, large;
	hcommResult_t ret;

	*rate = 0;
	ret = time_step(comm, &step, slots, run_key, &small);
	step.len = LARGE;
	if (!ret)
		ret = time_step(comm, &step, slots, run_key, &large);
	if (!ret && large > small)
		*rate = (LARGE - SMALL) * 1e9 / (double)(large - small);
	return ret;
}

hcommResult_t hcomm_probe_memory(struct hcomm_comm *comm, double *copy, double *reduce)
{
	struct hcomm_slot slots[2] = { { .length = LARGE }, { .length = LARGE } };
	uint64_t off = 0, run_key = RUN_KEY;
	hcommResult_t ret;
	void *buf;
	int i;

	ret = hcomm_mem_alloc(2 * LARGE, &buf);
	if (ret)
		return ret;
	/* zeros: neither NaN nor tiny numbers, which take longer on some machines */
	memset(buf, 0, 2 * LARGE);
	for (i = 0; i < 2 && !ret; i++) {
		ret = hcomm_mem_find((char *)buf + i * LARGE, LARGE, &slots[i].mem_id,
				     &off);
		slots[i].offset = off;
	}
	if (!ret)
		ret = rate_of(comm, HCOMM_STEP_COPY, slots, &run_key, copy);
	if (!ret)
		ret = rate_of(comm, HCOMM_STEP_REDUCE, slots, &run_key, reduce);
	hcomm_mem_free(buf);
	return ret;
}
