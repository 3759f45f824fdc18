/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the files of the API share. */
#ifndef HCOMM_API_H
#define HCOMM_API_H

#include "../base/base.h"
#include "../comm/comm.h"

/* the communicator behind a handle, HCOMM_COMM_WORLD too */
hcommResult_t hcomm_api_comm(hcommComm_t handle, struct hcomm_comm **comm);

/* the same for a call that communicates: it must be sound */
hcommResult_t hcomm_api_sound(hcommComm_t handle, struct hcomm_comm **comm);

/* check the reduction of a call, whose coll and dtype are set, and put it there */
hcommResult_t hcomm_api_redop(struct hcomm_comm *comm, hcommRedOp_t op,
			      struct hcomm_call_args *call);

#endif /* HCOMM_API_H */
