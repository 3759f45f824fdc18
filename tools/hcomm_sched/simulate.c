// SPDX-License-Identifier: GPL-2.0-only
/* From plans and a cost model to a simulation. */
#include <stdlib.h>
#include <string.h>

#include "../../selftests/sim/sim.h"
#include "simulate.h"

bool sim_trace_all;

/* rates of the simulator are MB/s, times ns, and none may be 0 */
static u64 rate(double bytes_per_second)
{
	double mb = bytes_per_second / 1e6;

	return mb < 1 ? 1 : (u64)mb;
}

/*
 * Of what a message costs its receiver, messages that come together share one half,
 * the wake-up; the other half is the CPU's for each of them.
 */
static u64 delay(const struct hcomm_link_model *l)
{
	return (u64)((l->latency + l->overhead / 2) * 1e9);
}

static void configure(struct sim_cfg *cfg, const struct hcomm_model *m,
		      const struct hcomm_limits *lim, u32 nranks, u32 ranks_per_node)
{
	sim_cfg_default(cfg);
	sim_cfg_real(cfg);
	cfg->nranks = nranks;
	cfg->ranks_per_node = ranks_per_node;
	cfg->par.chunk_size = lim->chunk_size;
	cfg->par.eager_size = lim->eager_size;
	cfg->par.window = lim->window;
	cfg->par.max_runs = 1;
	cfg->net.latency = delay(&m->link[HCOMM_LINK_NODE]);
	cfg->local_latency = delay(&m->link[HCOMM_LINK_LOCAL]);
	cfg->net.bandwidth = rate(m->link[HCOMM_LINK_NODE].bandwidth);
	cfg->copy_rate = rate(m->copy_rate);
	cfg->reduce_rate = rate(m->reduce_rate);
	cfg->event_cost = (u64)(m->link[HCOMM_LINK_LOCAL].overhead * 1e9 / 2);
}

static void *duplicate(const void *from, size_t n, size_t size)
{
	void *to = calloc(n + 1, size);

	if (!to)
		sim_die(NULL, "out of memory");
	if (n)
		memcpy(to, from, n * size);
	return to;
}

static int add_rank(struct sim *sim, const struct hcomm_sched_args *args, u32 chunk)
{
	struct hcomm_plan *plan;
	struct sim_run *sr;
	u32 nsteps, ndeps, nslots, i;
	const struct hcomm_step *steps;
	const u32 *deps;
	int err;

	err = hcomm_sched_build(args, &plan);
	if (err)
		return err;
	steps = hcomm_plan_steps(plan, &nsteps);
	deps = hcomm_plan_deps(plan, &ndeps);
	nslots = hcomm_plan_nslots(plan);
	err = sim_add_run(sim, args->rank, duplicate(steps, nsteps, sizeof(*steps)), nsteps,
			  duplicate(deps, ndeps, sizeof(*deps)), ndeps, nslots, &sr);
	if (err)
		sim_die(sim, "out of memory");
	for (i = 0; i < nslots; i++) {
		u64 len = hcomm_plan_slot_extent(plan, i, NULL);

		sr->slots[i] = sim_mem_new(sim_rng(sim), len, 1);
		if (!sr->slots[i])
			sim_die(sim, "out of memory");
	}
	sr->key = 1;
	sr->call = (struct hcomm_call){
		.coll = (u16)args->coll, .dtype = (u8)args->dtype,
		.redop = (u8)args->redop, .root = args->root, .count = args->count,
		.algo = args->algo, .hash = chunk,
	};
	hcomm_plan_free(plan);
	return 0;
}

int simulate(const struct hcomm_sched_args *args, const struct hcomm_model *model,
	     const struct hcomm_limits *lim, uint32_t ranks_per_node,
	     struct sim_result *out)
{
	struct hcomm_sched_args a = *args;
	struct sim_cfg cfg;
	struct sim *sim;
	int err = 0;

	configure(&cfg, model, lim, args->nranks, ranks_per_node);
	sim = sim_new(&cfg);
	if (!sim)
		sim_die(NULL, "out of memory");
	for (a.rank = 0; a.rank < a.nranks && !err; a.rank++)
		err = add_rank(sim, &a, lim->chunk_size);
	if (!err) {
		sim_go(sim);
		*out = (struct sim_result){
			.seconds = (double)sim_stats(sim)->time * 1e-9,
			.messages = sim_stats(sim)->messages,
			.writes = sim_stats(sim)->writes,
			.bytes = sim_stats(sim)->bytes,
		};
	}
	sim_free(sim);
	return err;
}
