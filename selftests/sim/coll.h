/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Insides of the collectives: what a specification means for each rank
 * (collspec.c), and which bytes must be where before and after (collref.c).
 */
#ifndef HCOMM_SIM_COLL_H
#define HCOMM_SIM_COLL_H

#include <hcomm/sched.h>
#include "sim.h"

struct coll_job;

/**
 * struct coll_run - one run of all ranks
 * @job: job
 * @index: number of the run: inputs differ
 * @want: result of the reduction, of SCAN and EXSCAN one per rank; or NULL
 * @runs: by rank
 */
struct coll_run {
	struct coll_job *job;
	u32 index;
	u8 *want;
	struct sim_run **runs;
};

/**
 * struct coll_job - runs of one collective
 * @spec: what
 * @nranks: ranks
 * @size: of an element
 * @topo: of the plan
 * @sums: V forms: elements of all blocks before each rank's (nranks + 1 entries)
 * @run: spec.runs of them
 */
struct coll_job {
	struct coll_spec spec;
	u32 nranks;
	u32 size;
	struct hcomm_sched_topo *topo;
	u64 *sums;
	struct coll_run *run;
};

/* The arrays of one rank's arguments; NULL where there are none. */
struct coll_arrays {
	u64 *counts;
	u64 *displs;
	u64 *rcounts;
	u64 *rdispls;
};

bool coll_reduces(u32 coll);
/* Elements of the block from a rank to another; where only one matters, that is @to. */
u64 coll_block(const struct coll_job *job, u32 from, u32 to);
/* Where the blocks of a V form are, in one rank's buffer of all; packed otherwise. */
u64 *coll_displs(const struct coll_job *job, u32 rank, bool received);
/* The arguments of a rank; coll_arrays_free() when they are used. */
void coll_args(const struct coll_job *job, u32 chunk_size, u32 rank,
	       struct hcomm_sched_args *args, struct coll_arrays *arrays);
void coll_arrays_free(struct coll_arrays *arrays);
/* The parts of a job that follow from the specification alone. */
void coll_job_init(struct coll_job *job, const struct coll_spec *spec,
		   const struct sim_cfg *cfg);
void coll_job_exit(struct coll_job *job);

/* What the reduction of a run must give. */
void coll_expect(struct coll_run *run);
/* Memory of one rank before its launch. */
void coll_fill(struct coll_run *run, u32 rank);
/* And after: NULL, or what is wrong. */
const char *coll_compare(struct coll_run *run, u32 rank);

#endif /* HCOMM_SIM_COLL_H */
