// SPDX-License-Identifier: GPL-2.0-only
/* Runs of a collective as the library's schedule builders plan it. */
#include "coll.h"

/* After each launch that ended well. */
static const char *check(struct sim_run *sr)
{
	struct coll_run *run = sr->arg;
	u32 rank = sr->run->engine->par.rank;
	const char *wrong = coll_compare(run, rank);

	if (!wrong && sr->launches > 1)
		coll_fill(run, rank);
	return wrong;
}

static int add(struct sim *sim, const struct sim_cfg *cfg, const struct coll_job *job,
	       u32 rank, struct sim_run **out)
{
	const struct coll_spec *s = &job->spec;
	struct hcomm_sched_args args;
	struct coll_arrays arrays;
	struct hcomm_plan *plan;
	struct hcomm_step *steps;
	struct sim_run *sr;
	u32 nsteps, ndeps, nslots, i, *deps;
	int err;

	coll_args(job, cfg->par.chunk_size, rank, &args, &arrays);
	err = hcomm_sched_build(&args, &plan);
	if (err)
		sim_die(sim, "%s: no schedule for rank %u: %s", coll_text(s), rank,
			strerror(-err));
	hcomm_plan_steps(plan, &nsteps);
	hcomm_plan_deps(plan, &ndeps);
	nslots = hcomm_plan_nslots(plan);
	steps = calloc(nsteps, sizeof(*steps));
	deps = calloc(ndeps + 1, sizeof(*deps));
	if (!steps || !deps)
		sim_die(sim, "out of memory");
	memcpy(steps, hcomm_plan_steps(plan, &nsteps), nsteps * sizeof(*steps));
	if (ndeps)
		memcpy(deps, hcomm_plan_deps(plan, &ndeps), ndeps * sizeof(*deps));
	err = sim_add_run(sim, rank, steps, nsteps, deps, ndeps, nslots, &sr);
	for (i = 0; !err && i < nslots; i++) {
		u64 len = i == HCOMM_SLOT_SCRATCH ? hcomm_plan_scratch_size(plan) :
						    hcomm_sched_buffer_size(&args, i);

		if (sr->prog->slots[i].extent > len)
			sim_die(sim, "%s: rank %u touches %llu bytes of slot %u, which has %llu",
				coll_text(s), rank,
				(unsigned long long)sr->prog->slots[i].extent, i,
				(unsigned long long)len);
		sr->slots[i] = sim_mem_new(sim_rng(sim), len, s->pieces);
	}
	hcomm_plan_free(plan);
	coll_arrays_free(&arrays);
	if (err)
		return err;
	sr->start = rng_below(sim_rng(sim), cfg->skew + 1);
	*out = sr;
	return 0;
}

/* One rank's part of a run that is never going to end well. */
int coll_add(struct sim *sim, const struct sim_cfg *cfg, const struct coll_spec *spec,
	     u32 rank, u64 key)
{
	struct coll_job job = {};
	struct sim_run *sr;
	int err;

	coll_job_init(&job, spec, cfg);
	err = add(sim, cfg, &job, rank, &sr);
	coll_job_exit(&job);
	if (err)
		return err;
	sr->key = key;
	coll_call(spec, &sr->call);
	return 0;
}

struct coll_job *coll_job_new(struct sim *sim, const struct sim_cfg *cfg,
			      const struct coll_spec *spec)
{
	struct coll_job *job = calloc(1, sizeof(*job));
	u32 i, rank, back = cfg->par.max_runs;

	if (!job)
		sim_die(sim, "out of memory");
	coll_job_init(job, spec, cfg);
	job->run = calloc(spec->runs, sizeof(*job->run));
	if (!job->run)
		sim_die(sim, "out of memory");
	for (i = 0; i < spec->runs; i++) {
		struct coll_run *run = &job->run[i];
		u64 key = rng_next(sim_rng(sim));

		run->job = job;
		run->index = i;
		run->runs = calloc(cfg->nranks, sizeof(*run->runs));
		if (!run->runs)
			sim_die(sim, "out of memory");
		coll_expect(run);
		for (rank = 0; rank < cfg->nranks; rank++) {
			struct sim_run *sr;

			if (add(sim, cfg, job, rank, &sr)) {
				coll_job_free(job);
				return NULL;
			}
			run->runs[rank] = sr;
			sr->key = key;
			coll_call(spec, &sr->call);
			sr->launches = spec->launches;
			sr->check = check;
			sr->arg = run;
			if (i >= back)
				sr->after = job->run[i - back].runs[rank];
			coll_fill(run, rank);
		}
	}
	return job;
}

void coll_job_check(struct coll_job *job, struct sim *sim)
{
	u64 last = 0, first = ~0ull;
	u32 i, rank;

	if (job->spec.coll != HCOMM_COLL_BARRIER)
		return;
	for (i = 0; i < job->spec.runs; i++, last = 0, first = ~0ull) {
		for (rank = 0; rank < job->nranks; rank++) {
			last = max(last, job->run[i].runs[rank]->launched);
			first = min(first, job->run[i].runs[rank]->finished);
		}
		if (first < last)
			sim_die(sim, "a rank left the barrier at %llu ns, another came at %llu",
				(unsigned long long)first, (unsigned long long)last);
	}
}

void coll_job_free(struct coll_job *job)
{
	u32 i;

	for (i = 0; i < job->spec.runs; i++) {
		free(job->run[i].want);
		free(job->run[i].runs);
	}
	free(job->run);
	coll_job_exit(job);
	free(job);
}
