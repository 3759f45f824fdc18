/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Random programs for all ranks at once, and what they must compute.
 *
 * Operations are drawn in one global order, which is also the order in which the
 * reference executes them, one after the other.  A message is two of them: its
 * SEND and, maybe much later, its RECV.  Each rank's program is its part of the
 * global order; a step depends on every earlier one that it conflicts with, and
 * on some others.  No step between a SEND and its RECV depends on that SEND:
 * so the global order is one in which everything can happen, and the engine must
 * find one too, whatever the fabric does.
 */
#ifndef HCOMM_SIM_RANDPROG_H
#define HCOMM_SIM_RANDPROG_H

#include "sim.h"

#define MAX_STEPS 128		/* of one rank */
#define WORDS (MAX_STEPS / 64)
#define NSLOTS 3
#define SINK (NSLOTS - 1)	/* never sent from: a RECV always finds room here */
#define MAX_PENDING 12

struct range {
	u32 slot;
	u64 off;
	u64 len;
};

/* One step while the program is made. */
struct gstep {
	struct hcomm_step s;
	u32 deps[MAX_STEPS];
	u64 before[WORDS];	/* steps that are complete before it starts */
};

struct grank {
	struct gstep steps[MAX_STEPS];
	u32 n;
	u64 slot_len[NSLOTS];
	u64 open[WORDS];	/* SENDs whose RECV was not drawn yet */
	struct range last;	/* what was touched last */
};

struct pending {
	u32 from;
	u32 to;
	u32 step;
	u64 len;
};

/* The reference's list. */
struct gop {
	u32 rank;
	u32 step;
	u32 sender;		/* RECV, RECV_REDUCE */
	u32 send_step;
};

struct grun {
	struct grank *ranks;
	struct gop *ops;
	u32 nops;
	u32 max_ops;
	struct pending pend[MAX_PENDING];
	u32 npend;
	u32 *msgs;		/* next number by (from, to, receive?) */
	struct sim_run **runs;
	u8 **mem;		/* reference: all slots of a rank, one after the other */
	bool ran;
};

struct rand_job {
	const struct sim_cfg *cfg;
	struct sim_rng *rng;
	u32 nranks;
	u32 nruns;
	u32 launches;
	struct grun *run;
};

/* randdraw.c: about @nops operations, and the RECVs that are missing then */
void rand_draw_ops(struct rand_job *job, struct grun *run, u32 nops);

/* randref.c: do all of it once, in the global order */
void rand_ref_run(struct grun *run);
/* Is the memory of a rank what the reference says?  @n: of the run, to tell. */
void rand_ref_compare(struct sim *sim, struct grun *run, u32 n, u32 rank);

#endif /* HCOMM_SIM_RANDPROG_H */
