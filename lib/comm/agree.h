/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the ranks tell each other when a communicator begins, and the checks. */
#ifndef HCOMM_AGREE_H
#define HCOMM_AGREE_H

#include "comm.h"

/**
 * struct hcomm_card - round 1: who a rank is; host byte order
 * @abi: HCOMM_ABI_VERSION of the library
 * @status: hcommResult_t of its preparations
 * @chunk_size: option
 * @eager_size: option
 * @max_runs: option
 * @transports: option
 * @boot_id: of its kernel
 * @node_id: of its module
 * @nonce: random; rank 0's becomes the uuid
 * @host: host name
 * @nic: RDMA device, empty: none
 * @group: of its node
 * @probe: option
 * @tune: option
 * @cpus: processors that its process may use
 * @cpu_set: hash of which
 * @policy: hash of the algorithms, table and protocol that are wanted
 * @model: hash of the cost model
 * @tuner: hash of the plugin, 0: none
 * @algo: HCOMM_ALGO
 * @text: what failed
 */
struct hcomm_card {
	uint32_t abi;
	int32_t status;
	uint32_t chunk_size;
	uint32_t eager_size;
	uint32_t max_runs;
	uint32_t transports;
	uint8_t boot_id[16];
	uint8_t node_id[16];
	uint8_t nonce[16];
	char host[64];
	char nic[64];
	uint32_t group;
	uint32_t probe;
	uint32_t tune;
	uint32_t cpus;
	uint64_t cpu_set;
	uint64_t policy;
	uint64_t model;
	uint64_t tuner;
	char algo[HCOMM_ALGO_TEXT];
	char text[256];
};

/**
 * struct hcomm_ready - rounds 2 to 4: a rank did its part
 * @addr: where it listens
 * @status: hcommResult_t
 * @text: what failed
 */
struct hcomm_ready {
	struct hcomm_addr addr;
	int32_t status;
	char text[256];
};

/* do two ranks run on one kernel? */
bool hcomm_same_node(const struct hcomm_card *a, const struct hcomm_card *b);

/* may these ranks form a communicator?  The same answer on all of them. */
hcommResult_t hcomm_agree_cards(struct hcomm_card *cards, uint32_t nranks);

/* did all do their part? */
hcommResult_t hcomm_agree_ready(const struct hcomm_card *cards,
				struct hcomm_ready *ready, uint32_t nranks);

#endif /* HCOMM_AGREE_H */
