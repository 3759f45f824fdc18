/* SPDX-License-Identifier: GPL-2.0-only */
/* Insides of the simulator, shared by events.c, fabric.c, rank.c and sim.c. */
#ifndef HCOMM_SIM_FABRIC_H
#define HCOMM_SIM_FABRIC_H

#include "sim.h"

enum sim_event_type {
	EV_POLL,	/* rank: its CPU looks at the inbox and runs the engine */
	EV_LAUNCH,	/* run */
	EV_TICK,	/* rank */
	EV_BYE,		/* rank */
	/* from here on: handled by the engine of end->rank, through its inbox */
	EV_LINK_UP,	/* end */
	EV_LINK_DOWN,	/* end, a: reason, b: error */
	EV_ARRIVE,	/* end, packet */
	EV_NOTIFY,	/* end, a: index of the grant */
	EV_WRITE_DONE,	/* end, a: cookie */
	EV_TX_SPACE,	/* end */
	/* the fabric's own */
	EV_LAND,	/* end (of the target), write */
	EV_BREAK,	/* end: the link to its peer breaks */
};

/* A write on its way. */
struct sim_write {
	struct hcomm_buf src;
	u64 src_hash;
	u64 addr;
	u32 len;
	u32 rkey;
	u32 imm;
	u32 cookie;
};

/* A message on its way or held by an engine: what release() gets. */
struct sim_packet {
	struct sim_end *to;
	struct sim_mem *ref;	/* RTS: reference */
	u64 src_hash;		/* RTS */
	struct hcomm_msg msg;	/* direct links; others: decoded on arrival */
	const u8 *payload;
	u32 len;		/* bytes in data */
	bool seen;		/* by the engine: it has to release it */
	u8 data[];
};

struct sim_event {
	u64 time;
	u64 seq;
	struct list_head node;	/* in an inbox */
	struct sim_end *end;
	struct sim_rank *rank;
	struct sim_run *run;
	struct sim_packet *packet;
	struct sim_write *write;
	u32 type;
	u32 a;
	u32 b;
};

/* A grant that the engine gave out. */
struct sim_grant {
	u64 run;
	u64 addr;
	u32 rkey;
	u32 len;
	u32 imm;
	bool active;
	bool written;
	struct hcomm_buf dst;
};

/* One rank's end of a link. */
struct sim_end {
	struct hcomm_elink el;
	struct sim_rank *rank;
	struct sim_end *peer;
	struct sim_end *next;	/* of the same rank */
	bool up;		/* the engine was told */
	bool down;		/* nothing is delivered or sent any more */
	bool dead_peer;		/* the other node is silent */
	bool blocked;		/* owes a tx_space */
	bool left;		/* closed in good order */
	u32 tx_busy;		/* messages and writes without completion */
	u32 rx_out;		/* towards this end: on their way or held */
	u64 rx_last;		/* latest arrival that is on its way to this end */
	u64 cut;		/* what would arrive later is lost */
	struct list_head early;	/* came before the link was up here */
	struct sim_grant *grants;
	struct sim_grant exposed;	/* by the last expose() */
	u32 ngrants;
};

struct sim_rank {
	struct hcomm_engine eng;
	struct sim *sim;
	u32 rank;
	struct sim_mem *staging;
	struct list_head inbox;
	struct list_head runs;
	struct sim_end *ends;
	u64 cpu_free;
	u64 cost;		/* CPU time used by the poll that is under way */
	u64 events;
	u32 active;		/* launches in flight */
	u32 todo;		/* launches that are not over */
	bool polling;
	bool poll_queued;
	bool tick_queued;
	bool dead;
	bool fault;		/* ops->fault() was called */
	bool torn;		/* links are closed and runs failed */
	bool bye_queued;
	bool bye;
	bool left;
};

struct sim {
	struct sim_cfg cfg;
	struct sim_rng rng;
	u64 now;
	u64 seq;
	struct sim_event **heap;
	u32 nheap;
	u32 heap_size;
	struct sim_event *free_events;
	struct sim_rank *ranks;
	struct net net;
	u32 nnodes;
	struct sim_end **ends;	/* hash table by (rank, peer) */
	u32 ends_mask;
	u32 nends;
	u64 progress_time;	/* of the last chunk that was done */
	u32 unfinished;		/* launches that are not over, living ranks */
	bool broken;		/* a rank died or a link broke */
	bool going;
	struct sim_stats stats;
};

/* events.c */
struct sim_event *event_new(struct sim *sim, u32 type, u64 time);
void event_push(struct sim *sim, struct sim_event *ev);
struct sim_event *event_pop(struct sim *sim);
void event_free(struct sim *sim, struct sim_event *ev);
void events_exit(struct sim *sim);

/* fabric.c */
extern const struct hcomm_link_ops sim_net_ops;
extern const struct hcomm_link_ops sim_direct_ops;
struct sim_end *fabric_find(struct sim *sim, u32 rank, u32 peer);
struct sim_end *fabric_connect(struct sim *sim, u32 rank, u32 peer);
void fabric_land(struct sim *sim, struct sim_event *ev);
void fabric_arrive(struct sim *sim, struct sim_event *ev);
void fabric_notify(struct sim *sim, struct sim_event *ev);
void fabric_drop(struct sim *sim, struct sim_event *ev);
void fabric_close(struct sim_end *end, u32 reason, int error, u64 delay);
void fabric_check_end(struct sim_end *end);
void fabric_check_run_over(struct sim_rank *r, u64 key);
void fabric_exit(struct sim *sim);
bool fabric_is_direct(const struct sim *sim, u32 a, u32 b);

/* rank.c */
extern const struct hcomm_engine_ops sim_engine_ops;
void rank_queue_poll(struct sim_rank *r, u64 time);
void rank_queue_launch(struct sim_run *sr, u64 time);
void rank_poll(struct sim_rank *r);
void rank_launch(struct sim_run *sr);
void rank_tick(struct sim_rank *r);
void rank_start_bye(struct sim_rank *r);
/* Leave, when there is nothing left to do. */
void rank_maybe_bye(struct sim_rank *r);
/* The end of what a silent node had in flight. */
void rank_bury(struct sim_rank *r);

static inline void sim_hash(struct sim *sim, u64 v)
{
	sim->stats.hash = rng_mix(sim->stats.hash ^ v) + sim->now;
}

/* Time on the clock of a rank's CPU, which runs ahead while it works. */
static inline u64 rank_now(const struct sim_rank *r)
{
	return r->sim->now + r->cost;
}

#endif /* HCOMM_SIM_FABRIC_H */
