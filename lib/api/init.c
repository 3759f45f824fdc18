// SPDX-License-Identifier: LGPL-2.1-or-later
/* Start and end of jobs and communicators. */
#include <stdlib.h>
#include <string.h>

#include "../env/env.h"
#include "api.h"

enum world_state { WORLD_NONE, WORLD_STARTING, WORLD_UP, WORLD_DOWN };

/* protects world_state; world is set before it becomes WORLD_UP */
static pthread_mutex_t world_lock = PTHREAD_MUTEX_INITIALIZER;
static enum world_state world_state;
static struct hcomm_comm *world;

hcommResult_t hcomm_api_comm(hcommComm_t handle, struct hcomm_comm **comm)
{
	hcommResult_t ret = hcomm_dev_check_fork();

	if (ret)
		return ret;
	if (handle == HCOMM_COMM_WORLD) {
		if (__atomic_load_n(&world_state, __ATOMIC_ACQUIRE) != WORLD_UP)
			return hcomm_fail(HCOMM_ERR_INVALID_USAGE,
					  "HCOMM_COMM_WORLD is there only between hcommInit() and hcommFinalize()");
		*comm = world;
		return HCOMM_SUCCESS;
	}
	if (!handle || handle->magic != HCOMM_COMM_MAGIC)
		return hcomm_fail(HCOMM_ERR_INVALID_ARGUMENT,
				  "not a communicator: %p", (void *)handle);
	*comm = handle;
	return HCOMM_SUCCESS;
}

hcommResult_t hcomm_api_sound(hcommComm_t handle, struct hcomm_comm **comm)
{
	hcommResult_t ret = hcomm_api_comm(handle, comm);

	if (!ret && __atomic_load_n(&(*comm)->failed, __ATOMIC_ACQUIRE))
		ret = hcomm_comm_failed(*comm, "the communicator has failed");
	return ret;
}

/* what begins without a communicator reads how much it is to say */
static hcommResult_t enter(void)
{
	hcommResult_t ret = hcomm_dev_check_fork();

	if (!ret)
		ret = hcomm_log_setup();
	if (!ret)
		hcomm_env_warn_unknown();
	return ret;
}

/* where the ranks of the environment meet; rank 0 opens the port */
static hcommResult_t env_meeting(const struct hcomm_start *start,
				 uint64_t timeout_ms, struct hcomm_meeting *m)
{
	struct hcomm_meeting hub;
	hcommResult_t ret;

	memset(m, 0, sizeof(*m));
	memcpy(m->secret, start->secret, sizeof(m->secret));
	ret = hcomm_addr_resolve(start->host, start->port, m->addrs, &m->naddrs);
	if (ret || start->rank)
		return ret;
	/* a name may have addresses of other kinds, too */
	hub = *m;
	ret = hcomm_hub_start(&hub, true, timeout_ms);
	if (ret)
		hcomm_error_prefix("rank 0 (%s): ", start->launcher);
	return ret;
}

static hcommResult_t world_start(void)
{
	struct hcomm_options opts;
	struct hcomm_meeting meeting;
	struct hcomm_start start;
	hcommResult_t ret;

	ret = hcomm_env_start(&start);
	if (!ret)
		ret = hcomm_options_read(NULL, &opts);
	if (ret)
		return ret;
	hcomm_decision("start by %s: rank %u of %u, local rank %d, rank 0 at %s:%u, secret from %s",
		       start.launcher, start.rank, start.size, start.local_rank,
		       start.size > 1 ? start.host : "-", start.port,
		       start.secret_kind);
	if (start.size > 1)
		ret = env_meeting(&start, opts.bootstrap_timeout_ms, &meeting);
	if (!ret)
		ret = hcomm_comm_create(&meeting, start.rank, start.size, &opts,
					&world);
	explicit_bzero(&start, sizeof(start));
	return ret;
}

hcommResult_t hcommInit(int *argc, char ***argv)
{
	hcommResult_t ret = enter();
	enum world_state before;

	(void)argc;
	(void)argv;
	if (ret)
		return ret;
	pthread_mutex_lock(&world_lock);
	before = world_state;
	if (before == WORLD_NONE)
		world_state = WORLD_STARTING;
	pthread_mutex_unlock(&world_lock);
	if (before != WORLD_NONE)
		return hcomm_fail(HCOMM_ERR_INVALID_USAGE, "hcommInit() %s",
				  before == WORLD_DOWN ?
				  "can't be called again after hcommFinalize()" :
				  "was called already");
	ret = world_start();
	/* a start that failed may be tried again */
	__atomic_store_n(&world_state, ret ? WORLD_NONE : WORLD_UP,
			 __ATOMIC_RELEASE);
	return ret;
}

hcommResult_t hcommFinalize(void)
{
	hcommResult_t ret = hcomm_dev_check_fork();

	if (ret)
		return ret;
	pthread_mutex_lock(&world_lock);
	if (world_state == WORLD_UP) {
		__atomic_store_n(&world_state, WORLD_DOWN, __ATOMIC_RELEASE);
		ret = hcomm_comm_destroy(world);
		world = NULL;
	} else {
		ret = hcomm_fail(HCOMM_ERR_INVALID_USAGE, "hcommFinalize() %s",
				 world_state == WORLD_DOWN ? "was called already" :
				 "without hcommInit()");
	}
	pthread_mutex_unlock(&world_lock);
	return ret;
}

hcommResult_t hcommGetUniqueId(hcommUniqueId *id)
{
	struct hcomm_meeting m;
	uint64_t timeout_ms;
	hcommResult_t ret;

	ret = enter();
	if (ret)
		return ret;
	if (!id)
		return hcomm_fail(HCOMM_ERR_INVALID_ARGUMENT, "GetUniqueId: id is NULL");
	memset(&m, 0, sizeof(m));
	ret = hcomm_options_bootstrap_timeout(&timeout_ms);
	if (!ret)
		ret = hcomm_addr_local(getenv("HCOMM_SOCKET_IFNAME"), m.addrs,
				       &m.naddrs);
	if (!ret)
		ret = hcomm_random(m.secret, sizeof(m.secret));
	if (!ret)
		ret = hcomm_random(m.uuid, sizeof(m.uuid));
	if (ret)
		return ret;
	for (uint32_t i = 0; i < m.naddrs; i++)
		hcomm_addr_set_port(&m.addrs[i], 0);
	ret = hcomm_hub_start(&m, false, timeout_ms);
	if (!ret)
		hcomm_uid_pack(&m, id);
	explicit_bzero(&m, sizeof(m));
	return ret;
}

hcommResult_t hcommCommInitRank(hcommComm_t *comm, int nranks, hcommUniqueId id,
				int rank)
{
	return hcommCommInitRankConfig(comm, nranks, id, rank, NULL);
}

hcommResult_t hcommCommInitRankConfig(hcommComm_t *comm, int nranks,
				      hcommUniqueId id, int rank,
				      const hcommConfig_t *config)
{
	struct hcomm_options opts;
	struct hcomm_meeting m;
	hcommResult_t ret;

	ret = enter();
	if (ret)
		return ret;
	if (!comm)
		return hcomm_fail(HCOMM_ERR_INVALID_ARGUMENT, "CommInitRank: comm is NULL");
	if (nranks < 1 || nranks > (int)HCOMM_MAX_RANKS)
		return hcomm_fail(HCOMM_ERR_INVALID_ARGUMENT,
				  "CommInitRank: nranks is %d, must be 1 to %u", nranks,
				  HCOMM_MAX_RANKS);
	if (rank < 0 || rank >= nranks)
		return hcomm_fail(HCOMM_ERR_INVALID_ARGUMENT,
				  "CommInitRank: rank is %d, must be 0 to %d", rank, nranks - 1);
	ret = hcomm_uid_unpack(&id, &m);
	if (!ret)
		ret = hcomm_options_read(config, &opts);
	if (!ret)
		ret = hcomm_comm_create(&m, (uint32_t)rank, (uint32_t)nranks,
					&opts, comm);
	explicit_bzero(&m, sizeof(m));
	return ret;
}

hcommResult_t hcommCommDestroy(hcommComm_t handle)
{
	hcommResult_t ret = hcomm_dev_check_fork();
	struct hcomm_comm *comm;

	if (ret || !handle)
		return ret;
	if (handle == HCOMM_COMM_WORLD)
		return hcomm_fail(HCOMM_ERR_INVALID_USAGE,
				  "HCOMM_COMM_WORLD is destroyed by hcommFinalize()");
	ret = hcomm_api_comm(handle, &comm);
	return ret ? ret : hcomm_comm_destroy(comm);
}

hcommResult_t hcommCommAbort(hcommComm_t handle)
{
	struct hcomm_comm_abort arg = { .size = sizeof(arg) };
	struct hcomm_comm *comm;
	hcommResult_t ret;
	int err;

	ret = hcomm_api_comm(handle, &comm);
	if (ret)
		return ret;
	arg.comm_id = comm->id;
	err = hcomm_dev_ioctl(HCOMM_COMM_ABORT, &arg);
	/* it may have failed before, which is just as well */
	if (!hcomm_comm_query(comm) && err)
		return hcomm_fail_errno(err, "abort");
	return HCOMM_SUCCESS;
}
