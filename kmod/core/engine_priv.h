/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the files of the engine share: engine.c (runs, faults, the loop),
 * step.c (progress of steps, local work, receiving), link.c (sending,
 * granting) and rx.c (what arrives).
 */
#ifndef HCOMM_CORE_ENGINE_PRIV_H
#define HCOMM_CORE_ENGINE_PRIV_H

#include "engine.h"
#include "reduce.h"

#define HCOMM_NONE U32_MAX

static inline const struct hcomm_step *hcomm_run_step(const struct hcomm_run *run, u32 s)
{
	return &run->prog->steps[s];
}

static inline u32 hcomm_chunk_len(const struct hcomm_engine *e,
				  const struct hcomm_step *step, u32 nchunks, u32 chunk)
{
	if (chunk + 1 < nchunks)
		return e->par.chunk_size;
	return (u32)(step->len - (u64)chunk * e->par.chunk_size);
}

static inline struct hcomm_buf hcomm_run_src(const struct hcomm_run *run,
					     const struct hcomm_step *step, u32 chunk)
{
	struct hcomm_buf buf = run->slots[step->src_slot];

	buf.off += step->src_off + (u64)chunk * run->engine->par.chunk_size;
	return buf;
}

static inline struct hcomm_buf hcomm_run_dst(const struct hcomm_run *run,
					     const struct hcomm_step *step, u32 chunk)
{
	struct hcomm_buf buf = run->slots[step->dst_slot];

	buf.off += step->dst_off + (u64)chunk * run->engine->par.chunk_size;
	return buf;
}

/* A message of this length is one EAGER. */
static inline bool hcomm_is_eager(const struct hcomm_engine *e, u64 len)
{
	return len <= e->par.eager_size;
}

/* Credits that go back even if nothing else does. */
static inline bool hcomm_credits_due(const struct hcomm_elink *l)
{
	return l->credits_owed && l->credits_owed * 2 >= l->engine->par.eager_slots;
}

/* Chunks of a step from the first that is not complete: what done_mask holds. */
#define HCOMM_CHUNK_SPREAD	64u

/*
 * The next chunk would be too far from the first that is not complete.  One may
 * be late, and any number of others pass it.
 */
static inline bool hcomm_step_spread(const struct hcomm_step_state *st)
{
	return st->issued - st->done >= HCOMM_CHUNK_SPREAD;
}

/* history.c */
void hcomm_history_add(struct hcomm_engine *e, u64 key, const struct hcomm_call *call);
const struct hcomm_call *hcomm_history_find(struct hcomm_engine *e, u64 key);

/* engine.c */
struct hcomm_run *hcomm_engine_find_run(struct hcomm_engine *e, u64 key);
void hcomm_engine_fault_here(struct hcomm_engine *e, u32 reason, int error, u32 rank,
			     const struct hcomm_run *run, u32 step);
void hcomm_engine_fault_mismatch(struct hcomm_engine *e, u32 rank, u64 key,
				 const struct hcomm_call *mine,
				 const struct hcomm_call *theirs);

/* step.c */
void hcomm_step_kick(struct hcomm_run *run, u32 s);
void hcomm_step_ready(struct hcomm_run *run, u32 s);
bool hcomm_step_chunk_open(const struct hcomm_run *run, u32 s, u32 chunk);
void hcomm_step_chunk_done(struct hcomm_run *run, u32 s, u32 chunk);
void hcomm_step_exec(struct hcomm_run *run);
u32 hcomm_step_starved(const struct hcomm_run *run, u32 p);
void hcomm_stage_put(struct hcomm_run *run, u32 slot);
u32 hcomm_stage_get(struct hcomm_run *run);
u32 hcomm_stage_skip(const struct hcomm_run *run, u32 s);
void hcomm_stage_pump(struct hcomm_engine *e);
void hcomm_trace(struct hcomm_run *run, u32 s, u32 chunk, enum hcomm_step_event ev);
void hcomm_account(struct hcomm_engine *e, enum hcomm_work work, u64 bytes);

/* link.c */
void hcomm_link_pump_later(struct hcomm_elink *l);
void hcomm_link_pump(struct hcomm_elink *l);

/* rx.c */
void hcomm_arrival_drop(struct hcomm_elink *l, struct hcomm_arrival *a);
void hcomm_arrival_release(struct hcomm_elink *l, struct hcomm_arrival *a);
void hcomm_rx_wake_reqs(struct hcomm_elink *l, struct hcomm_run *run);
void hcomm_rx_recheck(struct hcomm_engine *e, struct hcomm_run *run);
void hcomm_rx_left(struct hcomm_elink *l);

#endif /* HCOMM_CORE_ENGINE_PRIV_H */
