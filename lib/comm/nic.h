/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which RDMA device a rank listens on. */
#ifndef HCOMM_NIC_H
#define HCOMM_NIC_H

#include <hcomm/hcomm.h>
#include <linux/hcomm.h>
#include <stdbool.h>

/**
 * struct hcomm_nic - an RDMA device with an address
 * @device: RDMA device, empty: none
 * @netdev: its network interface
 * @addr: address of the interface, port 0
 */
struct hcomm_nic {
	char device[64];
	char netdev[32];
	struct hcomm_addr addr;
};

/**
 * hcomm_nic_choose - the usable RDMA device that is nearest to this thread's CPUs
 * @sysfs: "/sys"
 * @filter: names of devices ("rxe0", "^rxe1"), NULL: all
 * @nic: out: device empty if there is none
 *
 * A port must be active, and its interface up with an address (IPv4 first, no
 * link-local).  Among equally near ones, as all are to a thread that may run on any
 * CPU, the first in the order of names.  Errors: HCOMM_ERR_ENVIRONMENT if @filter
 * names a device that does not exist.
 */
hcommResult_t hcomm_nic_choose(const char *sysfs, const char *filter,
			       struct hcomm_nic *nic);

#endif /* HCOMM_NIC_H */
