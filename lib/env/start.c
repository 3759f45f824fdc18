// SPDX-License-Identifier: LGPL-2.1-or-later
/* Who this process is, from the environment of its launcher. */
#include <limits.h>
#include <linux/hcomm.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "../base/base.h"
#include "../base/hmac.h"
#include "env.h"

/* ports that jobs without one meet on: below the ephemeral ports of Linux */
#define DERIVED_PORT_FIRST	18000u
#define DERIVED_PORT_COUNT	12000u

/**
 * struct launcher - the variables of one launcher
 * @name: for messages
 * @rank: variable with the rank
 * @size: variable with the number of ranks
 * @local_rank: variable with the rank on the node
 * @local_size: variable with the number of ranks on the node, or NULL
 * @job: variables that tell jobs apart; those that are set are used together
 */
struct launcher {
	const char *name;
	const char *rank;
	const char *size;
	const char *local_rank;
	const char *local_size;
	const char *job[4];
};

static const struct launcher launchers[] = {
	{ "HCOMM_RANK", "HCOMM_RANK", "HCOMM_SIZE", "HCOMM_LOCAL_RANK",
	  NULL, { NULL } },
	{ "torchrun", "RANK", "WORLD_SIZE", "LOCAL_RANK", NULL,
	  { "TORCHELASTIC_RUN_ID", "TORCHELASTIC_RESTART_COUNT", NULL } },
	{ "Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
	  "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE",
	  { "PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid", NULL } },
	{ "PMI", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS",
	  { "PMI_KVS", "PMI_JOBID", NULL } },
	{ "Slurm", "SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID", NULL,
	  { "SLURM_JOB_ID", "SLURM_STEP_ID", NULL } },
};

/* index of the launchers that are not like the others */
enum { BARE = 0, TORCHRUN = 1, PMI = 3, SLURM = 4 };

static bool equal_variables(const char *a, const char *b)
{
	const char *x = getenv(a), *y = getenv(b);

	return x && y && !strcmp(x, y);
}

/*
 * srun sets the variables of a PMI, too, if it is to start MPI programs. Slurm's own
 * say more; but MPICH's launcher in a step has ranks of its own.
 */
static bool pmi_of_slurm(void)
{
	const struct launcher *pmi = &launchers[PMI], *slurm = &launchers[SLURM];

	return getenv("SLURM_STEP_ID") && equal_variables(pmi->rank, slurm->rank) &&
	       equal_variables(pmi->size, slurm->size);
}

static bool launcher_present(size_t i)
{
	const struct launcher *l = &launchers[i];

	/* such common names count only together */
	if (i == TORCHRUN)
		return getenv(l->rank) &&
		       (getenv(l->size) || getenv("MASTER_ADDR"));
	if (i == PMI)
		return getenv(l->rank) && !pmi_of_slurm();
	/* in a batch script, outside of a step, there is one process */
	if (i == SLURM)
		return getenv(l->rank) && getenv("SLURM_STEP_ID");
	return getenv(l->rank) || (i == BARE && getenv(l->size));
}

static hcommResult_t need(const char *name, const char *because)
{
	if (getenv(name))
		return HCOMM_SUCCESS;
	return hcomm_fail(HCOMM_ERR_ENVIRONMENT, "%s is not set, but %s is",
			  name, because);
}

static hcommResult_t read_ranks(const struct launcher *l,
				struct hcomm_start *start)
{
	uint64_t size = 0, rank = 0, local = UINT64_MAX;
	hcommResult_t ret;

	ret = need(l->rank, l->size);
	if (!ret)
		ret = need(l->size, l->rank);
	if (!ret)
		ret = hcomm_env_number(l->size, 1, HCOMM_MAX_RANKS, &size);
	if (!ret)
		ret = hcomm_env_number(l->rank, 0, HCOMM_MAX_RANKS - 1, &rank);
	if (!ret)
		ret = hcomm_env_number(l->local_rank, 0, HCOMM_MAX_RANKS - 1,
				       &local);
	if (ret)
		return ret;
	if (rank >= size)
		return hcomm_fail(HCOMM_ERR_ENVIRONMENT,
				  "%s=%llu, but %s=%llu: ranks count from 0",
				  l->rank, (unsigned long long)rank, l->size,
				  (unsigned long long)size);
	start->launcher = l->name;
	start->rank = (uint32_t)rank;
	start->size = (uint32_t)size;
	start->local_rank = local == UINT64_MAX ? -1 : (int)local;
	return HCOMM_SUCCESS;
}

/*
 * MPICH's launcher names no job in the environment, but each rank has a socket to
 * its proxy, which is one process per job and node: that process tells the jobs of
 * a node apart.
 */
static void identity_of_proxy(uint32_t size, char *text, size_t room)
{
	const char *fd = getenv("PMI_FD"), *local = getenv("MPI_LOCALNRANKS");
	struct ucred proxy = { .pid = 0 };
	socklen_t len = sizeof(proxy);
	uint64_t number;

	if (!local || !hcomm_parse_number(local, size, &number) || number != size)
		return;
	if (!fd || !hcomm_parse_number(fd, INT_MAX, &number))
		return;
	if (getsockopt((int)number, SOL_SOCKET, SO_PEERCRED, &proxy, &len) || proxy.pid <= 0)
		return;
	snprintf(text, room, "PMI_FD=%d;", (int)proxy.pid);
}

/* "VAR=value;VAR=value" of the variables that tell jobs apart */
static void job_identity(const struct launcher *l, char *text, size_t room)
{
	size_t len = 0, i;

	*text = 0;
	for (i = 0; i < ARRAY_SIZE(l->job) && l->job[i]; i++) {
		const char *value = getenv(l->job[i]);

		if (!value || !*value)
			continue;
		len += (size_t)snprintf(text + len, room - len, "%s=%s;",
					l->job[i], value);
		if (len >= room)
			len = room - 1;
	}
}

static void derive(const char *what, const char *label, uint8_t *out)
{
	struct hcomm_piece pieces[] = { { label, strlen(label) } };

	hcomm_hmac(what, strlen(what), pieces, 1, out);
}

/* first host of "a,b", "n[03-07,9]x" or "n7" */
static bool first_host(const char *list, char *host, size_t room)
{
	size_t len = 0;
	bool digits;

	while (*list && *list != ',') {
		if (*list == '[') {
			list++;
			digits = false;
			while (*list >= '0' && *list <= '9' && len + 1 < room) {
				host[len++] = *list++;
				digits = true;
			}
			list = strchr(list, ']');
			if (!list || !digits)
				return false;
			list++;
			continue;
		}
		if (len + 1 >= room)
			return false;
		host[len++] = *list++;
	}
	host[len] = 0;
	return len > 0;
}

static hcommResult_t read_port(uint64_t *port)
{
	return hcomm_env_number("HCOMM_PORT", 1, 65535, port);
}

/* MASTER_ADDR with HCOMM_PORT or MASTER_PORT + 1 */
static hcommResult_t root_from_master(struct hcomm_start *start)
{
	const char *host = getenv("MASTER_ADDR");
	uint64_t port = 0, master = 0;
	hcommResult_t ret;

	if (!*host || strlen(host) >= sizeof(start->host))
		return hcomm_fail(HCOMM_ERR_ENVIRONMENT,
				  "MASTER_ADDR=%s: use a host name or an address",
				  host);
	ret = read_port(&port);
	if (!ret)
		ret = hcomm_env_number("MASTER_PORT", 1, 65534, &master);
	if (ret)
		return ret;
	if (!port && !master)
		return hcomm_fail(HCOMM_ERR_ENVIRONMENT,
				  "MASTER_ADDR is set, but neither HCOMM_PORT nor MASTER_PORT");
	strcpy(start->host, host);
	start->port = (uint16_t)(port ? port : master + 1);
	return HCOMM_SUCCESS;
}

/* where the launcher itself tells enough */
static hcommResult_t root_from_launcher(size_t which, struct hcomm_start *start,
					const char *identity)
{
	const struct launcher *l = &launchers[which];
	uint64_t local = 0, port = 0;
	const char *list = NULL;
	uint8_t hash[32];
	hcommResult_t ret;

	ret = read_port(&port);
	if (!ret && l->local_size)
		ret = hcomm_env_number(l->local_size, 1, HCOMM_MAX_RANKS, &local);
	if (ret)
		return ret;
	if (which == SLURM) {
		list = getenv("SLURM_STEP_NODELIST");
		if (!list)
			list = getenv("SLURM_JOB_NODELIST");
	}
	if (local == start->size) {
		strcpy(start->host, "127.0.0.1");
	} else if (!list) {
		return hcomm_fail(HCOMM_ERR_ENVIRONMENT,
				  "%s does not tell where rank 0 is: set HCOMM_ROOT=address:port (of the node of rank 0) or MASTER_ADDR and MASTER_PORT on all ranks",
				  l->name);
	} else if (!first_host(list, start->host, sizeof(start->host))) {
		return hcomm_fail(HCOMM_ERR_ENVIRONMENT,
				  "SLURM_STEP_NODELIST=%s: not understood; set HCOMM_ROOT=address:port on all ranks",
				  list);
	}
	if (!port && !*identity)
		return hcomm_fail(HCOMM_ERR_ENVIRONMENT,
				  "%s does not tell jobs apart: set HCOMM_PORT, HCOMM_SECRET or HCOMM_ROOT=address:port on all ranks",
				  l->name);
	if (!port) {
		derive(identity, "hcomm port", hash);
		port = DERIVED_PORT_FIRST +
		       (hash[0] << 16 | hash[1] << 8 | hash[2]) % DERIVED_PORT_COUNT;
	}
	start->port = (uint16_t)port;
	return HCOMM_SUCCESS;
}

/* HCOMM_ROOT, which is set */
static hcommResult_t root_by_hand(struct hcomm_start *start)
{
	const char *root = getenv("HCOMM_ROOT");

	if (hcomm_parse_host_port(root, start->host, sizeof(start->host), &start->port))
		return HCOMM_SUCCESS;
	return hcomm_fail(HCOMM_ERR_ENVIRONMENT,
			  "HCOMM_ROOT=%s: use address:port, for IPv6 [address]:port",
			  root);
}

/* bad values are refused also where they are not needed */
static hcommResult_t check_values(void)
{
	const char *secret = getenv("HCOMM_SECRET");
	struct hcomm_start unused;
	uint64_t port;

	if (secret && !*secret)
		return hcomm_fail(HCOMM_ERR_ENVIRONMENT,
				  "HCOMM_SECRET is empty: set a random text, or unset it");
	if (getenv("HCOMM_ROOT") && root_by_hand(&unused))
		return HCOMM_ERR_ENVIRONMENT;
	return read_port(&port);
}

static hcommResult_t read_root(size_t which, struct hcomm_start *start,
			       const char *identity)
{
	if (getenv("HCOMM_ROOT"))
		return root_by_hand(start);
	if (which == BARE)
		return hcomm_fail(HCOMM_ERR_ENVIRONMENT,
				  "HCOMM_ROOT is not set, but HCOMM_SIZE=%u: set it to address:port of rank 0's node",
				  start->size);
	if (getenv("MASTER_ADDR"))
		return root_from_master(start);
	if (which == TORCHRUN)
		return need("MASTER_ADDR", "WORLD_SIZE");
	return root_from_launcher(which, start, identity);
}

hcommResult_t hcomm_env_start(struct hcomm_start *start)
{
	const char *secret = getenv("HCOMM_SECRET");
	char identity[512] = "", basis[1024];
	hcommResult_t ret;
	size_t i;

	memset(start, 0, sizeof(*start));
	start->launcher = "no launcher";
	start->size = 1;
	start->local_rank = -1;
	start->secret_kind = "none";
	for (i = 0; i < ARRAY_SIZE(launchers); i++) {
		if (launcher_present(i))
			break;
	}
	ret = check_values();
	if (ret || i == ARRAY_SIZE(launchers))
		return ret;
	ret = read_ranks(&launchers[i], start);
	if (ret || start->size == 1)
		return ret;
	job_identity(&launchers[i], identity, sizeof(identity));
	if (i == PMI && !*identity)
		identity_of_proxy(start->size, identity, sizeof(identity));
	ret = read_root(i, start, secret ? secret : identity);
	if (ret)
		return ret;
	if (secret) {
		start->secret_kind = "HCOMM_SECRET";
		derive(secret, "hcomm secret", start->secret);
		return HCOMM_SUCCESS;
	}
	start->secret_kind = *identity ? "job identity" : "address only";
	snprintf(basis, sizeof(basis), "%s%s:%u", identity, start->host,
		 start->port);
	derive(basis, "hcomm job", start->secret);
	return HCOMM_SUCCESS;
}
