// SPDX-License-Identifier: GPL-2.0-only
/*
 * A rank: the part that the module's communicator plays.  It has one CPU; what
 * arrives waits in its inbox until the CPU is free, is fed to the engine, and
 * the engine runs.  After a fault the links are closed once the ABORTs have
 * left, and only then are the runs failed.
 */
#include <stdio.h>
#include "fabric.h"

void rank_queue_poll(struct sim_rank *r, u64 time)
{
	struct sim_event *ev;

	if (r->poll_queued || r->dead)
		return;
	r->poll_queued = true;
	ev = event_new(r->sim, EV_POLL, max(time, r->cpu_free));
	ev->rank = r;
	event_push(r->sim, ev);
}

static struct sim_rank *rank_of(struct hcomm_engine *e)
{
	return container_of(e, struct sim_rank, eng);
}

void rank_queue_launch(struct sim_run *sr, u64 time)
{
	struct sim_event *ev = event_new(sr->rank->sim, EV_LAUNCH, time);

	ev->rank = sr->rank;
	ev->run = sr;
	event_push(sr->rank->sim, ev);
}

static void run_over(struct sim_run *sr, int status)
{
	struct sim_rank *r = sr->rank;
	struct sim *sim = r->sim;
	struct sim_run *other;

	sr->status = status;
	sr->done++;
	if (sr->launches)
		sr->launches--;
	sr->finished = rank_now(r);
	r->todo--;
	sim->unfinished--;
	sim->progress_time = sim->now;
	sim->stats.time = max(sim->stats.time, sr->finished);
	if (sr->launches && status) {
		/* The rest of its launches would end like this one. */
		r->todo -= sr->launches;
		sim->unfinished -= sr->launches;
		sr->launches = 0;
	}
	list_for_each_entry(other, &r->runs, node) {
		if (other->pending) {
			other->pending = false;
			rank_queue_launch(other, rank_now(r) + rng_below(&sim->rng, 1000));
		} else if (!sr->launches && other->after == sr) {
			rank_queue_launch(other, rank_now(r) +
						 rng_below(&sim->rng, sim->cfg.skew + 1));
		}
	}
}

static void sim_run_done(struct hcomm_engine *e, struct hcomm_run *run, int status)
{
	struct sim_rank *r = rank_of(e);
	struct sim *sim = r->sim;
	struct sim_run *sr = run->owner;
	const char *wrong;
	u32 i;

	if (!sr || sr->run != run || !r->active)
		sim_die(sim, "rank %u: a run is done that was not in flight", r->rank);
	if (run->active)
		sim_die(sim, "rank %u: a run is done and active", r->rank);
	if (status && status != -e->fault.error)
		sim_die(sim, "rank %u: status %d, fault %d", r->rank, status, e->fault.error);
	if (status && !r->torn)
		sim_die(sim, "rank %u: a run failed before the links were closed", r->rank);
	r->active--;
	sim_hash(sim, (u64)r->rank << 32 | (u32)status);
	if (sim->cfg.trace)
		printf("%12llu %u run %llx done: %d\n", (unsigned long long)rank_now(r),
		       r->rank, (unsigned long long)sr->key, status);
	if (!status) {
		fabric_check_run_over(r, sr->key);
		wrong = sr->check ? sr->check(sr) : NULL;
		if (wrong)
			sim_die(sim, "rank %u, run %llx: %s", r->rank,
				(unsigned long long)sr->key, wrong);
	}
	for (i = 0; i < sr->nslots; i++)
		if (!sim_mem_intact(sr->slots[i]))
			sim_die(sim, "rank %u: bytes outside slot %u changed", r->rank, i);
	run_over(sr, status);
	if (sr->launches) {
		sr->key = rng_mix(sr->key + 1);
		rank_queue_launch(sr, rank_now(r) + rng_below(&sim->rng, sim->cfg.skew + 1));
	}
}

static void sim_fault(struct hcomm_engine *e)
{
	struct sim_rank *r = rank_of(e);

	if (r->fault)
		sim_die(r->sim, "rank %u: two first faults", r->rank);
	if (!e->fault.error || !e->fault.reason)
		sim_die(r->sim, "rank %u: a fault without a reason", r->rank);
	if (!r->sim->broken && !r->sim->cfg.expect_fault)
		sim_die(r->sim, "rank %u: fault without a cause: error %d reason %u rank %u step %u",
			r->rank, e->fault.error, e->fault.reason, e->fault.rank,
			e->fault.step);
	r->fault = true;
	r->sim->progress_time = r->sim->now;
	sim_hash(r->sim, (u64)r->rank << 32 | e->fault.rank);
	if (r->sim->cfg.trace)
		printf("%12llu %u fault: error %d reason %u rank %u reporter %u step %u\n",
		       (unsigned long long)rank_now(r), r->rank, e->fault.error,
		       e->fault.reason, e->fault.rank, e->fault.reporter, e->fault.step);
}

static void sim_trace(struct hcomm_engine *e, struct hcomm_run *run, u32 step, u32 chunk,
		      enum hcomm_step_event ev)
{
	struct sim_rank *r = rank_of(e);

	sim_hash(r->sim, (u64)r->rank << 40 | (u64)step << 16 | chunk << 1 | ev);
	if (r->sim->cfg.trace)
		printf("%12llu %u run %llx step %u chunk %u %s\n",
		       (unsigned long long)rank_now(r), r->rank,
		       (unsigned long long)run->key, step, chunk,
		       ev == HCOMM_EV_DONE ? "done" : "issue");
	if (ev == HCOMM_EV_DONE)
		r->sim->progress_time = r->sim->now;
}

static void sim_account(struct hcomm_engine *e, enum hcomm_work work, u64 bytes)
{
	struct sim_rank *r = rank_of(e);
	const struct sim_cfg *cfg = &r->sim->cfg;
	u64 ns = bytes * 1000 / (work == HCOMM_WORK_COPY ? cfg->copy_rate : cfg->reduce_rate);

	r->cost += r->rank == cfg->slow_rank ? ns * cfg->slow_factor : ns;
}

const struct hcomm_engine_ops sim_engine_ops = {
	.run_done = sim_run_done,
	.fault = sim_fault,
	.trace = sim_trace,
	.account = sim_account,
};

static void drop_inbox(struct sim_rank *r)
{
	struct sim_event *ev;

	while ((ev = list_first_entry_or_null(&r->inbox, struct sim_event, node))) {
		list_del_init(&ev->node);
		fabric_drop(r->sim, ev);
	}
}

/* What was not launched yet never will be. */
static void forget_runs(struct sim_rank *r)
{
	struct sim_run *sr;

	list_for_each_entry(sr, &r->runs, node) {
		r->todo -= sr->launches;
		r->sim->unfinished -= sr->launches;
		sr->launches = 0;
	}
}

/* The node of a rank falls silent; others see it when their links time out. */
static void kill_node(struct sim_rank *r)
{
	struct sim *sim = r->sim;
	struct sim_end *end;

	forget_runs(r);
	drop_inbox(r);
	for (end = r->ends; end; end = end->next) {
		struct sim_end *peer = end->peer;
		struct sim_event *ev;

		end->down = true;
		if (peer->down)
			continue;
		peer->dead_peer = true;
		peer->cut = sim->now + rng_below(&sim->rng, 2 * sim->cfg.net.latency + 1);
		ev = event_new(sim, EV_LINK_DOWN, sim->now + 2 * sim->cfg.net.latency +
			       sim->cfg.detect + rng_below(&sim->rng, sim->cfg.detect + 1));
		ev->end = peer;
		ev->a = HCOMM_FAULT_PEER_DIED;
		ev->b = EOWNERDEAD;
		event_push(sim, ev);
	}
	r->dead = true;
}

/* A process ends; its kernel takes the communicator down and says why. */
static void kill_process(struct sim_rank *r)
{
	struct hcomm_fault f = {
		.error = EOWNERDEAD, .reason = HCOMM_FAULT_PEER_DIED,
		.rank = r->rank, .reporter = r->rank, .step = ~0u,
	};

	hcomm_engine_fault(&r->eng, &f);
}

static void break_link(struct sim *sim, u32 a, u32 b)
{
	struct sim_end *end = fabric_find(sim, a, b);
	int i;

	for (i = 0; end && i < 2; i++, end = end->peer) {
		struct sim_event *ev;

		if (end->down)
			continue;
		end->dead_peer = true;
		end->cut = sim->now;
		ev = event_new(sim, EV_LINK_DOWN,
			       sim->now + 1 + rng_below(&sim->rng, sim->cfg.detect + 1));
		ev->end = end;
		ev->a = HCOMM_FAULT_LINK;
		ev->b = ECONNRESET;
		event_push(sim, ev);
	}
}

/* One more event of a rank's engine; true if the rank is dead now. */
static bool count_event(struct sim_rank *r)
{
	struct sim *sim = r->sim;
	const struct sim_cfg *cfg = &sim->cfg;

	r->events++;
	if (r->rank == cfg->break_rank && r->events == cfg->break_event) {
		sim->broken = true;
		break_link(sim, cfg->break_rank, cfg->break_peer);
	}
	/* Whoever has left in good order may die unseen. */
	if (r->rank != cfg->kill_rank || r->events != cfg->kill_event || r->left)
		return false;
	sim->broken = true;
	if (cfg->trace)
		printf("%12llu %u dies\n", (unsigned long long)rank_now(r), r->rank);
	if (cfg->kill_process) {
		kill_process(r);
		return false;
	}
	kill_node(r);
	return true;
}

/* After a fault: when the news is out, close everything, then end the runs. */
static void tear_down(struct sim_rank *r)
{
	struct sim_end *end;

	if (r->torn || !hcomm_engine_aborts_sent(&r->eng))
		return;
	for (end = r->ends; end; end = end->next)
		fabric_close(end, HCOMM_FAULT_LINK, ECONNRESET, r->sim->cfg.net.latency);
	r->torn = true;
	hcomm_engine_fail_runs(&r->eng);
	if (r->active)
		sim_die(r->sim, "rank %u: %u runs survive fail_runs", r->rank, r->active);
	forget_runs(r);
}

static void leave(struct sim_rank *r)
{
	struct sim_end *end;

	if (r->left || !hcomm_engine_bye_done(&r->eng))
		return;
	r->left = true;
	for (end = r->ends; end; end = end->next)
		fabric_close(end, HCOMM_FAULT_PEER_LEFT, EPIPE, r->sim->cfg.net.latency);
}

static void handle(struct sim_rank *r, struct sim_event *ev)
{
	struct sim *sim = r->sim;
	struct sim_end *end = ev->end;
	struct sim_event *early;

	switch (ev->type) {
	case EV_ARRIVE:
		if (!end->up && !end->down) {
			list_add_tail(&ev->node, &end->early);
			return;
		}
		fabric_arrive(sim, ev);
		return;
	case EV_NOTIFY:
		fabric_notify(sim, ev);
		return;
	case EV_LINK_UP:
		if (end->down)
			break;
		end->up = true;
		hcomm_engine_link_up(&end->el);
		while ((early = list_first_entry_or_null(&end->early, struct sim_event,
							 node))) {
			list_del_init(&early->node);
			fabric_arrive(sim, early);
		}
		break;
	case EV_LINK_DOWN:
		if (end->down)
			break;
		end->down = true;
		hcomm_engine_link_down(&end->el, ev->a, (int)ev->b);
		break;
	case EV_WRITE_DONE:
		if (!end->down)
			hcomm_engine_write_done(&end->el, ev->a);
		break;
	case EV_TX_SPACE:
		end->blocked = false;
		if (!end->down)
			hcomm_engine_tx_space(&end->el);
		break;
	default:
		sim_die(sim, "event %u in an inbox", ev->type);
	}
	event_free(sim, ev);
}

void rank_poll(struct sim_rank *r)
{
	struct sim *sim = r->sim;
	u32 batch = sim->cfg.budget ? 64 : rng_range(&sim->rng, 1, 16);
	u32 budget = sim->cfg.budget ? sim->cfg.budget : rng_range(&sim->rng, 1, 32);
	struct sim_event *ev;
	bool more;

	r->poll_queued = false;
	if (r->dead) {
		drop_inbox(r);
		return;
	}
	r->cost = 0;
	while (batch-- &&
	       (ev = list_first_entry_or_null(&r->inbox, struct sim_event, node))) {
		if (count_event(r)) {
			drop_inbox(r);
			goto out;
		}
		list_del_init(&ev->node);
		handle(r, ev);
		r->cost += sim->cfg.event_cost;
	}
	if (count_event(r)) {
		drop_inbox(r);
		goto out;
	}
	/* A rank that has left has no links that its engine could use. */
	more = !r->left && hcomm_engine_run(&r->eng, budget);
	r->cost += sim->cfg.event_cost;
	if (r->fault)
		tear_down(r);
	else if (r->bye)
		leave(r);
	r->cpu_free = sim->now + r->cost;
	if (more || !list_empty(&r->inbox))
		rank_queue_poll(r, r->cpu_free);
out:
	r->cost = 0;
}

static void queue_tick(struct sim_rank *r)
{
	struct sim_event *ev;

	if (r->tick_queued)
		return;
	r->tick_queued = true;
	ev = event_new(r->sim, EV_TICK, r->sim->now + r->sim->cfg.tick);
	ev->rank = r;
	event_push(r->sim, ev);
}

void rank_launch(struct sim_run *sr)
{
	struct sim_rank *r = sr->rank;
	struct sim *sim = r->sim;
	struct hcomm_buf slots[HCOMM_MAX_SLOTS] = {};
	bool fault = r->fault;	/* a launch may find one, too */
	u32 i;
	int err;

	if (r->dead || !sr->launches)
		return;
	for (i = 0; i < sr->nslots; i++) {
		if (sr->slots[i]->mem.length < sr->prog->slots[i].extent)
			sim_die(sim, "slot %u of rank %u is too small", i, r->rank);
		slots[i].mem = &sr->slots[i]->mem;
	}
	err = hcomm_engine_launch(&r->eng, sr->run, sr->links, slots, sr->key, &sr->call);
	if (err == -EBUSY && r->active == sim->cfg.par.max_runs) {
		sr->pending = true;
		return;
	}
	if (err && r->fault && err == -r->eng.fault.error) {
		run_over(sr, err);
		return;
	}
	if (err || fault)
		sim_die(sim, "rank %u: launch: %d", r->rank, err);
	sr->launched = sim->now;
	r->active++;
	queue_tick(r);
	rank_queue_poll(r, sim->now);
}

void rank_tick(struct sim_rank *r)
{
	r->tick_queued = false;
	if (r->dead || !r->active)
		return;
	hcomm_engine_tick(&r->eng);
	queue_tick(r);
	rank_queue_poll(r, r->sim->now);
}

void rank_start_bye(struct sim_rank *r)
{
	if (r->dead || r->fault || r->bye)
		return;
	r->bye = true;
	hcomm_engine_bye(&r->eng);
	rank_queue_poll(r, r->sim->now);
}

void rank_maybe_bye(struct sim_rank *r)
{
	struct sim_event *ev;

	if (r->todo || r->active || r->bye || r->dead || r->fault || r->bye_queued)
		return;
	r->bye_queued = true;
	ev = event_new(r->sim, EV_BYE, rank_now(r) + rng_below(&r->sim->rng,
							       r->sim->cfg.skew + 1));
	ev->rank = r;
	event_push(r->sim, ev);
}

void rank_bury(struct sim_rank *r)
{
	struct hcomm_fault f = {
		.error = EOWNERDEAD, .reason = HCOMM_FAULT_PEER_DIED,
		.rank = r->rank, .reporter = r->rank, .step = ~0u,
	};

	struct sim_run *sr;

	/* The engine of a silent node ends too, for the sake of its memory. */
	list_for_each_entry(sr, &r->runs, node)
		sr->check = NULL;
	if (!r->fault)
		hcomm_engine_fault(&r->eng, &f);
	r->torn = true;
	hcomm_engine_fail_runs(&r->eng);
}
