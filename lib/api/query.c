// SPDX-License-Identifier: LGPL-2.1-or-later
/* What a communicator is, and how it is. */
#include <string.h>

#include "api.h"

/* the communicator of a question whose answer goes to @out; @what: for messages */
static hcommResult_t ask(hcommComm_t handle, const char *what, const void *out,
			 struct hcomm_comm **comm)
{
	hcommResult_t ret = hcomm_api_comm(handle, comm);

	if (!ret && !out)
		ret = hcomm_fail(HCOMM_ERR_INVALID_ARGUMENT, "%s is NULL", what);
	return ret;
}

hcommResult_t hcommCommRank(hcommComm_t handle, int *rank)
{
	struct hcomm_comm *comm;
	hcommResult_t ret = ask(handle, "CommRank: rank", rank, &comm);

	if (!ret)
		*rank = (int)comm->rank;
	return ret;
}

hcommResult_t hcommCommSize(hcommComm_t handle, int *size)
{
	struct hcomm_comm *comm;
	hcommResult_t ret = ask(handle, "CommSize: size", size, &comm);

	if (!ret)
		*size = (int)comm->nranks;
	return ret;
}

hcommResult_t hcommCommLocalRank(hcommComm_t handle, int *local_rank)
{
	struct hcomm_comm *comm;
	hcommResult_t ret = ask(handle, "CommLocalRank: local_rank", local_rank, &comm);

	if (!ret)
		*local_rank = (int)comm->local_rank;
	return ret;
}

hcommResult_t hcommCommGetAsyncError(hcommComm_t handle, hcommResult_t *result)
{
	struct hcomm_comm *comm;
	hcommResult_t ret = ask(handle, "CommGetAsyncError: result", result, &comm);

	if (!ret)
		*result = hcomm_comm_query(comm);
	return ret;
}

hcommResult_t hcommCommGetStats(hcommComm_t handle, hcommStats_t *stats)
{
	struct hcomm_comm *comm;
	hcommResult_t ret = ask(handle, "CommGetStats: stats", stats, &comm);

	if (ret)
		return ret;
	if (stats->size != sizeof(*stats))
		return hcomm_fail(HCOMM_ERR_INVALID_ARGUMENT,
				  "CommGetStats: stats.size is %zu, must be %zu", stats->size,
				  sizeof(*stats));
	pthread_mutex_lock(&comm->lock);
	*stats = comm->stats;
	pthread_mutex_unlock(&comm->lock);
	return HCOMM_SUCCESS;
}

const char *hcommGetLastError(hcommComm_t handle)
{
	static __thread char text[HCOMM_ERROR_TEXT];
	struct hcomm_comm *comm;

	*text = 0;
	if (!handle || hcomm_api_comm(handle, &comm))
		strcpy(text, hcomm_error_text());
	else if (hcomm_comm_query(comm))
		strcpy(text, comm->fault_text);
	return *text ? text : "no error";
}
