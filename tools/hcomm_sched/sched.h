/* SPDX-License-Identifier: GPL-2.0-only */
/* What the parts of hcomm_sched share. */
#ifndef HCOMM_SCHED_TOOL_H
#define HCOMM_SCHED_TOOL_H

#include <hcomm/sched.h>
#include <stdbool.h>
#include <stdio.h>

#include "../../lib/plan/decide.h"

/**
 * struct job - what to look at
 * @args: the call and how it is done
 * @planner: planner of the communicator
 * @topo: nodes
 * @nodes: how many
 * @groups: of nodes
 * @cpus: that the ranks of one node share, 0: each has its own
 * @per_node: ranks of each
 * @fixed: algo, channels, grain or radix were given: no choice
 */
struct job {
	struct hcomm_sched_args args;
	struct hcomm_planner planner;
	struct hcomm_sched_topo *topo;
	uint64_t nodes;
	uint64_t groups;
	uint64_t cpus;
	uint64_t per_node;
	bool fixed;
};

/* plans of all ranks; ends the process if there are none */
struct hcomm_plan **build_all(const struct job *job);
void free_all(const struct job *job, struct hcomm_plan **plans);

/* the steps of one rank, with what they wait for */
void print_plan(const struct hcomm_plan *plan, uint32_t rank);

/* proves the plans right: false, and says why */
bool check_plans(const struct job *job);

/* pictures: ranks as lanes, steps in the order in which they can happen */
void draw_svg(const struct job *job, struct hcomm_plan **plans, FILE *out);
void draw_dot(const struct job *job, struct hcomm_plan **plans, FILE *out);

/* all candidates, cheapest first, and what was chosen; @count of them simulated, too */
void print_candidates(const struct job *job, const struct hcomm_decision *chosen,
		      uint64_t count);
/* the one in job->args, simulated */
void print_simulation(const struct job *job);

/* ends the process: @who can't do the call; says what can */
void none_can(const struct job *job, const char *who) __attribute__((noreturn));

#endif /* HCOMM_SCHED_TOOL_H */
