// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sets of small simulations, each with parameters and programs from one seed:
 * random programs, death of a rank or a link at every moment, calls that do not
 * match, floods of early messages, failed allocations, replay.
 */
#include <stdio.h>
#include "sim.h"

static void replay_as(const char *mode, u64 seed)
{
	snprintf(sim_replay, sizeof(sim_replay), "hcomm_sim --%s --seed %llu", mode,
		 (unsigned long long)seed);
}

struct shape {
	u32 nruns;
	u32 max_ops;
	u32 launches;
};

static struct shape shape_of(u64 seed, u32 max_ops)
{
	struct sim_rng rng = { rng_mix(seed ^ 0x51a9e) };

	return (struct shape){
		.nruns = rng_range(&rng, 1, 5),
		.max_ops = max_ops,
		.launches = rng_below(&rng, 4) ? 1 : rng_range(&rng, 2, 3),
	};
}

static void random_one(u64 seed, u32 max_ops, struct sim_stats *stats)
{
	struct shape sh = shape_of(seed, max_ops);
	struct rand_job *job;
	struct sim_cfg cfg;
	struct sim *sim;
	u32 good;

	rand_cfg(&cfg, seed);
	sim = sim_new(&cfg);
	if (!sim)
		sim_die(NULL, "out of memory");
	job = rand_job_new(sim, &cfg, sh.nruns, sh.max_ops, sh.launches);
	if (!job)
		sim_die(sim, "out of memory");
	sim_go(sim);
	good = rand_job_check(job, sim);
	if (good != sh.nruns * cfg.nranks)
		sim_die(sim, "%u of %u programs ended well", good, sh.nruns * cfg.nranks);
	*stats = *sim_stats(sim);
	rand_job_free(job);
	sim_free(sim);
}

u64 mode_random(u64 first, u64 last, u32 max_ops, bool verbose)
{
	struct sim_stats s;
	u64 seed;

	for (seed = first; seed <= last; seed++) {
		replay_as("random", seed);
		random_one(seed, max_ops, &s);
		if (verbose)
			printf("# seed %llu: %llu ns, %llu events, %llu messages, %llu writes, %llu without room, hash %016llx\n",
			       (unsigned long long)seed, (unsigned long long)s.time,
			       (unsigned long long)s.events, (unsigned long long)s.messages,
			       (unsigned long long)s.writes, (unsigned long long)s.eagain,
			       (unsigned long long)s.hash);
	}
	return last - first + 1;
}

u64 mode_replay(u64 first, u64 last)
{
	struct sim_stats a, b;
	u64 seed, before = 0;

	for (seed = first; seed <= last; seed++) {
		replay_as("replay", seed);
		random_one(seed, 60, &a);
		random_one(seed, 60, &b);
		if (a.hash != b.hash || a.events != b.events || a.end != b.end)
			sim_die(NULL, "seed %llu: two replays differ", (unsigned long long)seed);
		if (a.hash == before)
			sim_die(NULL, "seeds %llu and %llu do the same",
				(unsigned long long)seed - 1, (unsigned long long)seed);
		before = a.hash;
	}
	return 2 * (last - first + 1);
}
