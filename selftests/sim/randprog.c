// SPDX-License-Identifier: GPL-2.0-only
/* Runs of random programs: made, given to the engine, checked. */
#include "randprog.h"

static int emit(struct rand_job *job, struct sim *sim, struct grun *run, u32 rank)
{
	struct grank *g = &run->ranks[rank];
	struct hcomm_step *steps;
	u32 *deps, ndeps = 0, i, n = g->n ? g->n : 1;
	struct sim_run *sr;
	u8 *p = run->mem[rank];
	int err;

	for (i = 0; i < g->n; i++)
		ndeps += g->steps[i].s.dep_count;
	steps = calloc(n, sizeof(*steps));
	deps = calloc(ndeps + 1, sizeof(*deps));
	if (!steps || !deps)
		sim_die(sim, "out of memory");
	ndeps = 0;
	for (i = 0; i < g->n; i++) {
		steps[i] = g->steps[i].s;
		steps[i].dep_first = ndeps;
		memcpy(deps + ndeps, g->steps[i].deps, steps[i].dep_count * sizeof(u32));
		ndeps += steps[i].dep_count;
	}
	err = sim_add_run(sim, rank, steps, n, deps, ndeps, NSLOTS, &sr);
	if (err)
		return err;
	for (i = 0; i < NSLOTS; i++) {
		sr->slots[i] = sim_mem_new(job->rng, g->slot_len[i], 5);
		sim_mem_store(sr->slots[i], 0, p, g->slot_len[i]);
		p += g->slot_len[i];
	}
	sr->launches = job->launches;
	sr->start = rng_below(job->rng, job->cfg->skew + 1);
	run->runs[rank] = sr;
	return 0;
}

static int run_new(struct rand_job *job, struct sim *sim, struct grun *run, u32 max_ops)
{
	const struct hcomm_engine_params *par = &job->cfg->par;
	u64 key = rng_next(job->rng);
	struct hcomm_call call = {
		.coll = HCOMM_COLL_GROUP, .count = key, .hash = (u32)rng_next(job->rng),
	};
	u32 r, i;
	int err;

	run->max_ops = max_ops + 2 * MAX_PENDING + 4;
	run->ranks = calloc(job->nranks, sizeof(*run->ranks));
	run->ops = calloc(run->max_ops, sizeof(*run->ops));
	run->msgs = calloc((size_t)job->nranks * job->nranks * 2, sizeof(u32));
	run->runs = calloc(job->nranks, sizeof(*run->runs));
	run->mem = calloc(job->nranks, sizeof(*run->mem));
	if (!run->ranks || !run->ops || !run->msgs || !run->runs || !run->mem)
		sim_die(sim, "out of memory");
	for (r = 0; r < job->nranks; r++) {
		struct grank *g = &run->ranks[r];
		u64 total = 0;

		for (i = 0; i < NSLOTS; i++)
			g->slot_len[i] = rng_range(job->rng, 1,
				par->eager_size + par->chunk_size * rng_range(job->rng, 1, 12));
		/* The sink is the largest: what was sent has room somewhere. */
		for (i = 0; i < NSLOTS; i++)
			g->slot_len[SINK] = max(g->slot_len[SINK], g->slot_len[i]);
		for (i = 0; i < NSLOTS; i++)
			total += g->slot_len[i];
		run->mem[r] = malloc(total);
		if (!run->mem[r])
			sim_die(sim, "out of memory");
		rng_fill(job->rng, run->mem[r], total);
	}
	rand_draw_ops(job, run, rng_range(job->rng, 1, max_ops));
	for (r = 0; r < job->nranks; r++) {
		err = emit(job, sim, run, r);
		if (err)
			return err;
		run->runs[r]->key = key;
		run->runs[r]->call = call;
	}
	return 0;
}

struct rand_job *rand_job_new(struct sim *sim, const struct sim_cfg *cfg, u32 nruns,
			      u32 max_ops, u32 launches)
{
	struct rand_job *job = calloc(1, sizeof(*job));
	u32 i;

	if (!job)
		sim_die(sim, "out of memory");
	job->cfg = cfg;
	job->rng = sim_rng(sim);
	job->nranks = cfg->nranks;
	job->nruns = nruns;
	job->launches = launches;
	job->run = calloc(nruns, sizeof(*job->run));
	if (!job->run)
		sim_die(sim, "out of memory");
	for (i = 0; i < nruns; i++) {
		u32 r, back = cfg->par.max_runs;

		if (run_new(job, sim, &job->run[i], max_ops)) {
			rand_job_free(job);
			return NULL;
		}
		/* All ranks agree on which runs are in flight together. */
		for (r = 0; i >= back && r < cfg->nranks; r++)
			job->run[i].runs[r]->after = job->run[i - back].runs[r];
	}
	return job;
}

u32 rand_job_check(struct rand_job *job, struct sim *sim)
{
	u32 i, r, k, good = 0;

	for (i = 0; i < job->nruns; i++) {
		struct grun *run = &job->run[i];

		for (k = 0; k < job->launches; k++)
			rand_ref_run(run);
		for (r = 0; r < job->nranks; r++) {
			if (run->runs[r]->done != job->launches || run->runs[r]->status)
				continue;
			rand_ref_compare(sim, run, i, r);
			good++;
		}
	}
	return good;
}

void rand_job_free(struct rand_job *job)
{
	u32 i, r;

	for (i = 0; i < job->nruns; i++) {
		struct grun *run = &job->run[i];

		for (r = 0; run->mem && r < job->nranks; r++)
			free(run->mem[r]);
		free(run->mem);
		free(run->ranks);
		free(run->ops);
		free(run->msgs);
		free(run->runs);
	}
	free(job->run);
	free(job);
}

void rand_cfg(struct sim_cfg *cfg, u64 seed)
{
	struct sim_rng rng = { rng_mix(seed ^ 0x5eed) };

	sim_cfg_default(cfg);
	cfg->trace = sim_trace_all;
	cfg->seed = seed;
	cfg->nranks = rng_range(&rng, 2, 6);
	switch (rng_below(&rng, 3)) {
	case 0:
		cfg->ranks_per_node = 1;
		break;
	case 1:
		cfg->ranks_per_node = cfg->nranks;
		break;
	default:
		cfg->ranks_per_node = rng_range(&rng, 1, cfg->nranks);
		break;
	}
	cfg->par.chunk_size = 64 << rng_below(&rng, 5);
	cfg->par.eager_size = 64 * rng_below(&rng, 8);
	cfg->par.eager_slots = rng_range(&rng, 1, 3);
	cfg->par.window = rng_range(&rng, 1, rng_below(&rng, 4) ? 3 : HCOMM_MAX_WINDOW);
	cfg->par.max_runs = rng_range(&rng, 1, 4);
	cfg->par.staging_slots = cfg->par.max_runs + rng_below(&rng, 3);
	cfg->net.latency = rng_range(&rng, 1, 5000);
	cfg->local_latency = rng_range(&rng, 1, 500);
	cfg->net.bandwidth = rng_range(&rng, 10, 20000);
	cfg->copy_rate = rng_range(&rng, 100, 20000);
	cfg->reduce_rate = rng_range(&rng, 100, 20000);
	cfg->event_cost = rng_range(&rng, 1, 500);
	cfg->budget = 0;
	cfg->reorder = rng_below(&rng, 4) ? rng_range(&rng, 1, 50000) : 0;
	cfg->reorder_permille = rng_range(&rng, 0, 1000);
	cfg->eagain_permille = rng_below(&rng, 2) ? rng_below(&rng, 400) : 0;
	cfg->tx_depth = rng_below(&rng, 2) ? rng_range(&rng, 1, 8) : 0;
	cfg->skew = rng_below(&rng, 2) ? rng_below(&rng, 200000) : 0;
	cfg->linkup_skew = rng_below(&rng, 2) ? rng_below(&rng, 100000) : 0;
	cfg->slow_rank = rng_below(&rng, 3) ? ~0u : rng_below(&rng, cfg->nranks);
	cfg->net.slow_node = rng_below(&rng, 3) ? ~0u : rng_below(&rng, cfg->nranks);
	cfg->tick = rng_below(&rng, 2) ? rng_range(&rng, 10000, 200000) :
					  rng_range(&rng, 200000, 10000000);
	cfg->detect = rng_range(&rng, 1000, 500000);
}
