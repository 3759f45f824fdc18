// SPDX-License-Identifier: GPL-2.0-only
/*
 * Engines, runs and faults: what begins and ends, and the loop that decides
 * what is done next.  See engine.h for the design.
 */
#include "engine_priv.h"

int hcomm_engine_init(struct hcomm_engine *e, const struct hcomm_engine_params *par,
		      const struct hcomm_engine_ops *ops, struct hcomm_mem *staging)
{
	u32 i;

	memset(e, 0, sizeof(*e));
	e->par = *par;
	e->ops = ops;
	e->staging = staging;
	INIT_LIST_HEAD(&e->runs);
	INIT_LIST_HEAD(&e->finished);
	INIT_LIST_HEAD(&e->links);
	INIT_LIST_HEAD(&e->pump);
	e->stage_free = hcomm_zalloc_array(par->staging_slots, sizeof(u32));
	if (!e->stage_free)
		return -ENOMEM;
	for (i = 0; i < par->staging_slots; i++)
		e->stage_free[i] = par->staging_slots - 1 - i;
	e->stage_nfree = par->staging_slots;
	return 0;
}

void hcomm_engine_exit(struct hcomm_engine *e)
{
	WARN_ON_ONCE(!list_empty(&e->runs) || !list_empty(&e->finished) ||
		     !list_empty(&e->links));
	hcomm_free(e->stage_free);
	e->stage_free = NULL;
}

/* ---------------------------------------------------------------------- runs */

struct hcomm_run *hcomm_run_create(const struct hcomm_prog *prog)
{
	struct hcomm_run *run = hcomm_zalloc_array(1, sizeof(*run));

	if (!run)
		return NULL;
	run->prog = prog;
	INIT_LIST_HEAD(&run->node);
	run->st = hcomm_zalloc_array(prog->nsteps, sizeof(*run->st));
	run->peers = hcomm_zalloc_array(prog->npeers + 1, sizeof(*run->peers));
	if (!run->st || !run->peers) {
		hcomm_run_free(run);
		return NULL;
	}
	return run;
}

void hcomm_run_free(struct hcomm_run *run)
{
	if (!run)
		return;
	WARN_ON_ONCE(run->active);
	hcomm_free(run->peers);
	hcomm_free(run->st);
	hcomm_free(run);
}

struct hcomm_run *hcomm_engine_find_run(struct hcomm_engine *e, u64 key)
{
	struct hcomm_run *run;

	list_for_each_entry(run, &e->runs, node)
		if (run->key == key)
			return run;
	return NULL;
}

static void run_reset(struct hcomm_run *run, struct hcomm_elink **links)
{
	const struct hcomm_prog *prog = run->prog;
	u32 i;

	run->steps_left = prog->nsteps;
	run->ready_head = HCOMM_NONE;
	run->ready_tail = HCOMM_NONE;
	run->stage_used = 0;
	run->progress = 0;
	run->progress_seen = 0;
	run->oldest = 0;
	for (i = 0; i < prog->npeers; i++) {
		run->peers[i] = (struct hcomm_run_peer){
			.link = links[i],
			.left = prog->peers[i].send_count + prog->peers[i].recv_count,
		};
	}
	run->stage_step = hcomm_stage_skip(run, prog->stage_first);
	for (i = 0; i < prog->nsteps; i++)
		run->st[i] = (struct hcomm_step_state){
			.deps_left = prog->aux[i].full_deps,
			.ready_next = HCOMM_NONE,
		};
}

int hcomm_engine_launch(struct hcomm_engine *e, struct hcomm_run *run,
			struct hcomm_elink **links, const struct hcomm_buf *slots,
			u64 key, const struct hcomm_call *call)
{
	const struct hcomm_prog *prog = run->prog;
	u32 i;

	if (e->fault.error)
		return -e->fault.error;
	if (e->nruns >= e->par.max_runs)
		return -EBUSY;
	if (hcomm_engine_find_run(e, key) || hcomm_history_find(e, key))
		return -EEXIST;

	run->engine = e;
	run->key = key;
	run->call = *call;
	for (i = 0; i < prog->nslots; i++)
		run->slots[i] = slots[i];
	run_reset(run, links);
	run->active = true;
	list_add_tail(&run->node, &e->runs);
	e->nruns++;

	hcomm_history_add(e, key, call);

	/* First: that a peer made another call says more than that it left since. */
	hcomm_rx_recheck(e, run);
	for (i = 0; i < prog->nsteps; i++)
		if (!prog->aux[i].full_deps && !prog->aux[i].stream_deps) {
			run->st[i].avail = prog->aux[i].nchunks;
			hcomm_step_kick(run, i);
		}
	return 0;
}

void hcomm_run_blame(struct hcomm_run *run, u32 *step, u32 *rank)
{
	const struct hcomm_prog *prog = run->prog;

	*rank = run->engine->par.rank;
	while (run->oldest < prog->nsteps &&
	       run->st[run->oldest].done == prog->aux[run->oldest].nchunks)
		run->oldest++;
	if (run->oldest == prog->nsteps) {
		*step = HCOMM_NONE;
		return;
	}
	*step = run->oldest;
	if (prog->aux[run->oldest].peer_idx != HCOMM_NONE)
		*rank = prog->steps[run->oldest].peer;
}

/* -------------------------------------------------------------------- faults */

void hcomm_engine_fault(struct hcomm_engine *e, const struct hcomm_fault *fault)
{
	struct hcomm_elink *l;

	if (e->fault.error)
		return;
	e->fault = *fault;
	list_for_each_entry(l, &e->links, node) {
		if (l->left)
			continue;
		l->abort_pending = true;
		hcomm_link_pump_later(l);
	}
	e->ops->fault(e);
}

void hcomm_engine_fault_here(struct hcomm_engine *e, u32 reason, int error, u32 rank,
			     const struct hcomm_run *run, u32 step)
{
	struct hcomm_fault f = {
		.error = error,
		.reason = reason,
		.rank = rank,
		.reporter = e->par.rank,
		.step = step,
		.run = run ? run->key : 0,
	};

	hcomm_engine_fault(e, &f);
}

void hcomm_engine_fault_mismatch(struct hcomm_engine *e, u32 rank, u64 key,
				 const struct hcomm_call *mine,
				 const struct hcomm_call *theirs)
{
	struct hcomm_fault f = {
		.error = EBADE,
		.reason = HCOMM_FAULT_MISMATCH,
		.rank = rank,
		.reporter = e->par.rank,
		.step = HCOMM_NONE,
		.run = key,
		.mine = *mine,
		.theirs = *theirs,
	};

	hcomm_engine_fault(e, &f);
}

void hcomm_engine_link_down(struct hcomm_elink *l, u32 reason, int error)
{
	struct hcomm_engine *e = l->engine;
	struct hcomm_run *run, *hit = NULL;
	u32 step = HCOMM_NONE, rank;

	l->up = false;
	l->abort_pending = false;
	if (l->left || e->fault.error || (l->bye_sent && !e->nruns))
		return;
	list_for_each_entry(run, &e->runs, node) {
		u32 p = hcomm_prog_find_peer(run->prog, l->peer);

		if (p != HCOMM_NONE && run->peers[p].left) {
			hit = run;
			hcomm_run_blame(run, &step, &rank);
			break;
		}
	}
	hcomm_engine_fault_here(e, reason, error, l->peer, hit, step);
}

void hcomm_engine_fail_runs(struct hcomm_engine *e)
{
	int status = -e->fault.error;
	struct hcomm_run *run, *next;
	struct hcomm_elink *l;
	u32 i;

	if (WARN_ON_ONCE(!status))
		return;
	list_for_each_entry(l, &e->links, node) {
		u32 n = e->par.window * e->par.max_runs;

		l->up = false;
		for (i = 0; i < n; i++) {
			l->grants[i].run = NULL;
			l->writes[i].run = NULL;
		}
		l->writes_active = 0;
	}
	for (i = 0; i < e->par.staging_slots; i++)
		e->stage_free[i] = e->par.staging_slots - 1 - i;
	e->stage_nfree = e->par.staging_slots;
	e->stage_runs = 0;

	list_for_each_entry_safe(run, next, &e->runs, node) {
		list_move_tail(&run->node, &e->finished);
	}
	while ((run = list_first_entry_or_null(&e->finished, struct hcomm_run, node))) {
		bool complete = !run->steps_left;

		list_del_init(&run->node);
		run->active = false;
		e->nruns--;
		e->ops->run_done(e, run, complete ? 0 : status);
	}
}

bool hcomm_engine_aborts_sent(const struct hcomm_engine *e)
{
	const struct hcomm_elink *l;

	list_for_each_entry(l, &e->links, node)
		if (l->up && l->abort_pending)
			return false;
	return true;
}

/* ------------------------------------------------------------------- leaving */

void hcomm_engine_bye(struct hcomm_engine *e)
{
	struct hcomm_elink *l;

	if (e->fault.error)
		return;
	list_for_each_entry(l, &e->links, node) {
		if (!l->up || l->bye_sent)
			continue;
		l->bye_pending = true;
		hcomm_link_pump_later(l);
	}
}

bool hcomm_engine_bye_done(const struct hcomm_engine *e)
{
	const struct hcomm_elink *l;

	if (e->fault.error)
		return true;
	list_for_each_entry(l, &e->links, node)
		if (l->up && (!l->bye_ack || l->bye_ack_pending) &&
		    !(l->left && !l->bye_ack_pending))
			return false;
	return true;
}

/* ------------------------------------------------------------------- the loop */

/* A run that has not moved since the last tick tells whom it waits for. */
static void tell_if_still(struct hcomm_run *run)
{
	u32 p;

	if (run->progress_seen != run->progress) {
		run->progress_seen = run->progress;
		return;
	}
	for (p = 0; p < run->prog->npeers; p++) {
		struct hcomm_elink *l = run->peers[p].link;

		if (!run->peers[p].left || !l->up || l->tell_out || l->tell_pending)
			continue;
		l->tell_pending = true;
		l->tell_run = run->key;
		l->tell_call = run->call;
		hcomm_link_pump_later(l);
	}
}

void hcomm_engine_tick(struct hcomm_engine *e)
{
	struct hcomm_run *run;
	u32 i, skip;

	if (e->fault.error || !e->nruns)
		return;
	/* A link tells of one run at a time: begin with another run each time. */
	skip = e->ticks++ % e->nruns;
	i = 0;
	list_for_each_entry(run, &e->runs, node)
		if (i++ >= skip)
			tell_if_still(run);
	i = 0;
	list_for_each_entry(run, &e->runs, node)
		if (i++ < skip)
			tell_if_still(run);
}

static void finish_runs(struct hcomm_engine *e)
{
	struct hcomm_run *run;

	while ((run = list_first_entry_or_null(&e->finished, struct hcomm_run, node))) {
		list_del_init(&run->node);
		run->active = false;
		e->nruns--;
		e->ops->run_done(e, run, 0);
	}
}

static struct hcomm_run *next_ready(struct hcomm_engine *e)
{
	struct hcomm_run *run;

	list_for_each_entry(run, &e->runs, node)
		if (run->ready_head != HCOMM_NONE)
			return run;
	return NULL;
}

bool hcomm_engine_run(struct hcomm_engine *e, u32 budget)
{
	for (;;) {
		struct hcomm_elink *l;
		struct hcomm_run *run;

		/* What is over is over, even if a fault came right after it. */
		finish_runs(e);
		l = list_first_entry_or_null(&e->pump, struct hcomm_elink, pump);
		run = l || e->fault.error ? NULL : next_ready(e);
		if (!l && !run)
			return false;
		if (!budget--)
			return true;
		/* The network first: peers wait for it. */
		if (l) {
			list_del_init(&l->pump);
			hcomm_link_pump(l);
		} else {
			hcomm_step_exec(run);
		}
	}
}
