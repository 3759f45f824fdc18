/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The environment: numbers, sizes and words read strictly, and who this process
 * is in its job.  A bad value is an error that names the variable; nothing is
 * silently ignored.
 */
#ifndef HCOMM_ENV_H
#define HCOMM_ENV_H

#include <hcomm/hcomm.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * Values.  An unset variable leaves *out alone and returns success.  An empty
 * one is an error.
 */
hcommResult_t hcomm_env_number(const char *name, uint64_t min, uint64_t max,
			       uint64_t *out);
/* bytes, with an optional suffix K or M (1024, 1024 * 1024) */
hcommResult_t hcomm_env_size(const char *name, uint64_t min, uint64_t max,
			     uint64_t multiple, uint64_t *out);
/* seconds with up to three decimals, as milliseconds */
hcommResult_t hcomm_env_seconds(const char *name, uint64_t min_ms,
				uint64_t max_ms, uint64_t *out_ms);

/* is "NAME=value" a variable of this library, or none of its business? */
bool hcomm_env_known(const char *var);

/* once, from level warn up: name those that begin with HCOMM_ and are not known */
void hcomm_env_warn_unknown(void);

/* decimal digits only, no sign, no space */
bool hcomm_parse_number(const char *text, uint64_t max, uint64_t *out);

/* "host:port", "1.2.3.4:port" or "[v6]:port"; @host has room for @room bytes */
bool hcomm_parse_host_port(const char *text, char *host, size_t room,
			   uint16_t *port);

/**
 * struct hcomm_start - what the environment says about this process
 * @launcher: where it comes from, for messages
 * @rank: this rank
 * @size: ranks of the job; 1: nothing else is set
 * @local_rank: as the launcher says, -1: it does not; only shown
 * @host: where rank 0 is
 * @port: port of rank 0
 * @secret: derived from HCOMM_SECRET or from the job's identity
 * @secret_kind: where the secret comes from, for messages
 */
struct hcomm_start {
	const char *launcher;
	uint32_t rank;
	uint32_t size;
	int local_rank;
	char host[256];
	uint16_t port;
	uint8_t secret[32];
	const char *secret_kind;
};

/**
 * hcomm_env_start - find out who this process is
 * @start: out
 *
 * The first of these that is there decides:
 *  1. HCOMM_RANK, HCOMM_SIZE (and HCOMM_ROOT=addr:port for more than one rank)
 *  2. RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT (torchrun)
 *  3. OMPI_COMM_WORLD_RANK, OMPI_COMM_WORLD_SIZE (Open MPI)
 *  4. PMI_RANK, PMI_SIZE (MPICH and other PMI launchers), unless they are those of 5
 *  5. SLURM_PROCID, SLURM_NTASKS in a job step
 *  6. none: one rank
 *
 * Rank 0's address, for 2 to 5: HCOMM_ROOT; else MASTER_ADDR with HCOMM_PORT or
 * MASTER_PORT + 1 (torchrun's own store may use MASTER_PORT); else, with a port
 * made from the job's identity, the loopback address where the launcher says
 * that all ranks are on one node, or the first node of SLURM_STEP_NODELIST.
 *
 * The secret comes from HCOMM_SECRET, which should be random and known to the
 * job alone.  Without it, it comes from the job's identity (TORCHELASTIC_RUN_ID,
 * PMIX_NAMESPACE, SLURM_JOB_ID, the proxy of MPICH's launcher on one node, ...)
 * or, failing that, from rank 0's address:
 * this keeps jobs from meeting by mistake, and does not keep out somebody who
 * can guess it.
 */
hcommResult_t hcomm_env_start(struct hcomm_start *start);

#endif /* HCOMM_ENV_H */
