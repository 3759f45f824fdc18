// SPDX-License-Identifier: GPL-2.0-only
/* hcomm_sim: one simulation of a collective, or a set of small ones. */
#include <stdio.h>
#include <time.h>
#include "options.h"
#include "reduce.h"

bool sim_trace_all;

static double seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static void show_faults(struct sim *sim, const struct sim_cfg *cfg)
{
	u32 i, shown = 0;

	for (i = 0; i < cfg->nranks && shown < 16; i++) {
		const struct hcomm_fault *f = &sim_engine(sim, i)->fault;

		if (!f->error || sim_rank_dead(sim, i))
			continue;
		printf("rank %u: fault %d (reason %u) of rank %u, reported by %u, step %d\n",
		       i, f->error, f->reason, f->rank, f->reporter, (int)f->step);
		shown++;
	}
}

/* One simulation of a collective per seed. */
static void simulate(struct sim_options *o)
{
	u64 seed;

	for (seed = o->first; seed <= o->last; seed++) {
		const struct sim_stats *s;
		struct coll_job *job;
		struct sim *sim;
		double t0 = seconds(), t1, t2;

		o->cfg.seed = seed;
		o->cfg.trace = sim_trace_all;
		sim = sim_new(&o->cfg);
		job = sim ? coll_job_new(sim, &o->cfg, &o->spec) : NULL;
		if (!job)
			sim_die(sim, "out of memory");
		t1 = seconds();
		sim_go(sim);
		t2 = seconds();
		if (o->cfg.kill_rank == ~0u && o->cfg.break_rank == ~0u)
			coll_job_check(job, sim);
		s = sim_stats(sim);
		printf("%s, %u ranks, %u per node, seed %llu\n", coll_text(&o->spec),
		       o->cfg.nranks, o->cfg.ranks_per_node, (unsigned long long)seed);
		printf("time %.3f us  messages %llu  writes %llu  bytes %llu  events %llu  no room %llu  queue max %u of %u  hash %016llx\n",
		       (double)s->time / 1e3, (unsigned long long)s->messages,
		       (unsigned long long)s->writes, (unsigned long long)s->bytes,
		       (unsigned long long)s->events, (unsigned long long)s->eagain,
		       s->max_rx, hcomm_link_max_rx(&o->cfg.par), (unsigned long long)s->hash);
		if (o->verbose)
			printf("set up in %.2f s, simulated in %.2f s\n", t1 - t0, t2 - t1);
		show_faults(sim, &o->cfg);
		coll_job_free(job);
		sim_free(sim);
	}
}

int main(int argc, char **argv)
{
	struct sim_options o;
	u64 n = 0;

	options_parse(&o, argc, argv);
	hcomm_reduce_init(!o.scalar);
	switch (o.mode) {
	case MODE_COLL:
		snprintf(sim_replay, sizeof(sim_replay), "the same options");
		simulate(&o);
		return 0;
	case MODE_RANDOM:
		n = mode_random(o.first, o.last, o.verbose);
		break;
	case MODE_COLLS:
		n = mode_colls(o.first, o.last, o.verbose);
		break;
	case MODE_REPLAY:
		n = mode_replay(o.first, o.last);
		break;
	case MODE_P2P:
		n = mode_p2p(o.first, o.last);
		break;
	case MODE_ALLOC:
		n = mode_alloc(o.first, o.last);
		break;
	case MODE_DEATH:
		n = mode_death(o.first, o.last, o.limit);
		break;
	case MODE_BREAK:
		n = mode_break(o.first, o.last, o.limit);
		break;
	case MODE_MISMATCH:
		n = mode_mismatch(o.first, o.last);
		break;
	}
	printf("%s: %llu simulations, seeds %llu to %llu\n", o.mode_name, (unsigned long long)n,
	       (unsigned long long)o.first, (unsigned long long)o.last);
	return 0;
}
