// SPDX-License-Identifier: LGPL-2.1-or-later
/* Communicators made of another one. */
#include "api.h"

static hcommResult_t split(const char *name, hcommComm_t handle, int color, int key,
			   hcommComm_t *newcomm, const hcommConfig_t *config)
{
	struct hcomm_comm *parent, *made;
	hcommResult_t ret;

	if (!newcomm)
		return hcomm_fail(HCOMM_ERR_INVALID_ARGUMENT, "%s: newcomm is NULL", name);
	*newcomm = NULL;
	ret = hcomm_api_sound(handle, &parent);
	if (ret)
		return ret;
	ret = hcomm_comm_split(parent, color, key, config, &made);
	if (ret)
		hcomm_error_prefix("%s: ", name);
	else
		*newcomm = made;
	return ret;
}

hcommResult_t hcommCommSplit(hcommComm_t comm, int color, int key, hcommComm_t *newcomm,
			     const hcommConfig_t *config)
{
	return split("CommSplit", comm, color, key, newcomm, config);
}

hcommResult_t hcommCommDup(hcommComm_t comm, hcommComm_t *newcomm,
			   const hcommConfig_t *config)
{
	/* all with the same color and key: in the order of ranks */
	return split("CommDup", comm, 0, 0, newcomm, config);
}
