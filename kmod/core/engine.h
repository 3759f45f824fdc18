/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The engine of one rank of one communicator: runs verified programs over
 * links.  It knows no OS: whoever embeds it (the module, the simulator)
 * serialises all calls with one lock, feeds it what arrives, calls
 * hcomm_engine_run() after it fed anything, and gets news back through
 * hcomm_engine_ops.  Functions here never sleep and never call a
 * transport function from within which the engine is called back.
 *
 * Flow of a message, by size and link:
 *  - up to eager_size: EAGER under a credit, into one of the peer's eager
 *    slots, where it may wait for its RECV.  Without a credit: REQ, then CTS
 *    when the RECV is ready, then EAGER, which is consumed at once.
 *  - larger, link with direct access: RTS per chunk; the receiver copies or
 *    reduces straight from the sender's memory and answers FIN.
 *  - larger, other links: GRANT per chunk as soon as its destination is free
 *    (RECV_REDUCE: staging memory), write, notify.
 *
 * Why it can't deadlock.  Dependencies point to lower steps, so the lowest
 * unfinished step of a rank is always ready.  SENDs to a peer leave in step
 * order, GRANTs on a link and staging slots are given in step order, each run
 * has a reserved staging slot and its own window on every link, and a REQ needs
 * no slot.  So whatever is held back waits for a lower step, never for a higher
 * one.  Programs finish here if there is one order of the steps of all ranks in
 * which each rank's steps come in their order, each RECV after its SEND, and what
 * depends on a SEND after the RECV: a SEND may wait for its RECV to be ready.
 *
 * Why queues have fixed sizes.  Towards one engine there can be in flight on
 * one link at most: eager_slots EAGER under credit, and per run one EAGER under
 * CTS, one REQ, one CTS, window GRANTs or RTSs, and window notifications or
 * FINs; besides three CREDITs, one TELL, one TOLD, one ABORT, one BYE and one
 * BYE_ACK.  hcomm_link_max_rx() is that sum; a transport that posts so many
 * receives before the link is up never needs flow control.
 *
 * Why a mismatch can't hang.  The call travels with EAGER, REQ, GRANT and RTS.
 * What comes for a run that is over can't be for it.  Two ranks that both wait for
 * the other send none of these; then a run that makes no progress between two ticks
 * TELLs its call on the links it waits for, and the peer compares it with the run of
 * that key that it has or had.  If that one is over the answer says so, and what the
 * run waits for won't come.
 */
#ifndef HCOMM_CORE_ENGINE_H
#define HCOMM_CORE_ENGINE_H

#include "platform.h"
#include "mem.h"
#include "prog.h"
#include "wire.h"

struct hcomm_engine;
struct hcomm_elink;
struct hcomm_run;

/**
 * struct hcomm_engine_params - options of an engine
 * @rank: this rank
 * @nranks: number of ranks
 * @chunk_size: bytes of a chunk
 * @eager_size: largest eager message
 * @eager_slots: unexpected eager messages per link
 * @window: chunks in flight per run and link and direction
 * @max_runs: concurrent runs
 * @staging_slots: chunks of staging memory, at least max_runs
 */
struct hcomm_engine_params {
	u32 rank;
	u32 nranks;
	u32 chunk_size;
	u32 eager_size;
	u32 eager_slots;
	u32 window;
	u32 max_runs;
	u32 staging_slots;
};

/**
 * hcomm_link_max_rx - how much can be on its way to one end of a link
 * @par: options
 *
 * Return: messages and notifications.
 */
static inline u32 hcomm_link_max_rx(const struct hcomm_engine_params *par)
{
	return par->eager_slots + par->max_runs * (3 + 2 * par->window) + 8;
}

/* Runs whose call is remembered after they are over: fewer than a u8 can number. */
#define HCOMM_HISTORY		64u

/**
 * struct hcomm_past - a launch of the past
 * @run: its key
 * @call: its fingerprint
 * @next: number of the next one of its bucket, 0: none
 */
struct hcomm_past {
	u64 run;
	struct hcomm_call call;
	u8 next;
};

/**
 * struct hcomm_history - the last launches
 * @past: ring of them, numbered from 1
 * @bucket: the first one by key, 0: none
 * @launches: how many there were
 */
struct hcomm_history {
	struct hcomm_past past[HCOMM_HISTORY];
	u8 bucket[HCOMM_HISTORY];
	u64 launches;
};

/**
 * enum hcomm_step_event - what trace() tells
 * @HCOMM_EV_ISSUE: a chunk was granted, announced, sent or begun
 * @HCOMM_EV_DONE: a chunk is complete
 */
enum hcomm_step_event {
	HCOMM_EV_ISSUE,
	HCOMM_EV_DONE,
};

/**
 * enum hcomm_work - CPU work, for account()
 * @HCOMM_WORK_COPY: bytes copied
 * @HCOMM_WORK_REDUCE: bytes reduced or scaled
 */
enum hcomm_work {
	HCOMM_WORK_COPY,
	HCOMM_WORK_REDUCE,
};

/**
 * struct hcomm_engine_ops - news from the engine to whoever embeds it
 * @run_done: a run is over; status 0 or negative errno (then e->fault says
 *	why).  The run may be launched again or freed from here on.
 * @fault: the first fault was recorded in e->fault; ABORT messages are on
 *	their way.  Tear the links down, then call hcomm_engine_fail_runs().
 *	Called once.
 * @trace: optional; a chunk of a step moved on
 * @account: optional; CPU work that was just done
 */
struct hcomm_engine_ops {
	void (*run_done)(struct hcomm_engine *e, struct hcomm_run *run, int status);
	void (*fault)(struct hcomm_engine *e);
	void (*trace)(struct hcomm_engine *e, struct hcomm_run *run, u32 step,
		      u32 chunk, enum hcomm_step_event ev);
	void (*account)(struct hcomm_engine *e, enum hcomm_work work, u64 bytes);
};

/**
 * struct hcomm_link_ops - what a transport does for the engine
 * @send: send a message, which is valid only until it returns.  EAGER: payload is
 *	copied out of @payload[msg->len] before it returns.  RTS: takes a reference
 *	to msg->src.mem that lasts until the peer's engine releases the message.
 *	0, -EAGAIN (no room: the transport calls hcomm_engine_tx_space() later) or
 *	an error (fault).
 * @write: write src[len] to addr/rkey at the peer, then notify @imm there.
 *	When src may be overwritten: hcomm_engine_write_done(@cookie).  0,
 *	-EAGAIN or an error, as @send.  NULL on links with direct access.
 * @expose: address and key under which the peer may write dst[len], len at most
 *	one chunk.  Made ready before launch; only a look-up here.  NULL on
 *	links with direct access.
 * @pull: do a transfer from memory of the peer, on links with direct access; it is
 *	done on return.  Optional: for who can have others do parts of it.
 * @release: the engine no longer needs what came with hcomm_engine_rx():
 *	receive buffer, reference of an RTS
 */
struct hcomm_link_ops {
	int (*send)(struct hcomm_elink *l, const struct hcomm_msg *msg,
		    struct hcomm_buf payload);
	int (*write)(struct hcomm_elink *l, struct hcomm_buf src, u32 len, u64 addr,
		     u32 rkey, u32 imm, u32 cookie);
	int (*expose)(struct hcomm_elink *l, struct hcomm_buf dst, u32 len, u64 *addr,
		      u32 *rkey);
	void (*pull)(struct hcomm_elink *l, const struct hcomm_transfer *t);
	void (*release)(struct hcomm_elink *l, void *rx);
};

/**
 * struct hcomm_arrival - something that came before it could be used
 * @node: in link->arrivals or link->free_arrivals
 * @msg: the message
 * @payload: EAGER: its bytes
 * @rx: what to release
 */
struct hcomm_arrival {
	struct list_head node;
	struct hcomm_msg msg;
	const u8 *payload;
	void *rx;
};

/**
 * struct hcomm_inflight - a granted chunk (receiver) or a written one (sender)
 * @run: its run, NULL: free
 * @step: its step
 * @chunk: its chunk
 * @stage: staging slot, U32_MAX: none
 * @gen: changes at each use, part of the immediate value
 */
struct hcomm_inflight {
	struct hcomm_run *run;
	u32 step;
	u32 chunk;
	u32 stage;
	u16 gen;
};

/**
 * struct hcomm_elink - the engine's end of a link to one peer
 *
 * Embedded in the transport's link object, which owns it; made with
 * hcomm_elink_init(), ended with hcomm_elink_exit() after the engine is dead or
 * has no run that uses it.
 *
 * @engine: its engine
 * @peer: rank
 * @direct: RTS/FIN instead of GRANT/write: the engine may read the peer's memory
 * @up: messages may be sent
 * @left: the peer said BYE and all before it was seen
 * @ops: transport
 * @tx_blocked: waiting for hcomm_engine_tx_space()
 * @bye_ack: the peer acknowledged our BYE
 */
struct hcomm_elink {
	struct hcomm_engine *engine;
	u32 peer;
	bool direct;
	bool up;
	bool left;
	bool tx_blocked;
	bool bye_ack;
	const struct hcomm_link_ops *ops;
	/* private: to core */
	bool abort_pending;
	bool bye_pending;
	bool bye_sent;
	bool bye_seen;
	bool bye_ack_pending;
	bool tell_pending;
	bool tell_out;		/* TELL without TOLD */
	bool told_pending;
	bool told_over;		/* the run that was TELLed is over here */
	u64 tell_run;
	struct hcomm_call tell_call;
	u32 writes_active;
	u32 eager_credits;	/* EAGER we may send */
	u32 eager_held;		/* peer's EAGER in our slots */
	u32 credits_owed;	/* freed slots that the peer has not been told of */
	u64 tx_count;		/* messages of runs and writes sent, for BYE */
	u64 rx_count;		/* messages of runs and notifications seen */
	u64 bye_count;		/* peer's tx_count at its BYE */
	struct list_head node;	/* in engine->links */
	struct list_head pump;	/* in engine->pump when there may be work */
	struct list_head arrivals;
	struct list_head free_arrivals;
	struct hcomm_arrival *arrival_pool;
	struct hcomm_inflight *grants;
	struct hcomm_inflight *writes;
};

/**
 * struct hcomm_step_state - where one step of a run is
 * @deps_left: plain dependencies that are not complete
 * @avail: chunks that may be issued
 * @issued: chunks that were issued, in order
 * @done: chunks that are complete, without a gap
 * @done_mask: chunk done + i is complete
 * @ready_next: next in the run's ready queue
 * @queued: is in the ready queue
 */
struct hcomm_step_state {
	u32 deps_left;
	u32 avail;
	u32 issued;
	u32 done;
	u64 done_mask;
	u32 ready_next;
	bool queued;
};

/**
 * struct hcomm_run_peer - a run's dealings with one peer
 * @link: the link
 * @send_next: next SEND to issue, by message number
 * @recv_next: next RECV to grant, by message number
 * @rts_out: RTSs without FIN
 * @grants_out: GRANTs without notification
 * @writes_out: writes without completion
 * @left: SENDs and RECVs that are not complete
 * @req_sent: a REQ waits for its CTS
 * @cts: its CTS is here
 * @cts_given: a CTS was sent and its EAGER is not here yet
 */
struct hcomm_run_peer {
	struct hcomm_elink *link;
	u32 send_next;
	u32 recv_next;
	u32 rts_out;
	u32 grants_out;
	u32 writes_out;
	u32 left;
	bool req_sent;
	bool cts;
	bool cts_given;
};

/**
 * struct hcomm_run - one launch of a program
 *
 * Made once with hcomm_run_create() and launched again and again.  The maker
 * owns it and must not free it between launch and run_done().
 *
 * @prog: program
 * @engine: engine, while in flight
 * @key: run key
 * @call: fingerprint
 * @slots: bound memory, copied at launch
 * @owner: for the maker's use
 * @active: launched and not done
 */
struct hcomm_run {
	const struct hcomm_prog *prog;
	struct hcomm_engine *engine;
	u64 key;
	struct hcomm_call call;
	struct hcomm_buf slots[HCOMM_MAX_SLOTS];
	void *owner;
	bool active;
	/* private: to core */
	struct list_head node;	/* in engine->runs, in launch order */
	u32 steps_left;
	u32 ready_head;
	u32 ready_tail;
	u32 stage_step;		/* next step that may take staging memory */
	u32 stage_used;		/* staging slots that it holds */
	u64 progress;		/* chunks completed */
	u64 progress_seen;	/* the same at the last tick */
	u32 oldest;		/* no step below it is unfinished */
	struct hcomm_step_state *st;
	struct hcomm_run_peer *peers;
};

/**
 * struct hcomm_engine - one rank of one communicator
 * @par: options
 * @ops: the embedder
 * @fault: first fault; error is 0 while sound
 * @nruns: runs in flight
 * @staging: staging memory, staging_slots * chunk_size bytes, the embedder's
 */
struct hcomm_engine {
	struct hcomm_engine_params par;
	const struct hcomm_engine_ops *ops;
	struct hcomm_fault fault;
	u32 nruns;
	struct hcomm_mem *staging;
	/* private: to core */
	struct list_head runs;
	struct list_head finished;
	struct list_head links;
	struct list_head pump;
	struct hcomm_history history;
	u32 narrivals;		/* in all links' lists */
	u32 ticks;
	u32 *stage_free;	/* stack of free staging slots */
	u32 stage_nfree;
	u32 stage_runs;		/* runs that hold at least one slot */
	struct hcomm_msg tx;	/* the message that is being sent */
};

/**
 * hcomm_engine_init - make an engine
 * @e: memory of the embedder
 * @par: options, already within the ABI's ranges
 * @ops: the embedder's functions
 * @staging: staging memory, or NULL when no link is without direct access
 *
 * Return: 0 or -ENOMEM.
 */
int hcomm_engine_init(struct hcomm_engine *e, const struct hcomm_engine_params *par,
		      const struct hcomm_engine_ops *ops, struct hcomm_mem *staging);

/**
 * hcomm_engine_exit - end an engine without runs and links
 * @e: engine
 */
void hcomm_engine_exit(struct hcomm_engine *e);

/**
 * hcomm_elink_init - join a link to its engine
 * @l: memory of the transport
 * @e: engine
 * @peer: other rank
 * @ops: transport
 * @direct: the engine may read the peer's memory
 *
 * Return: 0 or -ENOMEM.
 */
int hcomm_elink_init(struct hcomm_elink *l, struct hcomm_engine *e, u32 peer,
		     const struct hcomm_link_ops *ops, bool direct);

/**
 * hcomm_elink_exit - take a link from its engine
 * @l: link; what it holds is released
 */
void hcomm_elink_exit(struct hcomm_elink *l);

/**
 * hcomm_engine_link_up - the transport can carry messages now
 * @l: link
 */
void hcomm_engine_link_up(struct hcomm_elink *l);

/**
 * hcomm_engine_link_down - the transport lost the peer
 * @l: link
 * @reason: enum hcomm_fault_reason
 * @error: positive errno
 *
 * A fault, unless the peer has left in good order.
 */
void hcomm_engine_link_down(struct hcomm_elink *l, u32 reason, int error);

/**
 * hcomm_engine_rx - a message arrived
 * @l: link
 * @msg: message; copied if needed
 * @payload: EAGER: msg->len bytes, valid until released
 * @rx: passed to ops->release() when the engine needs it no longer, maybe
 *	before this returns; not NULL
 */
void hcomm_engine_rx(struct hcomm_elink *l, const struct hcomm_msg *msg,
		     const u8 *payload, void *rx);

/**
 * hcomm_engine_notify - the peer wrote a granted chunk
 * @l: link
 * @imm: value of the grant
 */
void hcomm_engine_notify(struct hcomm_elink *l, u32 imm);

/**
 * hcomm_engine_write_done - source of a write may be overwritten
 * @l: link
 * @cookie: of the write
 */
void hcomm_engine_write_done(struct hcomm_elink *l, u32 cookie);

/**
 * hcomm_engine_tx_space - the transport has room after -EAGAIN
 * @l: link
 */
void hcomm_engine_tx_space(struct hcomm_elink *l);

/**
 * hcomm_run_create - memory for one launch at a time of a program
 * @prog: program, outlives the run
 *
 * Return: the run, or NULL without memory.
 */
struct hcomm_run *hcomm_run_create(const struct hcomm_prog *prog);

/**
 * hcomm_run_free - end a run that is not in flight
 * @run: run or NULL
 */
void hcomm_run_free(struct hcomm_run *run);

/**
 * hcomm_engine_launch - start a run
 * @e: engine
 * @run: run that is not in flight
 * @links: the link of each of prog->peers, in that order
 * @slots: memory for each slot, checked by the caller against prog->slots
 * @key: run key
 * @call: fingerprint
 *
 * Allocates nothing.  Only queues: hcomm_engine_run() does the work.
 *
 * Return: 0, -EBUSY (max_runs in flight), -EEXIST (a key in flight, or of one of the
 * last launches) or the negative error of the engine's fault.
 */
int hcomm_engine_launch(struct hcomm_engine *e, struct hcomm_run *run,
			struct hcomm_elink **links, const struct hcomm_buf *slots,
			u64 key, const struct hcomm_call *call);

/**
 * hcomm_engine_run - do what can be done
 * @e: engine
 * @budget: chunks and messages to handle at most
 *
 * Return: true if there is more to do.
 */
bool hcomm_engine_run(struct hcomm_engine *e, u32 budget);

/**
 * hcomm_engine_tick - look for runs that stand still
 * @e: engine
 *
 * To be called about every 100 ms while runs are in flight.  Only queues.
 */
void hcomm_engine_tick(struct hcomm_engine *e);

/**
 * hcomm_run_blame - what a run waits for
 * @run: run in flight
 * @step: out: its lowest unfinished step
 * @rank: out: the peer of that step, or this rank
 */
void hcomm_run_blame(struct hcomm_run *run, u32 *step, u32 *rank);

/**
 * hcomm_engine_fault - record a fault and tell all peers
 * @e: engine
 * @fault: the fault; ignored if there is one already
 */
void hcomm_engine_fault(struct hcomm_engine *e, const struct hcomm_fault *fault);

/**
 * hcomm_engine_fail_runs - end all runs with the fault's error
 * @e: engine with a fault, whose links carry nothing more
 */
void hcomm_engine_fail_runs(struct hcomm_engine *e);

/**
 * hcomm_engine_bye - say to all peers that this rank leaves
 * @e: engine without runs
 *
 * The embedder then waits, for a bounded time, until hcomm_engine_bye_done().
 */
void hcomm_engine_bye(struct hcomm_engine *e);

/**
 * hcomm_engine_bye_done - did all peers acknowledge?
 * @e: engine
 *
 * Return: true when every link that is up has acknowledged, has left itself, or
 * when the engine has a fault.
 */
bool hcomm_engine_bye_done(const struct hcomm_engine *e);

/**
 * hcomm_engine_aborts_sent - did all ABORT messages leave the engine?
 * @e: engine with a fault
 *
 * Return: true if no link that is up has one pending.
 */
bool hcomm_engine_aborts_sent(const struct hcomm_engine *e);

#endif /* HCOMM_CORE_ENGINE_H */
