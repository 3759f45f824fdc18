/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Feedback: measured times decide between the two candidates that the model finds
 * best, and correct the model.  Only with HCOMM_TUNE=1, as the choice, and with it
 * the last bits of floating-point sums, then depends on the weather.
 *
 * All ranks decide alike because everything happens at fixed numbers of the calls
 * of a kind (collective, type, count), which all ranks count alike:
 *
 *	0 to TRIALS - 1		the two candidates in turn; each rank keeps the
 *				shortest time of each
 *	before agree_at		an AllReduce (max) of the two times begins
 *	before settle_at	its result decides
 *
 * Nobody waits for a rank that waits for him: the AllReduce runs beside the calls,
 * and settle_at is so late that some call of the kind behind agree_at is complete.
 * As every rank takes part in each of these collectives before any rank is done
 * with it, all ranks have begun the AllReduce by then.
 */
#ifndef HCOMM_TUNE_H
#define HCOMM_TUNE_H

#include "choose.h"

#define HCOMM_TRIALS	64u	/* kinds of calls that are tuned */

struct hcomm_call_args;

/**
 * struct hcomm_trial - a kind of call under test
 * @coll: enum hcomm_coll
 * @dtype: enum hcomm_dtype
 * @count: elements
 * @calls: launched so far; counted alike on all ranks
 * @cand: the two candidates, then the winner is in @winner
 * @winner: index
 * @settled: it is decided
 * @settled_at: from this call on
 * @time: by candidate: shortest on this rank, ns; UINT64_MAX: none yet
 * @agree: the AllReduce, while it is in flight
 * @asked: it was begun
 * @both: its buffer, from the pool
 */
struct hcomm_trial {
	uint32_t coll;
	uint32_t dtype;
	uint64_t count;
	uint64_t calls;
	struct hcomm_candidate cand[2];
	uint32_t winner;
	bool settled;
	uint64_t settled_at;
	uint64_t time[2];
	hcommRequest_t agree;
	bool asked;
	uint64_t *both;
};

/**
 * struct hcomm_trials - trials of a communicator
 * @list: in the order of their first calls; later kinds are not tuned
 * @count: how many
 */
struct hcomm_trials {
	struct hcomm_trial *list[HCOMM_TRIALS];
	uint32_t count;
};

/**
 * hcomm_tune_step - what is due before a call: begin to agree, or settle
 * @comm: communicator, not locked
 * @call: call
 * @wait: wait for room
 *
 * HCOMM_ERR_BUSY: nothing was done, as for the call itself.
 */
hcommResult_t hcomm_tune_step(struct hcomm_comm *comm,
			      const struct hcomm_call_args *call, bool wait);

/* the trial of a call, begun if there is none; NULL: it is not tuned; locked */
struct hcomm_trial *hcomm_tune_find(struct hcomm_comm *comm,
				    const struct hcomm_sched_args *args);

/* which candidate the next call takes: 0 or 1; locked */
uint32_t hcomm_tune_turn(const struct hcomm_trial *trial);

/* a call of a trial is over, well; locked */
void hcomm_tune_done(struct hcomm_trial *trial, uint32_t turn, uint64_t ns);

/* the communicator ends: its runs are over; what was begun is given up */
void hcomm_tune_stop(struct hcomm_comm *comm);

/* its last request is gone: free everything */
void hcomm_tune_exit(struct hcomm_comm *comm);

#endif /* HCOMM_TUNE_H */
