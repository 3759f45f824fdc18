/* SPDX-License-Identifier: GPL-2.0-only */
/* The frame that all tools have: a job of ranks, a file of results. */
#ifndef HCOMM_TOOLS_JOB_H
#define HCOMM_TOOLS_JOB_H

#include <stdint.h>
#include <stdio.h>

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
/* a file with this text, unless @path is NULL */
void write_results(const char *path, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

#endif /* HCOMM_TOOLS_JOB_H */
