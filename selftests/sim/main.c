// SPDX-License-Identifier: GPL-2.0-only
/* hcomm_sim: one simulation of a collective, or a set of small ones. */
#include <stdio.h>
#include <time.h>
#include <hcomm/sched.h>
#include "cost.h"
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

/* A line of a table: what, how, and how far from the bound. */
static void csv_line(const struct sim_options *o, u64 time, u64 bound)
{
	const struct sim_cfg *cfg = &o->cfg;
	const struct coll_spec *s = &o->spec;

	printf("%s,%s,%s,%s,%u,%u,%llu,%.3f,%.3f,%.3f\n",
	       o->mode == MODE_COST ? "plans" : "engine", net_kind_name(cfg->net.kind),
	       hcomm_coll_name(s->coll), hcomm_algo_name(s->algo), cfg->nranks,
	       cfg->ranks_per_node, (unsigned long long)s->count * ref_dtype_size(s->dtype),
	       (double)time / 1e3, (double)bound / 1e3, bound ? (double)time / bound : 0);
}

static void show_bound(u64 time, u64 bound)
{
	printf("no algorithm is faster than %.3f us; this one takes %.2f times as long\n",
	       (double)bound / 1e3, bound ? (double)time / bound : 0);
}

/* The plans of a collective, without the engine. */
static void evaluate(struct sim_options *o)
{
	u64 bound = bound_time(&o->cfg, &o->spec);
	struct cost_result r;
	double t0 = seconds();

	cost_run(&o->cfg, &o->spec, &r);
	if (o->csv) {
		csv_line(o, r.time, bound);
		return;
	}
	printf("%s, %u ranks, %u per node, plans alone\n", coll_text(&o->spec), o->cfg.nranks,
	       o->cfg.ranks_per_node);
	printf("time %.3f us  steps %llu  chunks %llu  bytes %llu\n", (double)r.time / 1e3,
	       (unsigned long long)r.steps, (unsigned long long)r.chunks,
	       (unsigned long long)r.bytes);
	show_bound(r.time, bound);
	if (o->verbose)
		printf("evaluated in %.2f s\n", seconds() - t0);
}

/* Plans alone must take about as long as they take with the engine. */
static void compare(const struct sim_options *o, u64 time)
{
	struct cost_result r;

	cost_run(&o->cfg, &o->spec, &r);
	printf("the plans alone take %.3f us\n", (double)r.time / 1e3);
	if (max(r.time, time) - min(r.time, time) > time / 100 * o->agree)
		sim_die(NULL, "%s: the engine takes %.3f us, the plans %.3f us",
			coll_text(&o->spec), (double)time / 1e3, (double)r.time / 1e3);
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
		if (o->csv) {
			csv_line(o, s->time, bound_time(&o->cfg, &o->spec));
			goto next;
		}
		printf("%s, %u ranks, %u per node, seed %llu\n", coll_text(&o->spec),
		       o->cfg.nranks, o->cfg.ranks_per_node, (unsigned long long)seed);
		printf("time %.3f us  messages %llu  writes %llu  bytes %llu  events %llu  no room %llu  queue max %u of %u  hash %016llx\n",
		       (double)s->time / 1e3, (unsigned long long)s->messages,
		       (unsigned long long)s->writes, (unsigned long long)s->bytes,
		       (unsigned long long)s->events, (unsigned long long)s->eagain,
		       s->max_rx, hcomm_link_max_rx(&o->cfg.par), (unsigned long long)s->hash);
		show_bound(s->time, bound_time(&o->cfg, &o->spec));
		if (o->agree)
			compare(o, s->time);
		if (o->verbose)
			printf("set up in %.2f s, simulated in %.2f s\n", t1 - t0, t2 - t1);
		show_faults(sim, &o->cfg);
next:
		coll_job_free(job);
		sim_free(sim);
	}
}

/* The number of simulations of a set. */
static u64 simulate_set(const struct sim_options *o)
{
	switch (o->mode) {
	case MODE_RANDOM:
		return mode_random(o->first, o->last, o->verbose);
	case MODE_DEATH:
		return mode_death(o->first, o->last, o->limit);
	case MODE_REPLAY:
		return mode_replay(o->first, o->last);
	case MODE_P2P:
		return mode_p2p(o->first, o->last);
	case MODE_COLLS:
		return mode_colls(o->first, o->last, o->verbose);
	case MODE_BREAK:
		return mode_break(o->first, o->last, o->limit);
	case MODE_ALLOC:
		return mode_alloc(o->first, o->last);
	default:
		return mode_mismatch(o->first, o->last);
	}
}

int main(int argc, char **argv)
{
	struct sim_options o;
	u64 n;

	options_parse(&o, argc, argv);
	hcomm_reduce_init(o.scalar ? HCOMM_REDUCE_SCALAR : HCOMM_REDUCE_ANY);
	if (o.mode == MODE_COLL) {
		snprintf(sim_replay, sizeof(sim_replay), "the same options");
		simulate(&o);
		return 0;
	}
	if (o.mode == MODE_COST) {
		evaluate(&o);
		return 0;
	}
	n = simulate_set(&o);
	printf("%s: %llu simulations, seeds %llu to %llu\n", o.mode_name, (unsigned long long)n,
	       (unsigned long long)o.first, (unsigned long long)o.last);
	return 0;
}
