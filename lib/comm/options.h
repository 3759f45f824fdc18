/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Options of a communicator: defaults, hcommConfig_t, environment. */
#ifndef HCOMM_OPTIONS_H
#define HCOMM_OPTIONS_H

#include <hcomm/hcomm.h>
#include <hcomm/sched.h>
#include <linux/hcomm.h>

#define HCOMM_ALGO_TEXT		128

/* collectives that HCOMM_ALGO can name: enum hcomm_coll up to ALLGATHER */
#define HCOMM_ALGO_COLLS	(HCOMM_COLL_ALLGATHER + 1)

/**
 * struct hcomm_options - all options, in force
 * @chunk_size: bytes
 * @eager_size: bytes
 * @max_runs: calls in flight
 * @transports: HCOMM_TRANSPORT_* bits
 * @connect_timeout_ms: of a link
 * @bootstrap_timeout_ms: for the ranks to meet
 * @run_timeout_ms: of a call, 0: none
 * @bounce_size: unregistered buffers up to it are copied
 * @cache_size: plans kept
 * @nic: HCOMM_NIC or NULL: names of RDMA devices to use ("rxe0", "^rxe1")
 * @algo: by collective: enum hcomm_algo, HCOMM_ALGO_NONE: choose
 * @algo_text: HCOMM_ALGO, for comparison between ranks
 */
struct hcomm_options {
	uint32_t chunk_size;
	uint32_t eager_size;
	uint32_t max_runs;
	uint32_t transports;
	uint32_t connect_timeout_ms;
	uint64_t bootstrap_timeout_ms;
	uint32_t run_timeout_ms;
	uint32_t bounce_size;
	uint32_t cache_size;
	const char *nic;
	uint8_t algo[HCOMM_ALGO_COLLS];
	char algo_text[HCOMM_ALGO_TEXT];
};

/**
 * hcomm_options_read - defaults, then @config, then the environment
 * @config: options of the caller or NULL
 * @opts: out
 *
 * Variables: HCOMM_CHUNK_SIZE, HCOMM_EAGER_SIZE, HCOMM_BOUNCE_SIZE (bytes, K, M);
 * HCOMM_MAX_RUNS, HCOMM_PLAN_CACHE; HCOMM_TRANSPORT; HCOMM_NIC;
 * HCOMM_CONNECT_TIMEOUT, HCOMM_BOOTSTRAP_TIMEOUT, HCOMM_TIMEOUT (seconds);
 * HCOMM_ALGO: "ring" (for all collectives that it can do) or
 * "allreduce:ring,broadcast:binomial".
 */
hcommResult_t hcomm_options_read(const hcommConfig_t *config,
				 struct hcomm_options *opts);

/* how long the ranks may take to meet, before there is a communicator */
hcommResult_t hcomm_options_bootstrap_timeout(uint64_t *ms);

/**
 * hcomm_algo_choose - the algorithm of a call
 * @opts: overrides
 * @coll: enum hcomm_coll
 * @bytes: of the whole vector, or of one rank's block
 * @nranks: number of ranks
 *
 * The same on all ranks, as its arguments are.  Thresholds:
 *  - ALLREDUCE: up to 4 KiB and 8 ranks DIRECT (one message of latency); up to
 *    64 KiB RECURSIVE_DOUBLING; more than 8 ranks and up to 64 KiB for each of
 *    them DOUBLE_TREE; else RING (least data on every link)
 *  - BROADCAST, REDUCE: up to 64 KiB, or with two ranks, BINOMIAL; else
 *    DOUBLE_TREE
 *  - REDUCE_SCATTER, ALLGATHER: RING; BARRIER: DISSEMINATION
 *
 * Return: enum hcomm_algo.
 */
uint32_t hcomm_algo_choose(const struct hcomm_options *opts, uint32_t coll,
			   uint64_t bytes, uint32_t nranks);

#endif /* HCOMM_OPTIONS_H */
