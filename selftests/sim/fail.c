// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sets of small simulations in which something goes wrong: a rank dies or a link
 * breaks at each moment in turn, or ranks make different calls.  Every run of
 * every survivor must end soon, well or with an error that names the cause.
 */
#include <stdio.h>
#include "sim.h"

static void setup(struct sim_cfg *cfg, u64 seed)
{
	rand_cfg(cfg, seed);
	/* A link that is not up yet can't bring the news of who died. */
	cfg->linkup_skew = 0;
}

/* Random programs and collectives in turn. */
struct load {
	struct rand_job *rand;
	struct coll_job *coll;
};

static struct sim *load(struct load *l, const struct sim_cfg *cfg)
{
	struct sim_rng rng = { rng_mix(cfg->seed ^ 0xfa11) };
	struct sim *sim = sim_new(cfg);
	struct coll_spec spec;

	memset(l, 0, sizeof(*l));
	if (!sim)
		sim_die(NULL, "out of memory");
	if (cfg->seed & 1) {
		l->rand = rand_job_new(sim, cfg, rng_range(&rng, 1, 2), 30, 1);
	} else {
		coll_random_spec(&spec, &rng, cfg);
		l->coll = coll_job_new(sim, cfg, &spec);
	}
	return sim;
}

static void unload(struct load *l, struct sim *sim)
{
	if (l->rand)
		rand_job_free(l->rand);
	if (l->coll)
		coll_job_free(l->coll);
	sim_free(sim);
}

/* Virtual time within which everything must be over. */
static u64 bound(const struct sim_cfg *cfg, const struct sim_stats *sound)
{
	return 4 * sound->end + 10 * cfg->detect +
	       100 * (cfg->net.latency + cfg->local_latency + cfg->reorder + cfg->event_cost) +
	       4 * cfg->skew;
}

/* Every run of the survivors ended; with an error only if it names the cause. */
static void check(struct sim *sim, const struct sim_cfg *cfg, u32 reason, int error, u32 a, u32 b)
{
	u32 rank;

	for (rank = 0; rank < cfg->nranks; rank++) {
		const struct hcomm_fault *f = &sim_engine(sim, rank)->fault;
		struct sim_run *sr;

		if (sim_rank_dead(sim, rank))
			continue;
		if (f->error && (f->error != error || f->reason != reason ||
				 (f->rank != a && f->rank != b)))
			sim_die(sim, "rank %u blames rank %u: error %d reason %u reporter %u",
				rank, f->rank, f->error, f->reason, f->reporter);
		list_for_each_entry(sr, sim_runs(sim, rank), node) {
			if (sr->run->active)
				sim_die(sim, "rank %u has a run in flight", rank);
			if (sr->status && sr->status != -error)
				sim_die(sim, "rank %u: status %d", rank, sr->status);
		}
	}
}

static u64 sweep(u64 seed, u32 limit, bool death)
{
	struct sim_stats sound;
	struct sim_cfg cfg;
	struct load l;
	struct sim *sim;
	u64 *events, sims = 0, k, total = 0, stride;
	u32 rank;

	setup(&cfg, seed);
	snprintf(sim_replay, sizeof(sim_replay), "hcomm_sim --%s --seed %llu",
		 death ? "death" : "break", (unsigned long long)seed);
	events = calloc(cfg.nranks, sizeof(*events));
	if (!events)
		sim_die(NULL, "out of memory");
	sim = load(&l, &cfg);
	sim_go(sim);
	sound = *sim_stats(sim);
	for (rank = 0; rank < cfg.nranks; rank++) {
		events[rank] = sim_rank_events(sim, rank);
		total += events[rank];
	}
	unload(&l, sim);

	stride = limit && total > limit ? DIV_ROUND_UP(total, limit) : 1;
	cfg.max_time = bound(&cfg, &sound);
	for (rank = 0; rank < cfg.nranks; rank++)
		for (k = 1 + seed % stride; k <= events[rank]; k += stride, sims++) {
			u32 peer = (rank + 1 + k % (cfg.nranks - 1)) % cfg.nranks;

			snprintf(sim_replay, sizeof(sim_replay),
				 "hcomm_sim --%s --seed %llu (rank %u, event %llu)",
				 death ? "death" : "break", (unsigned long long)seed, rank,
				 (unsigned long long)k);
			if (death) {
				cfg.kill_rank = rank;
				cfg.kill_event = k;
				cfg.kill_process = (k / stride) & 1;
			} else {
				cfg.break_rank = rank;
				cfg.break_peer = peer;
				cfg.break_event = k;
			}
			sim = load(&l, &cfg);
			sim_go(sim);
			if (death)
				check(sim, &cfg, HCOMM_FAULT_PEER_DIED, EOWNERDEAD, rank, rank);
			else
				check(sim, &cfg, HCOMM_FAULT_LINK, ECONNRESET, rank, peer);
			if (l.rand)
				rand_job_check(l.rand, sim);
			unload(&l, sim);
		}
	free(events);
	return sims;
}

u64 mode_death(u64 first, u64 last, u32 limit)
{
	u64 seed, sims = 0;

	for (seed = first; seed <= last; seed++)
		sims += sweep(seed, limit, true);
	return sims;
}

u64 mode_break(u64 first, u64 last, u32 limit)
{
	u64 seed, sims = 0;

	for (seed = first; seed <= last; seed++)
		sims += sweep(seed, limit, false);
	return sims;
}

/* ---------------------------------------------------------------- mismatch */

static bool same_call(const struct hcomm_call *a, const struct hcomm_call *b)
{
	return !memcmp(a, b, sizeof(*a));
}

/* One rank makes another call than all others under the same key. */
static bool mismatch_one(u64 seed)
{
	struct sim_rng rng = { rng_mix(seed ^ 0x315) };
	struct hcomm_call calls[2];
	struct coll_spec spec[2];
	struct sim_cfg cfg;
	struct sim *sim;
	u64 key = rng_next(&rng);
	u32 odd, rank, told = 0;

	setup(&cfg, seed);
	cfg.expect_fault = true;
	do {
		coll_random_spec(&spec[0], &rng, &cfg);
	} while (spec[0].coll == HCOMM_COLL_P2P);
	do {
		coll_random_spec(&spec[1], &rng, &cfg);
		if (rng_below(&rng, 2)) {
			/* The same, but for one detail. */
			spec[1] = spec[0];
			switch (rng_below(&rng, 3)) {
			case 0:
				spec[1].count++;
				break;
			case 1:
				spec[1].redop ^= 1;
				break;
			default:
				spec[1].dtype = (spec[1].dtype + 1) % HCOMM_DT_COUNT;
			}
		}
		coll_call(&spec[0], &calls[0]);
		coll_call(&spec[1], &calls[1]);
	} while (same_call(&calls[0], &calls[1]) || spec[1].coll == HCOMM_COLL_P2P ||
		 !coll_valid(&spec[1], &cfg));
	odd = rng_below(&rng, cfg.nranks);
	cfg.max_time = 1000 * cfg.tick + 100 * (cfg.skew + cfg.reorder);
	sim = sim_new(&cfg);
	if (!sim)
		sim_die(NULL, "out of memory");
	for (rank = 0; rank < cfg.nranks; rank++)
		if (coll_add(sim, &cfg, &spec[rank == odd], rank, key))
			sim_die(sim, "out of memory");
	sim_go(sim);
	for (rank = 0; rank < cfg.nranks; rank++) {
		const struct hcomm_fault *f = &sim_engine(sim, rank)->fault;
		struct sim_run *sr;
		bool odd_reports;

		list_for_each_entry(sr, sim_runs(sim, rank), node)
			if (sr->status && sr->status != -EBADE && sr->status != -EPIPE)
				sim_die(sim, "rank %u: status %d", rank, sr->status);
		/* The others had nothing to do for their call, and have left. */
		if (!f->error || (f->reason == HCOMM_FAULT_PEER_LEFT && f->error == EPIPE))
			continue;
		told++;
		odd_reports = f->reporter == odd;
		if (f->reason != HCOMM_FAULT_MISMATCH || f->error != EBADE || f->run != key ||
		    !same_call(&f->mine, &calls[odd_reports]) ||
		    !same_call(&f->theirs, &calls[!odd_reports]) ||
		    (odd_reports ? f->rank == odd : f->rank != odd))
			sim_die(sim, "rank %u: error %d reason %u rank %u reporter %u, rank %u made the other call",
				rank, f->error, f->reason, f->rank, f->reporter, odd);
	}
	sim_free(sim);
	/* A rank that only sends little or nothing may never hear of it. */
	return told > 0;
}

u64 mode_mismatch(u64 first, u64 last)
{
	u64 seed, n = last - first + 1, noticed = 0;

	for (seed = first; seed <= last; seed++) {
		snprintf(sim_replay, sizeof(sim_replay), "hcomm_sim --mismatch --seed %llu",
			 (unsigned long long)seed);
		noticed += mismatch_one(seed);
	}
	if (n >= 20 && noticed < n * 3 / 4)
		sim_die(NULL, "only %llu of %llu mismatches were noticed",
			(unsigned long long)noticed, (unsigned long long)n);
	return n;
}
