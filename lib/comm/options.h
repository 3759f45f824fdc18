/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Options of a communicator: defaults, hcommConfig_t, environment. */
#ifndef HCOMM_OPTIONS_H
#define HCOMM_OPTIONS_H

#include <hcomm/hcomm.h>
#include <hcomm/sched.h>
#include <linux/hcomm.h>

#include "../plan/decide.h"

#define HCOMM_ALGO_TEXT		128

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
 * @group: HCOMM_GROUP: number of the group of nodes that this node is in
 * @probe: measure the links
 * @tune: measure calls
 * @policy: which algorithms and protocols the user wants
 * @model: cost model before any probe
 * @tuner: shared object of a tuner plugin, NULL: none
 * @algo_text: what was asked for by HCOMM_ALGO, cut off, for messages
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
	uint32_t group;
	uint32_t probe;
	uint32_t tune;
	struct hcomm_policy policy;
	struct hcomm_model model;
	const char *tuner;
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
 * HCOMM_ALGO, HCOMM_ALGO_TABLE, HCOMM_PROTO, HCOMM_MODEL, HCOMM_TUNER, HCOMM_TUNE,
 * HCOMM_PROBE, HCOMM_GROUP: see plan/policy.h, plan/model.h and hcomm/tuner.h.
 */
hcommResult_t hcomm_options_read(const hcommConfig_t *config,
				 struct hcomm_options *opts);

/* how long the ranks may take to meet, before there is a communicator */
hcommResult_t hcomm_options_bootstrap_timeout(uint64_t *ms);

/* plan_options.c: what the planner is told; part of hcomm_options_read() */
hcommResult_t hcomm_options_plan(const hcommConfig_t *config,
				 struct hcomm_options *opts);

#endif /* HCOMM_OPTIONS_H */
