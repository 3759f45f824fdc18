// SPDX-License-Identifier: LGPL-2.1-or-later
/* Options: defaults, the caller's, the environment's. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/base.h"
#include "../env/env.h"
#include "options.h"

#define DEF_CHUNK_SIZE		(256u << 10)
#define DEF_EAGER_SIZE		4096u
#define DEF_MAX_RUNS		16u
#define DEF_CONNECT_MS		30000u
#define DEF_BOOTSTRAP_MS	60000u
#define DEF_BOUNCE_SIZE		(64u << 10)
#define DEF_CACHE_SIZE		256u
#define MAX_BOOTSTRAP_MS	86400000u

static hcommResult_t read_transport(uint32_t *out)
{
	const char *text = getenv("HCOMM_TRANSPORT"), *p = text;
	uint32_t mask = 0;
	size_t len;

	if (!text)
		return HCOMM_SUCCESS;
	for (;;) {
		len = strcspn(p, ",");
		if (len == 5 && !memcmp(p, "local", len))
			mask |= HCOMM_TRANSPORT_LOCAL;
		else if (len == 4 && !memcmp(p, "rdma", len))
			mask |= HCOMM_TRANSPORT_RDMA;
		else
			return hcomm_fail(HCOMM_ERR_ENVIRONMENT,
					  "HCOMM_TRANSPORT=%s: use local, rdma or local,rdma",
					  text);
		if (!p[len])
			break;
		p += len + 1;
	}
	*out = mask;
	return HCOMM_SUCCESS;
}

/* ------------------------------------------------------------------- reading */

static hcommResult_t check_timeout(const char *field, uint32_t ms, uint32_t min, uint32_t max)
{
	if (ms <= max)
		return HCOMM_SUCCESS;
	return hcomm_fail(HCOMM_ERR_INVALID_ARGUMENT, "%s %u: use %u to %u milliseconds", field,
			  ms, min, max);
}

static hcommResult_t from_config(const hcommConfig_t *c, struct hcomm_options *o)
{
	hcommResult_t ret;

	if (c->size != sizeof(*c))
		return hcomm_fail(HCOMM_ERR_INVALID_ARGUMENT,
				  "hcommConfig_t: size is %zu, must be %zu; begin with HCOMM_CONFIG_INITIALIZER",
				  c->size, sizeof(*c));
	if (c->reserved)
		return hcomm_fail(HCOMM_ERR_INVALID_ARGUMENT,
				  "hcommConfig_t: reserved is %u, must be 0; begin with HCOMM_CONFIG_INITIALIZER",
				  c->reserved);
	if (c->chunkSize && (c->chunkSize < HCOMM_MIN_CHUNK_SIZE ||
			     c->chunkSize > HCOMM_MAX_CHUNK_SIZE ||
			     c->chunkSize % 4096))
		return hcomm_fail(HCOMM_ERR_INVALID_ARGUMENT,
				  "chunkSize %u: use a multiple of 4096 from 4096 to %u",
				  c->chunkSize, HCOMM_MAX_CHUNK_SIZE);
	if (c->eagerSize > HCOMM_MAX_EAGER_SIZE || c->eagerSize % 64)
		return hcomm_fail(HCOMM_ERR_INVALID_ARGUMENT,
				  "eagerSize %u: use a multiple of 64 up to %u",
				  c->eagerSize, HCOMM_MAX_EAGER_SIZE);
	if (c->maxRuns > HCOMM_MAX_COMM_RUNS)
		return hcomm_fail(HCOMM_ERR_INVALID_ARGUMENT,
				  "maxRuns %u: use 1 to %u", c->maxRuns,
				  HCOMM_MAX_COMM_RUNS);
	ret = check_timeout("connectTimeoutMs", c->connectTimeoutMs, 1, HCOMM_MAX_TIMEOUT_MS);
	if (!ret)
		ret = check_timeout("bootstrapTimeoutMs", c->bootstrapTimeoutMs, 1,
				    MAX_BOOTSTRAP_MS);
	if (!ret)
		ret = check_timeout("runTimeoutMs", c->runTimeoutMs, 0, HCOMM_MAX_TIMEOUT_MS);
	if (ret)
		return ret;
	if (c->transports & ~(uint32_t)(HCOMM_CONFIG_LOCAL | HCOMM_CONFIG_RDMA))
		return hcomm_fail(HCOMM_ERR_INVALID_ARGUMENT,
				  "transports %#x: use HCOMM_CONFIG_LOCAL, HCOMM_CONFIG_RDMA or both",
				  c->transports);
	if (c->chunkSize)
		o->chunk_size = c->chunkSize;
	if (c->eagerSize)
		o->eager_size = c->eagerSize;
	if (c->maxRuns)
		o->max_runs = c->maxRuns;
	if (c->connectTimeoutMs)
		o->connect_timeout_ms = c->connectTimeoutMs;
	if (c->bootstrapTimeoutMs)
		o->bootstrap_timeout_ms = c->bootstrapTimeoutMs;
	if (c->runTimeoutMs)
		o->run_timeout_ms = c->runTimeoutMs;
	if (c->transports)
		o->transports = c->transports;
	return HCOMM_SUCCESS;
}

hcommResult_t hcomm_options_bootstrap_timeout(uint64_t *ms)
{
	*ms = DEF_BOOTSTRAP_MS;
	return hcomm_env_seconds("HCOMM_BOOTSTRAP_TIMEOUT", 1, MAX_BOOTSTRAP_MS, ms);
}

static hcommResult_t from_env(struct hcomm_options *o)
{
	const char *ifname = getenv("HCOMM_SOCKET_IFNAME");
	uint64_t chunk = o->chunk_size, eager = o->eager_size;
	uint64_t bounce = o->bounce_size, runs = o->max_runs;
	uint64_t cache = o->cache_size, connect = o->connect_timeout_ms;
	uint64_t run_timeout = o->run_timeout_ms;
	hcommResult_t ret;

	ret = hcomm_env_size("HCOMM_CHUNK_SIZE", HCOMM_MIN_CHUNK_SIZE,
			     HCOMM_MAX_CHUNK_SIZE, 4096, &chunk);
	if (!ret)
		ret = hcomm_env_size("HCOMM_EAGER_SIZE", 64,
				     HCOMM_MAX_EAGER_SIZE, 64, &eager);
	if (!ret)
		ret = hcomm_env_size("HCOMM_BOUNCE_SIZE", 0, 1 << 20, 1, &bounce);
	if (!ret)
		ret = hcomm_env_number("HCOMM_MAX_RUNS", 1, HCOMM_MAX_COMM_RUNS,
				       &runs);
	if (!ret)
		ret = hcomm_env_number("HCOMM_PLAN_CACHE", 1, 65536, &cache);
	if (!ret)
		ret = hcomm_env_seconds("HCOMM_CONNECT_TIMEOUT", 1,
					HCOMM_MAX_TIMEOUT_MS, &connect);
	if (!ret)
		ret = hcomm_env_seconds("HCOMM_BOOTSTRAP_TIMEOUT", 1,
					MAX_BOOTSTRAP_MS, &o->bootstrap_timeout_ms);
	if (!ret)
		ret = hcomm_env_seconds("HCOMM_TIMEOUT", 0, HCOMM_MAX_TIMEOUT_MS,
					&run_timeout);
	if (!ret)
		ret = read_transport(&o->transports);
	if (ret)
		return ret;
	o->chunk_size = (uint32_t)chunk;
	o->eager_size = (uint32_t)eager;
	o->bounce_size = (uint32_t)bounce;
	o->max_runs = (uint32_t)runs;
	o->cache_size = (uint32_t)cache;
	o->connect_timeout_ms = (uint32_t)connect;
	o->run_timeout_ms = (uint32_t)run_timeout;
	o->nic = getenv("HCOMM_NIC");
	if (o->nic && (!*o->nic || !strcmp(o->nic, "^")))
		return hcomm_fail(HCOMM_ERR_ENVIRONMENT,
				  "HCOMM_NIC=%s: use names of RDMA devices, e.g. mlx5_0,mlx5_1 or ^rxe0",
				  o->nic);
	if (ifname && (!*ifname || !strcmp(ifname, "^")))
		return hcomm_fail(HCOMM_ERR_ENVIRONMENT,
				  "HCOMM_SOCKET_IFNAME=%s: use names of network interfaces, e.g. eth0,eth1 or ^eth2",
				  ifname);
	return HCOMM_SUCCESS;
}

/* one of the two may be a default; what is told of is what was set */
static hcommResult_t check_eager(const struct hcomm_options *o)
{
	const char *eager = getenv("HCOMM_EAGER_SIZE"), *chunk = getenv("HCOMM_CHUNK_SIZE");

	if (o->eager_size <= o->chunk_size)
		return HCOMM_SUCCESS;
	return hcomm_fail(eager || chunk ? HCOMM_ERR_ENVIRONMENT : HCOMM_ERR_INVALID_ARGUMENT,
			  "%s %u: at most the chunk size, %u (%s), is possible",
			  eager ? "HCOMM_EAGER_SIZE" : "eagerSize", o->eager_size,
			  o->chunk_size, chunk ? "HCOMM_CHUNK_SIZE" : "chunkSize");
}

hcommResult_t hcomm_options_read(const hcommConfig_t *config,
				 struct hcomm_options *o)
{
	hcommResult_t ret = HCOMM_SUCCESS;

	memset(o, 0, sizeof(*o));
	o->chunk_size = DEF_CHUNK_SIZE;
	o->eager_size = DEF_EAGER_SIZE;
	o->max_runs = DEF_MAX_RUNS;
	o->transports = HCOMM_TRANSPORT_ALL;
	o->connect_timeout_ms = DEF_CONNECT_MS;
	o->bootstrap_timeout_ms = DEF_BOOTSTRAP_MS;
	o->bounce_size = DEF_BOUNCE_SIZE;
	o->cache_size = DEF_CACHE_SIZE;
	if (config)
		ret = from_config(config, o);
	if (!ret)
		ret = from_env(o);
	if (!ret)
		ret = hcomm_options_plan(config, o);
	return ret ? ret : check_eager(o);
}
