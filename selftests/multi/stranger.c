// SPDX-License-Identifier: GPL-2.0-only
/* A client of rdma_cm that does not know hcomm. */
#include <errno.h>
#include <rdma/rdma_cma.h>
#include <string.h>
#include <sys/random.h>
#include "stranger.h"

int stranger_knock(const struct sockaddr_in *to, unsigned int k)
{
	static const unsigned char lens[] = { 0, 1, 16, 32, 56, 56 };
	struct ibv_qp_init_attr qp = {
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 },
	};
	struct rdma_conn_param param = { .responder_resources = 1, .initiator_depth = 1 };
	unsigned char data[56];
	struct rdma_cm_id *id;
	int ret = -EIO;

	k %= sizeof(lens);
	if (k < 5)
		memset(data, 0xff, sizeof(data));
	else if (getrandom(data, sizeof(data), 0) < 0)
		return -errno;
	param.private_data = lens[k] ? data : NULL;
	param.private_data_len = lens[k];
	/* Without an event channel each call waits for its outcome. */
	if (rdma_create_id(NULL, &id, NULL, RDMA_PS_TCP))
		return -errno;
	if (rdma_resolve_addr(id, NULL, (struct sockaddr *)(uintptr_t)to, 5000) ||
	    rdma_resolve_route(id, 5000) || rdma_create_qp(id, NULL, &qp)) {
		ret = -errno;
		goto out;
	}
	if (!rdma_connect(id, &param)) {
		ret = -EISCONN;
		rdma_disconnect(id);
	} else {
		ret = errno == ECONNREFUSED ? 0 : -errno;
	}
	rdma_destroy_qp(id);
out:
	rdma_destroy_id(id);
	return ret;
}
