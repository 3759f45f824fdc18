/* SPDX-License-Identifier: GPL-2.0-only */
/* A client of rdma_cm that does not know hcomm. */
#ifndef HCOMM_SELFTEST_STRANGER_H
#define HCOMM_SELFTEST_STRANGER_H

#include <netinet/in.h>

/*
 * Connect to @to with private data of kind @k (none, some, random, a lot).
 * 0 when it was turned away, -EISCONN when it got in, or another error.
 */
int stranger_knock(const struct sockaddr_in *to, unsigned int k);

#endif /* HCOMM_SELFTEST_STRANGER_H */
