// SPDX-License-Identifier: GPL-2.0-only
/*
 * A simulation: its life, its loop over events, what must hold at its end, and
 * what is told when something does not.
 */
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>
#include "fabric.h"

/* Ticks without a completed chunk after which nothing is going to happen. */
#define STALL_TICKS 256

long hcomm_user_alloc_budget = -1;
char sim_replay[256];

/* ------------------------------------------------------------ failures */

static void dump(struct sim *sim)
{
	u32 i, shown = 0;

	for (i = 0; i < sim->cfg.nranks && shown < 32; i++) {
		struct sim_rank *r = &sim->ranks[i];
		struct sim_run *sr;

		if (r->dead || (!r->todo && !r->active))
			continue;
		list_for_each_entry(sr, &r->runs, node) {
			const struct hcomm_step *st;
			u32 step, rank;

			if (!sr->run->active) {
				if (sr->launches)
					fprintf(stderr, "# rank %u run %llx: not launched%s\n",
						i, (unsigned long long)sr->key,
						sr->pending ? " (no room)" : "");
				continue;
			}
			hcomm_run_blame(sr->run, &step, &rank);
			st = &sr->prog->steps[min(step, sr->prog->nsteps - 1)];
			fprintf(stderr,
				"# rank %u run %llx: step %u of %u, op %u msg %u len %llu peer %u: deps left %u avail %u issued %u done %u of %u\n",
				i, (unsigned long long)sr->key, step, sr->prog->nsteps,
				st->op, st->msg, (unsigned long long)st->len, rank,
				sr->run->st[step].deps_left, sr->run->st[step].avail,
				sr->run->st[step].issued, sr->run->st[step].done,
				sr->prog->aux[step].nchunks);
			shown++;
		}
	}
}

void sim_die(struct sim *sim, const char *fmt, ...)
{
	va_list ap;

	fflush(stdout);
	fprintf(stderr, "# ");
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fprintf(stderr, "\n# seed %llu at %llu ns; again: %s\n",
		(unsigned long long)(sim ? sim->cfg.seed : 0),
		(unsigned long long)(sim ? sim->now : 0), sim_replay);
	if (sim && sim->going)
		dump(sim);
	fflush(stderr);
	_exit(1);
}

/* ------------------------------------------------------------ life */

void sim_cfg_default(struct sim_cfg *cfg)
{
	*cfg = (struct sim_cfg){
		.seed = 1,
		.nranks = 4,
		.ranks_per_node = 1,
		.par = {
			.chunk_size = 256 << 10,
			.eager_size = 4 << 10,
			.eager_slots = 16,
			.window = 4,
			.max_runs = 8,
			.staging_slots = 16,
		},
		.net = {
			.kind = NET_FLAT,
			.taper = 2,
			.latency = 2000,
			.group_latency = 1000,
			.bandwidth = 12500,
			.slow_node = ~0u,
		},
		.local_latency = 300,
		.copy_rate = 10000,
		.reduce_rate = 8000,
		.event_cost = 100,
		.budget = 64,
		.slow_rank = ~0u,
		.slow_factor = 10,
		.kill_rank = ~0u,
		.break_rank = ~0u,
		.detect = 1000000,
		.tick = 100000000,
	};
}

void sim_cfg_real(struct sim_cfg *cfg)
{
	cfg->net.packet = NET_PACKET;
	cfg->eager_copy = true;
}

struct sim *sim_new(const struct sim_cfg *cfg)
{
	struct sim *sim = calloc(1, sizeof(*sim));
	u32 i;

	if (!sim)
		return NULL;
	sim->cfg = *cfg;
	sim->cfg.par.nranks = cfg->nranks;
	sim->rng.state = rng_mix(cfg->seed + 1);
	sim->nnodes = DIV_ROUND_UP(cfg->nranks, cfg->ranks_per_node);
	sim->cfg.net.slow_factor = cfg->slow_factor;
	sim->ranks = calloc(cfg->nranks, sizeof(*sim->ranks));
	if (!net_init(&sim->net, &sim->cfg.net, sim->nnodes) || !sim->ranks)
		goto fail;
	for (i = 0; i < cfg->nranks; i++) {
		struct sim_rank *r = &sim->ranks[i];
		struct hcomm_engine_params par = sim->cfg.par;

		INIT_LIST_HEAD(&r->inbox);
		INIT_LIST_HEAD(&r->runs);
		r->sim = sim;
		r->rank = i;
		par.rank = i;
		if (sim->nnodes > 1)
			r->staging = sim_mem_new(&sim->rng, (u64)par.staging_slots *
						 par.chunk_size, 1);
		if (hcomm_engine_init(&r->eng, &par, &sim_engine_ops,
				      r->staging ? &r->staging->mem : NULL)) {
			sim_mem_put(r->staging);
			r->sim = NULL;
			goto fail;
		}
	}
	return sim;
fail:
	sim_free(sim);
	return NULL;
}

int sim_add_run(struct sim *sim, u32 rank, struct hcomm_step *steps, u32 nsteps,
		u32 *deps, u32 ndeps, u32 nslots, struct sim_run **out)
{
	struct sim_rank *r = &sim->ranks[rank];
	struct hcomm_prog_params par = {
		.rank = rank, .nranks = sim->cfg.nranks,
		.chunk_size = sim->cfg.par.chunk_size,
		.eager_size = sim->cfg.par.eager_size,
	};
	struct hcomm_prog_reject why;
	struct sim_run *sr;
	struct sim_end *end;
	int err;
	u32 i;

	sr = calloc(1, sizeof(*sr));
	if (!sr) {
		hcomm_free(steps);
		hcomm_free(deps);
		return -ENOMEM;
	}
	INIT_LIST_HEAD(&sr->node);
	sr->rank = r;
	sr->nslots = nslots;
	sr->launches = 1;
	err = hcomm_prog_create(&sr->prog, &par, steps, nsteps, deps, ndeps, nslots, &why);
	if (err == -EINVAL)
		sim_die(sim, "rank %u: program refused: reason %u, step %u", rank,
			why.reason, why.step);
	if (err)
		goto fail;
	err = -ENOMEM;
	sr->run = hcomm_run_create(sr->prog);
	sr->links = calloc(sr->prog->npeers + 1, sizeof(*sr->links));
	if (!sr->run || !sr->links)
		goto fail;
	sr->run->owner = sr;
	for (i = 0; i < sr->prog->npeers; i++) {
		end = fabric_connect(sim, rank, sr->prog->peers[i].peer);
		if (!end)
			goto fail;
		sr->links[i] = &end->el;
	}
	list_add_tail(&sr->node, &r->runs);
	*out = sr;
	return 0;
fail:
	hcomm_run_free(sr->run);
	hcomm_prog_free(sr->prog);
	free(sr->links);
	free(sr);
	return err;
}

static void dispatch(struct sim *sim, struct sim_event *ev)
{
	struct sim_rank *r = ev->end ? ev->end->rank : ev->rank;

	switch (ev->type) {
	case EV_POLL:
		event_free(sim, ev);
		rank_poll(r);
		break;
	case EV_LAUNCH:
		rank_launch(ev->run);
		event_free(sim, ev);
		break;
	case EV_TICK:
		event_free(sim, ev);
		rank_tick(r);
		break;
	case EV_BYE:
		event_free(sim, ev);
		rank_start_bye(r);
		break;
	case EV_LAND:
		fabric_land(sim, ev);
		break;
	default:
		if (ev->type == EV_ARRIVE)
			ev->end->peer->tx_busy--;
		if (r->dead) {
			fabric_drop(sim, ev);
			break;
		}
		list_add_tail(&ev->node, &r->inbox);
		rank_queue_poll(r, sim->now);
		break;
	}
	if (!r->dead)
		rank_maybe_bye(r);
}

static void start(struct sim *sim)
{
	struct sim_run *sr;
	struct sim_end *end;
	u32 i;

	for (i = 0; i < sim->cfg.nranks; i++) {
		struct sim_rank *r = &sim->ranks[i];

		for (end = r->ends; end; end = end->next) {
			struct sim_event *ev;

			if (!sim->cfg.linkup_skew) {
				end->up = true;
				hcomm_engine_link_up(&end->el);
				continue;
			}
			ev = event_new(sim, EV_LINK_UP,
				       rng_below(&sim->rng, sim->cfg.linkup_skew + 1));
			ev->end = end;
			event_push(sim, ev);
		}
		list_for_each_entry(sr, &r->runs, node) {
			r->todo += sr->launches;
			sim->unfinished += sr->launches;
			if (!sr->after)
				rank_queue_launch(sr, sr->start);
		}
		rank_maybe_bye(r);
	}
}

/* What must hold at the end of a simulation in which nothing broke. */
static void check_sound(struct sim *sim)
{
	u32 i;

	for (i = 0; i < sim->cfg.nranks; i++) {
		struct sim_rank *r = &sim->ranks[i];
		struct sim_end *end;

		for (end = r->ends; end; end = end->next)
			fabric_check_end(end);
		if (r->eng.nruns || r->eng.stage_runs || r->eng.narrivals)
			sim_die(sim, "rank %u: %u runs, %u with staging, %u arrivals left",
				i, r->eng.nruns, r->eng.stage_runs, r->eng.narrivals);
		if (r->staging && r->eng.stage_nfree != sim->cfg.par.staging_slots)
			sim_die(sim, "rank %u: %u of %u staging slots are free", i,
				r->eng.stage_nfree, sim->cfg.par.staging_slots);
		if (r->staging && !sim_mem_intact(r->staging))
			sim_die(sim, "rank %u: bytes outside staging memory changed", i);
	}
}

void sim_go(struct sim *sim)
{
	struct sim_event *ev;
	bool faults = false;
	u32 i;

	hcomm_user_alloc_budget = 0;	/* from here on the engine has what it needs */
	sim->going = true;
	start(sim);
	while ((ev = event_pop(sim))) {
		sim->now = ev->time;
		sim->stats.events++;
		dispatch(sim, ev);
		if (sim->unfinished &&
		    sim->now - sim->progress_time > STALL_TICKS * sim->cfg.tick)
			sim_die(sim, "nothing moves any more: deadlock");
		if (sim->cfg.max_time && sim->now > sim->cfg.max_time && sim->unfinished)
			sim_die(sim, "not done after %llu ns",
				(unsigned long long)sim->cfg.max_time);
	}
	sim->stats.end = sim->now;
	if (sim->unfinished)
		sim_die(sim, "nothing is left to happen: deadlock");
	for (i = 0; i < sim->cfg.nranks; i++) {
		struct sim_rank *r = &sim->ranks[i];

		faults |= r->fault || r->dead;
		if (!r->dead && !r->left && !r->torn)
			sim_die(sim, "rank %u can't leave", i);
	}
	if (!faults && !sim->cfg.expect_fault)
		check_sound(sim);
	sim->going = false;
	hcomm_user_alloc_budget = -1;
}

void sim_free(struct sim *sim)
{
	struct sim_run *sr, *next;
	struct sim_end *end;
	struct sim_event *ev;
	u32 i, k;

	for (i = 0; sim->ranks && i < sim->cfg.nranks; i++) {
		struct sim_rank *r = &sim->ranks[i];

		if (!r->sim)
			continue;
		if (r->dead && r->active) {
			r->todo = r->active;
			sim->unfinished += r->active;
			rank_bury(r);
		}
		for (end = r->ends; end; end = end->next)
			while ((ev = list_first_entry_or_null(&end->early,
							      struct sim_event, node))) {
				list_del_init(&ev->node);
				fabric_drop(sim, ev);
			}
	}
	fabric_exit(sim);
	for (i = 0; sim->ranks && i < sim->cfg.nranks; i++) {
		struct sim_rank *r = &sim->ranks[i];

		if (!r->sim)
			continue;
		list_for_each_entry_safe(sr, next, &r->runs, node) {
			list_del_init(&sr->node);
			hcomm_run_free(sr->run);
			hcomm_prog_free(sr->prog);
			for (k = 0; k < sr->nslots; k++)
				sim_mem_put(sr->slots[k]);
			free(sr->links);
			free(sr);
		}
		hcomm_engine_exit(&r->eng);
		sim_mem_put(r->staging);
	}
	events_exit(sim);
	free(sim->ranks);
	net_exit(&sim->net);
	free(sim);
}

const struct sim_stats *sim_stats(const struct sim *sim)
{
	return &sim->stats;
}

struct hcomm_engine *sim_engine(struct sim *sim, u32 rank)
{
	return &sim->ranks[rank].eng;
}

struct list_head *sim_runs(struct sim *sim, u32 rank)
{
	return &sim->ranks[rank].runs;
}

bool sim_rank_dead(struct sim *sim, u32 rank)
{
	return sim->ranks[rank].dead;
}

u64 sim_rank_events(struct sim *sim, u32 rank)
{
	return sim->ranks[rank].events;
}

struct sim_rng *sim_rng(struct sim *sim)
{
	return &sim->rng;
}

bool sim_connected(struct sim *sim, u32 a, u32 b)
{
	u8 *seen = calloc(sim->cfg.nranks, 1);
	u32 *todo = calloc(sim->cfg.nranks, sizeof(u32));
	u32 n = 0;
	bool found;

	if (!seen || !todo)
		sim_die(sim, "out of memory");
	todo[n++] = a;
	seen[a] = 1;
	while (n) {
		struct sim_end *end = sim->ranks[todo[--n]].ends;

		for (; end; end = end->next) {
			if (seen[end->el.peer])
				continue;
			seen[end->el.peer] = 1;
			todo[n++] = end->el.peer;
		}
	}
	found = seen[b];
	free(seen);
	free(todo);
	return found;
}
