// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Groups: calls of a thread that are collected and go out together, and the calls
 * that are groups of messages.
 */
#include <stdlib.h>

#include "../comm/group.h"
#include "api.h"

/**
 * struct open_group - a group that a thread has begun
 * @group: its calls
 * @depth: hcommGroupStart() without hcommGroupEnd()
 * @error: first error of a call since, but those of
 * @fault: the first that is of a communicator that has failed: ranks learn of that at
 *	different times, so the rest of the group goes out all the same
 * @outer_error: who watched for errors before
 * @outer_fault: who watched for such faults before
 */
struct open_group {
	struct hcomm_group group;
	unsigned int depth;
	struct hcomm_first_error error;
	struct hcomm_first_error fault;
	struct hcomm_first_error *outer_error;
	struct hcomm_first_error *outer_fault;
};

/* where calls of this thread go, NULL: to the kernel */
static __thread struct open_group *open_group;

bool hcomm_api_grouped(enum hcomm_form form)
{
	return open_group && form == HCOMM_FORM_BLOCKING;
}

hcommResult_t hcomm_api_collect(struct hcomm_comm *comm,
				const struct hcomm_call_args *call)
{
	return hcomm_group_add(&open_group->group, comm, call);
}

static struct open_group *group_new(void)
{
	struct open_group *g = calloc(1, sizeof(*g));

	if (!g) {
		hcomm_fail_nomem("a group");
		return NULL;
	}
	g->outer_error = hcomm_error_watch(&g->error);
	g->outer_fault = hcomm_fault_watch(&g->fault);
	return g;
}

/* what was collected goes out, unless a call was bad; after a fault it is waited for */
static hcommResult_t group_end(struct open_group *g, hcommRequest_t *req)
{
	hcommResult_t ret;

	hcomm_error_watch(g->outer_error);
	hcomm_fault_watch(g->outer_fault);
	if (g->error.result)
		ret = hcomm_fail(g->error.result, "%s", g->error.text);
	else
		ret = hcomm_group_launch(&g->group, g->fault.result ? NULL : req);
	if (!ret && g->fault.result) {
		ret = hcomm_error_restore(&g->fault);
		if (g->outer_fault)
			hcomm_error_keep(g->outer_fault, ret);
	}
	hcomm_group_clear(&g->group);
	free(g);
	return ret;
}

hcommResult_t hcommGroupStart(void)
{
	hcommResult_t ret = hcomm_dev_check_fork();

	if (ret)
		return ret;
	if (!open_group)
		open_group = group_new();
	if (!open_group)
		return HCOMM_ERR_NO_MEMORY;
	open_group->depth++;
	return HCOMM_SUCCESS;
}

hcommResult_t hcommGroupEnd(void)
{
	struct open_group *g = open_group;
	hcommResult_t ret = hcomm_dev_check_fork();

	if (ret)
		return ret;
	if (!g)
		return hcomm_fail(HCOMM_ERR_INVALID_USAGE,
				  "hcommGroupEnd() without hcommGroupStart()");
	if (--g->depth)
		return HCOMM_SUCCESS;
	open_group = NULL;
	ret = group_end(g, NULL);
	if (ret)
		hcomm_error_prefix("group: ");
	return ret;
}

/* ------------------------------------------------------- messages put together */

static hcommResult_t collect_all(const char *name, const hcommP2p_t *ops, int count,
				 hcommComm_t comm)
{
	hcommResult_t ret = HCOMM_SUCCESS;
	int i;

	for (i = 0; i < count && !ret; i++) {
		const hcommP2p_t *o = &ops[i];

		if (o->op == hcommP2pSend)
			ret = hcommSend(o->buf, o->bytes, o->peer, o->tag, comm);
		else if (o->op == hcommP2pRecv)
			ret = hcommRecv(o->buf, o->bytes, o->peer, o->tag, comm);
		else
			ret = hcomm_api_bad(name, "op", (int)o->op, "a hcommP2pOp_t");
	}
	return ret;
}

/*
 * As a group of its own; the blocking form becomes part of a group that is open.
 * A communicator that is none must be an error of no messages, too.
 */
static hcommResult_t messages(const char *name, const hcommP2p_t *ops, int count,
			      hcommComm_t handle, enum hcomm_form form,
			      hcommRequest_t *req)
{
	struct open_group *outer = open_group, *g;
	struct hcomm_comm *comm;
	hcommResult_t ret;

	ret = hcomm_api_sound(handle, &comm);
	if (ret)
		return ret;
	if (count < 0 || (count && !ops))
		return hcomm_fail(HCOMM_ERR_INVALID_ARGUMENT, "%s: count is %d, ops is %p",
				  name, count, (const void *)ops);
	ret = hcomm_api_messages_apart(name, ops, count);
	if (ret)
		return ret;
	if (hcomm_api_grouped(form))
		return collect_all(name, ops, count, handle);
	if (form == HCOMM_FORM_ASYNC && !req)
		return hcomm_fail(HCOMM_ERR_INVALID_ARGUMENT, "%s: req is NULL", name);
	g = group_new();
	if (!g)
		return HCOMM_ERR_NO_MEMORY;
	open_group = g;
	collect_all(name, ops, count, handle);
	open_group = outer;
	ret = group_end(g, form == HCOMM_FORM_ASYNC ? req : NULL);
	if (ret)
		hcomm_error_prefix("%s: ", name);
	return ret;
}

hcommResult_t hcommBatchSendRecv(const hcommP2p_t *ops, int count, hcommComm_t comm)
{
	return messages("BatchSendRecv", ops, count, comm, HCOMM_FORM_BLOCKING, NULL);
}

hcommResult_t hcommBatchSendRecvAsync(const hcommP2p_t *ops, int count, hcommComm_t comm,
				      hcommRequest_t *req)
{
	return messages("BatchSendRecv", ops, count, comm, HCOMM_FORM_ASYNC, req);
}

static hcommResult_t send_recv(const void *sendbuf, size_t n, int dst, int sendtag,
			       void *recvbuf, size_t m, int src, int recvtag,
			       hcommComm_t comm, enum hcomm_form form, hcommRequest_t *req)
{
	hcommP2p_t both[] = {
		{ hcommP2pSend, (void *)sendbuf, n, dst, sendtag },
		{ hcommP2pRecv, recvbuf, m, src, recvtag },
	};

	return messages("SendRecv", both, 2, comm, form, req);
}

hcommResult_t hcommSendRecv(const void *sendbuf, size_t n, int dst, int sendtag,
			    void *recvbuf, size_t m, int src, int recvtag,
			    hcommComm_t comm)
{
	return send_recv(sendbuf, n, dst, sendtag, recvbuf, m, src, recvtag, comm,
			 HCOMM_FORM_BLOCKING, NULL);
}

hcommResult_t hcommSendRecvAsync(const void *sendbuf, size_t n, int dst, int sendtag,
				 void *recvbuf, size_t m, int src, int recvtag,
				 hcommComm_t comm, hcommRequest_t *req)
{
	return send_recv(sendbuf, n, dst, sendtag, recvbuf, m, src, recvtag, comm,
			 HCOMM_FORM_ASYNC, req);
}
