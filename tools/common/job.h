/* SPDX-License-Identifier: GPL-2.0-only */
/* The frame that all tools have: arguments, a job of ranks, a file of results. */
#ifndef HCOMM_TOOLS_JOB_H
#define HCOMM_TOOLS_JOB_H

#include <argp.h>
#include <stdint.h>
#include <stdio.h>

/* most ranks that a tool starts by itself */
#define MAX_LOCAL_RANKS	1024

/* A number or a size of the command line; argp's usage error if it is none. */
void number_arg(struct argp_state *state, const char *name, const char *arg,
		uint64_t min, uint64_t max, uint64_t *out);
void size_arg(struct argp_state *state, const char *name, const char *arg,
	      uint64_t min, uint64_t max, uint64_t *out);

/**
 * run_job - be a rank of a job, or start one on this node
 * @argc: of main()
 * @argv: of main()
 * @local: ranks to start where there is no launcher
 * @run: what a rank does, between hcommInit() and hcommFinalize()
 * @arg: for @run
 *
 * Return: exit status.
 */
int run_job(int argc, char **argv, uint64_t local, int (*run)(void *arg), void *arg);

/* this rank and the number of ranks of COMM_WORLD */
void world(unsigned int *rank, unsigned int *size);

/* Ends the process when the file can't be written. */
FILE *results_open(const char *path);
void results_close(FILE *file, const char *path);

#endif /* HCOMM_TOOLS_JOB_H */
