/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the files of the API share.
 *
 * The forms of a call differ only in their last step, hcomm_api_launch(): all before
 * it, the check of the arguments, is one function for all forms.
 */
#ifndef HCOMM_API_H
#define HCOMM_API_H

#include "../base/base.h"
#include "../comm/comm.h"

/**
 * enum hcomm_form - how a call is made
 * @HCOMM_FORM_BLOCKING: launch and wait
 * @HCOMM_FORM_ASYNC: launch, and give a request back
 * @HCOMM_FORM_INIT: give a persistent request back
 */
enum hcomm_form {
	HCOMM_FORM_BLOCKING,
	HCOMM_FORM_ASYNC,
	HCOMM_FORM_INIT,
};

/* the communicator behind a handle, HCOMM_COMM_WORLD too */
hcommResult_t hcomm_api_comm(hcommComm_t handle, struct hcomm_comm **comm);

/* the same for a call that communicates: it must be sound */
hcommResult_t hcomm_api_sound(hcommComm_t handle, struct hcomm_comm **comm);

/* check the reduction of a call, whose coll and dtype are set, and put it there */
hcommResult_t hcomm_api_redop(struct hcomm_comm *comm, hcommRedOp_t op,
			      struct hcomm_call_args *call);

/* ------------------------------------------------------------------- group.c */

/* does a call of this form go into a group of this thread? */
bool hcomm_api_grouped(enum hcomm_form form);

/* there it goes */
hcommResult_t hcomm_api_collect(struct hcomm_comm *comm,
				const struct hcomm_call_args *call);

/* ----------------------------------------------------------------- overlap.c */

/* messages that are made together: what one receives, no other may touch */
hcommResult_t hcomm_api_messages_apart(const char *name, const hcommP2p_t *ops, int count);

/* -------------------------------------------------------------------- args.c */

/* the last step of every call: it is checked; @req is not used if it blocks */
hcommResult_t hcomm_api_launch(struct hcomm_comm *comm,
			       const struct hcomm_call_args *call,
			       enum hcomm_form form, hcommRequest_t *req);

/* the error "@name: @what is @value, must be @range" */
hcommResult_t hcomm_api_bad(const char *name, const char *what, long long value,
			    const char *range);
hcommResult_t hcomm_api_type(const char *name, hcommDataType_t dtype);
hcommResult_t hcomm_api_root(const struct hcomm_comm *comm, const char *name, int root);

/* bytes of @blocks blocks of @count elements */
hcommResult_t hcomm_api_bytes(const char *name, size_t count, uint32_t dtype,
			      uint32_t blocks, uint64_t *bytes);

/* a buffer that a rank uses: not NULL if it has bytes; @which: "send", "receive" */
hcommResult_t hcomm_api_buffer(const char *name, const char *which, const void *buf,
			       uint64_t bytes);

/* both buffers, which must not overlap unless the call is in place */
hcommResult_t hcomm_api_buffers(const struct hcomm_call_args *call,
				uint64_t send_bytes, uint64_t recv_bytes);

#endif /* HCOMM_API_H */
