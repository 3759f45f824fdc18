// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sets of small simulations in which everything goes well, each with parameters
 * and programs from one seed: random programs, all collectives, floods of early
 * messages, replay.  And failed allocations, after which nothing may be left.
 */
#include <stdio.h>
#include <hcomm/sched.h>
#include "sim.h"

static void replay_as(const char *mode, u64 seed)
{
	snprintf(sim_replay, sizeof(sim_replay), "hcomm_sim --%s --seed %llu", mode,
		 (unsigned long long)seed);
}

static void show(u64 seed, const struct sim_stats *s, const char *what)
{
	printf("# seed %llu: %s%llu ns, %llu events, %llu messages, %llu writes, %llu without room, hash %016llx\n",
	       (unsigned long long)seed, what, (unsigned long long)s->time,
	       (unsigned long long)s->events, (unsigned long long)s->messages,
	       (unsigned long long)s->writes, (unsigned long long)s->eagain,
	       (unsigned long long)s->hash);
}

static void random_one(u64 seed, struct sim_stats *stats)
{
	struct sim_rng rng = { rng_mix(seed ^ 0x51a9e) };
	u32 nruns = rng_range(&rng, 1, 5);
	u32 launches = rng_below(&rng, 4) ? 1 : rng_range(&rng, 2, 3);
	u32 max_ops = rng_below(&rng, 4) ? 60 : 300;
	struct rand_job *job;
	struct sim_cfg cfg;
	struct sim *sim;
	u32 good;

	rand_cfg(&cfg, seed);
	sim = sim_new(&cfg);
	if (!sim)
		sim_die(NULL, "out of memory");
	job = rand_job_new(sim, &cfg, nruns, max_ops, launches);
	if (!job)
		sim_die(sim, "out of memory");
	sim_go(sim);
	good = rand_job_check(job, sim);
	if (good != nruns * cfg.nranks)
		sim_die(sim, "%u of %u programs ended well", good, nruns * cfg.nranks);
	*stats = *sim_stats(sim);
	rand_job_free(job);
	sim_free(sim);
}

u64 mode_random(u64 first, u64 last, bool verbose)
{
	struct sim_stats s;
	u64 seed;

	for (seed = first; seed <= last; seed++) {
		replay_as("random", seed);
		random_one(seed, &s);
		if (verbose)
			show(seed, &s, "");
	}
	return last - first + 1;
}

/* Which of the library's algorithms were met, for which collective. */
struct coverage {
	u32 seen[HCOMM_COLL_GROUP][HCOMM_ALGO_COUNT];
};

/* Enough of them must have met every pair: chance is no excuse. */
static void check_coverage(const struct coverage *c, u64 sims)
{
	u32 coll, algo, pairs = 0, met = 0;

	for (coll = HCOMM_COLL_P2P; coll < HCOMM_COLL_GROUP; coll++) {
		for (algo = HCOMM_ALGO_RING; algo < HCOMM_ALGO_COUNT; algo++) {
			if (!hcomm_algo_supports(algo, coll))
				continue;
			pairs++;
			met += !!c->seen[coll][algo];
			if (!c->seen[coll][algo])
				printf("# not met: %s/%s\n", hcomm_coll_name(coll),
				       hcomm_algo_name(algo));
		}
	}
	printf("# %u of %u pairs of collective and algorithm\n", met, pairs);
	if (sims >= 20 * pairs && met < pairs)
		sim_die(NULL, "%u pairs were never drawn", pairs - met);
}

u64 mode_colls(u64 first, u64 last, bool verbose)
{
	struct coverage coverage = {};
	u64 seed;

	for (seed = first; seed <= last; seed++) {
		struct sim_rng rng = { rng_mix(seed ^ 0xc011) };
		struct coll_spec spec;
		struct coll_job *job;
		struct sim_cfg cfg;
		struct sim *sim;

		replay_as("colls", seed);
		rand_cfg(&cfg, seed);
		cfg.nranks = rng_range(&rng, 2, rng_below(&rng, 4) ? 9 : 24);
		cfg.ranks_per_node = rng_range(&rng, 1, cfg.nranks);
		coll_random_spec(&spec, &rng, &cfg);
		sim = sim_new(&cfg);
		job = sim ? coll_job_new(sim, &cfg, &spec) : NULL;
		if (!job)
			sim_die(sim, "out of memory");
		sim_go(sim);
		coll_job_check(job, sim);
		coverage.seen[spec.coll][spec.algo]++;
		if (verbose) {
			printf("# %u ranks, %u per node, %s\n", cfg.nranks, cfg.ranks_per_node,
			       coll_text(&spec));
			show(seed, sim_stats(sim), "");
		}
		coll_job_free(job);
		sim_free(sim);
	}
	check_coverage(&coverage, last - first + 1);
	return last - first + 1;
}

u64 mode_replay(u64 first, u64 last)
{
	struct sim_stats a, b;
	u64 seed, before = 0;

	for (seed = first; seed <= last; seed++) {
		replay_as("replay", seed);
		random_one(seed, &a);
		random_one(seed, &b);
		if (a.hash != b.hash || a.events != b.events || a.end != b.end)
			sim_die(NULL, "seed %llu: two replays differ", (unsigned long long)seed);
		if (a.hash == before)
			sim_die(NULL, "seeds %llu and %llu do the same",
				(unsigned long long)seed - 1, (unsigned long long)seed);
		before = a.hash;
	}
	return 2 * (last - first + 1);
}

/* --------------------------------------------------------- point to point */

struct p2p {
	struct sim_run *from;
	struct sim_run *to;
	u64 len;
};

static struct sim_run *p2p_end(struct sim *sim, u32 rank, u32 peer, bool send, u64 len)
{
	struct hcomm_step *step = calloc(1, sizeof(*step));
	struct sim_run *sr;
	u8 *buf = malloc(len + 1);

	if (!step || !buf)
		sim_die(sim, "out of memory");
	step->op = send ? HCOMM_STEP_SEND : HCOMM_STEP_RECV;
	step->peer = peer;
	step->len = len;
	if (sim_add_run(sim, rank, step, 1, NULL, 0, 1, &sr))
		sim_die(sim, "out of memory");
	sr->slots[0] = sim_mem_new(sim_rng(sim), len, 3);
	rng_fill(sim_rng(sim), buf, len);
	sim_mem_store(sr->slots[0], 0, buf, len);
	free(buf);
	return sr;
}

/*
 * Each message is a run of its own; senders launch in one order, receivers in
 * the opposite one or at random, later, and with more messages than slots.
 */
u64 mode_p2p(u64 first, u64 last)
{
	u64 seed;

	for (seed = first; seed <= last; seed++) {
		struct p2p msg[HCOMM_MAX_COMM_RUNS];
		struct sim_rng rng = { rng_mix(seed ^ 0x0b2b) };
		u32 n = rng_range(&rng, 1, HCOMM_MAX_COMM_RUNS), i;
		bool reverse = rng_below(&rng, 2);
		u64 late = rng_below(&rng, 300000);
		struct sim_cfg cfg;
		struct sim *sim;

		replay_as("p2p", seed);
		rand_cfg(&cfg, seed);
		cfg.par.max_runs = HCOMM_MAX_COMM_RUNS;
		cfg.par.staging_slots = HCOMM_MAX_COMM_RUNS;
		cfg.par.eager_slots = rng_range(&rng, 1, 8);
		sim = sim_new(&cfg);
		if (!sim)
			sim_die(NULL, "out of memory");
		for (i = 0; i < n; i++) {
			struct p2p *m = &msg[i];
			u32 from = rng_below(&rng, 4) ? 0 : rng_below(&rng, cfg.nranks);
			u32 to = rng_below(&rng, 4) ? (from + 1) % cfg.nranks :
						       rng_below(&rng, cfg.nranks);

			if (to == from)
				to = (from + 1) % cfg.nranks;
			m->len = rng_below(&rng, 5) ? rng_below(&rng, cfg.par.eager_size + 1) :
				 rng_below(&rng, 5 * cfg.par.chunk_size);
			m->from = p2p_end(sim, from, to, true, m->len);
			m->to = p2p_end(sim, to, from, false, m->len);
			m->from->key = rng_next(&rng);
			m->to->key = m->from->key;
			m->from->call.coll = HCOMM_COLL_P2P;
			m->from->call.count = m->len;
			m->to->call = m->from->call;
			m->from->start = i * 50;
			m->to->start = reverse ? late + (n - i) * 500 :
						 rng_below(&rng, late + 1);
		}
		sim_go(sim);
		for (i = 0; i < n; i++) {
			struct p2p *m = &msg[i];

			if (!m->from->done || !m->to->done || m->from->status || m->to->status)
				sim_die(sim, "message %u did not end well", i);
			if (sim_mem_hash(&m->from->slots[0]->mem, 0, m->len) !=
			    sim_mem_hash(&m->to->slots[0]->mem, 0, m->len))
				sim_die(sim, "message %u of %llu bytes differs", i,
					(unsigned long long)m->len);
		}
		sim_free(sim);
	}
	return last - first + 1;
}

/* ------------------------------------------------------------ allocations */

/* Fail the n-th allocation, for every n; what succeeded before must go. */
u64 mode_alloc(u64 first, u64 last)
{
	u64 seed, sims = 0;

	for (seed = first; seed <= last; seed++) {
		bool all = false;
		long n;

		replay_as("alloc", seed);
		for (n = 0; !all; n++, sims++) {
			struct rand_job *job = NULL;
			struct sim_cfg cfg;
			struct sim *sim;

			rand_cfg(&cfg, seed);
			hcomm_user_alloc_budget = n;
			sim = sim_new(&cfg);
			if (sim)
				job = rand_job_new(sim, &cfg, 2, 20, 1);
			if (job) {
				all = true;
				sim_go(sim);
				if (rand_job_check(job, sim) != 2 * cfg.nranks)
					sim_die(sim, "not all programs ended well");
				rand_job_free(job);
			}
			hcomm_user_alloc_budget = -1;
			if (sim)
				sim_free(sim);
			if (n > 100000)
				sim_die(NULL, "it never has enough memory");
		}
	}
	return sims;
}
