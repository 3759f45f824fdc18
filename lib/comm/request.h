/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A call in flight, shared by what launches one, what launches many, and what
 * launches one many times.
 */
#ifndef HCOMM_REQUEST_H
#define HCOMM_REQUEST_H

#include "comm.h"

/**
 * struct hcomm_binding - a buffer of a call
 * @user: the caller's
 * @bounce: memory of the pool that stands in for it, NULL: none
 * @len: bytes
 * @copy_out: @bounce is copied to @user at the end
 * @temp_id: MEM object of this call alone, 0: none
 */
struct hcomm_binding {
	void *user;
	void *bounce;
	uint64_t len;
	bool copy_out;
	uint32_t temp_id;
};

/**
 * struct hcomm_request - a call in flight
 * @run: its completion
 * @comm: communicator, a reference
 * @entry: plan, counted in flight until the run is done
 * @name: of the call, for messages
 * @trial: it is measured for, or NULL
 * @turn: candidate of the trial
 * @count: elements, as far as all ranks know
 * @hash: what else all ranks know
 * @bound: buffers by slot
 * @slots: what the kernel is told about them
 * @more: the next call of a group that has one request, or NULL
 * @again: the call of a persistent request, which owns it; NULL: it is made once
 * @active: persistent: launched and not yet waited for
 */
struct hcomm_request {
	struct hcomm_run run;
	struct hcomm_comm *comm;
	struct hcomm_entry *entry;
	const char *name;
	struct hcomm_trial *trial;
	uint32_t turn;
	uint64_t count;
	uint32_t hash;
	struct hcomm_binding bound[3];
	struct hcomm_slot slots[3];
	struct hcomm_request *more;
	struct hcomm_call_args *again;
	bool active;
};

/* ------------------------------------------------------------------ buffers.c */

/* bind the slots of a request that has its plan; after an error nothing is bound */
hcommResult_t hcomm_buffers_bind(struct hcomm_request *r,
				 const struct hcomm_call_args *call);
/* @copy: the call is well done: give the caller what it wrote */
void hcomm_buffers_unbind(struct hcomm_request *r, bool copy);

/* ----------------------------------------------------------------------- op.c */

/**
 * struct hcomm_number - the number of a call, to give it back
 * @run: run key
 * @seq: of a message, in its flow
 */
struct hcomm_number {
	uint64_t run;
	uint32_t seq;
};

/**
 * hcomm_request_prepare - the plan, counted in flight, and the buffers of a call
 * @comm: communicator
 * @r: request
 * @call: call
 * @wait: until there is room for a call more
 *
 * Undone by hcomm_request_undo().
 */
hcommResult_t hcomm_request_prepare(struct hcomm_comm *comm, struct hcomm_request *r,
				    const struct hcomm_call_args *call, bool wait);
void hcomm_request_undo(struct hcomm_request *r);

/**
 * hcomm_request_number - number a call, and say what the kernel is to do
 * @r: request that is prepared
 * @call: call
 * @arg: out: all but flags, size and user_data
 * @number: out: for hcomm_request_unnumber()
 */
hcommResult_t hcomm_request_number(struct hcomm_request *r,
				   const struct hcomm_call_args *call,
				   struct hcomm_launch *arg, struct hcomm_number *number);
/* it was not launched: others first that were numbered later */
void hcomm_request_unnumber(struct hcomm_request *r, const struct hcomm_call_args *call,
			    const struct hcomm_number *number);

/*
 * The plan and the buffers of a persistent request, which is cleared but for comm, name
 * and again; undone by hcomm_request_release().
 */
hcommResult_t hcomm_request_bind(struct hcomm_request *r);
void hcomm_request_release(struct hcomm_request *r);

/* launch a persistent request that is not active; @wait: until there is room for it */
hcommResult_t hcomm_request_relaunch(struct hcomm_request *r, bool wait);

#endif /* HCOMM_REQUEST_H */
