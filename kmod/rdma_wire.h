/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the rdma transport sends beside the engine's messages: private data of
 * the connection request and of a rejection, and the messages of the handshake.
 */
#ifndef HCOMM_RDMA_WIRE_H
#define HCOMM_RDMA_WIRE_H

#include <linux/types.h>
#include "auth.h"

#define HCOMM_RDMA_MAGIC	0x4d444852u	/* "RHDM" */
#define HCOMM_RDMA_CTL_MAGIC	0x4c544352u	/* "RCTL" */

/**
 * struct hcomm_rdma_request - private data of a connection request
 * @magic: HCOMM_RDMA_MAGIC
 * @version: HCOMM_ABI_VERSION
 * @pad: 0
 * @uuid: communicator
 * @src: rank of the connecting side
 * @dst: rank of the accepting side
 * @nonce: part of the transcript
 */
struct hcomm_rdma_request {
	__le32 magic;
	__le16 version;
	__le16 pad;
	u8 uuid[16];
	__le32 src;
	__le32 dst;
	u8 nonce[16];
} __packed;

enum hcomm_rdma_reject_code {
	HCOMM_RDMA_REJ_UNKNOWN = 1,	/* no such communicator or rank: not yet? */
	HCOMM_RDMA_REJ_BUSY,		/* later */
	HCOMM_RDMA_REJ_VERSION,		/* never */
};

/**
 * struct hcomm_rdma_reject - private data of a rejection
 * @magic: HCOMM_RDMA_MAGIC
 * @code: enum hcomm_rdma_reject_code
 */
struct hcomm_rdma_reject {
	__le32 magic;
	__le32 code;
} __packed;

enum hcomm_rdma_ctl_type {
	HCOMM_RDMA_HELLO = 1,
	HCOMM_RDMA_PROOF,
	HCOMM_RDMA_REFUSE,
	HCOMM_RDMA_PING,
	HCOMM_RDMA_PONG,
	HCOMM_RDMA_NOTIFY,
};

/**
 * struct hcomm_rdma_ctl - message between two ends of a connection
 * @magic: HCOMM_RDMA_CTL_MAGIC
 * @type: enum hcomm_rdma_ctl_type
 * @arg: NOTIFY: immediate value; REFUSE: enum hcomm_fault_reason
 * @len: NOTIFY: bytes written
 */
struct hcomm_rdma_ctl {
	__le32 magic;
	__le32 type;
	__le32 arg;
	__le32 len;
} __packed;

/**
 * struct hcomm_rdma_hello - who and with which options
 * @ctl: type HELLO
 * @nonce: fresh random bytes
 * @version: HCOMM_ABI_VERSION, equal on both sides
 * @rank: the sender's
 * @nranks: equal on both sides
 * @chunk_size: equal on both sides
 * @eager_size: equal on both sides
 * @eager_slots: equal on both sides
 * @window: equal on both sides
 * @max_runs: equal on both sides
 * @mtu: path MTU in bytes; a difference is reported
 */
struct hcomm_rdma_hello {
	struct hcomm_rdma_ctl ctl;
	u8 nonce[HCOMM_AUTH_NONCE_SIZE];
	__le32 version;
	__le32 rank;
	__le32 nranks;
	__le32 chunk_size;
	__le32 eager_size;
	__le32 eager_slots;
	__le32 window;
	__le32 max_runs;
	__le32 mtu;
} __packed;

/**
 * struct hcomm_rdma_proof - proof of the job secret
 * @ctl: type PROOF
 * @mac: see auth.h
 */
struct hcomm_rdma_proof {
	struct hcomm_rdma_ctl ctl;
	u8 mac[HCOMM_AUTH_MAC_SIZE];
} __packed;

#endif /* HCOMM_RDMA_WIRE_H */
