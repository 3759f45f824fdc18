/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Simulator of many ranks of the real engine over a fabric in virtual time.
 *
 * One process, one thread, one heap of events.  Every rank has its own
 * struct hcomm_engine; what the module's transports and workers do for it is
 * done here, with chance from one seed and with every promise checked that the
 * engine makes to a transport:
 *
 *  - at most hcomm_link_max_rx() messages and notifications are on their way to,
 *    or held by, one end of a link;
 *  - a write lands only in memory that is granted at that moment, once, and
 *    its source does not change before its completion;
 *  - each received message is released once, each run is done once;
 *  - nothing is sent on a link that is down, or that waits for room;
 *  - nothing is allocated between launch and completion;
 *  - at the end no arrival, credit, grant or staging slot is left over.
 */
#ifndef HCOMM_SIM_H
#define HCOMM_SIM_H

#include "engine.h"
#include "net.h"
#include "rng.h"

struct sim;
struct sim_rank;
struct sim_run;

/**
 * struct sim_cfg - what a simulation is like
 * @seed: of everything
 * @nranks: ranks
 * @ranks_per_node: ranks with direct links among them
 * @par: options of all engines; rank and nranks are filled in
 * @net: network between nodes; its slow_factor is filled in
 * @local_latency: ns within a node
 * @copy_rate: of a rank's CPU, MB/s
 * @reduce_rate: of a rank's CPU, MB/s
 * @event_cost: CPU time of one event, ns
 * @eager_copy: the sender of an eager message copies it
 * @reorder: longest extra delay, ns
 * @reorder_permille: how often it happens
 * @eagain_permille: how often send and write have no room
 * @tx_depth: messages that a link holds before it has no room, 0: no limit
 * @budget: of one hcomm_engine_run(), 0: random
 * @skew: longest delay of a launch on one rank, ns
 * @linkup_skew: latest time that a link comes up, ns
 * @slow_rank: whose CPU is @slow_factor times slower, ~0: none
 * @slow_factor: see above, and for the slow node of @net
 * @kill_rank: who dies, ~0: none
 * @kill_event: before which of its engine events
 * @kill_process: its kernel lives on and tells (else the whole node is silent)
 * @detect: until peers of a silent node see their link break, ns
 * @break_rank: whose link to @break_peer breaks, ~0: none
 * @break_peer: see above
 * @break_event: before which engine event of @break_rank
 * @tick: between two hcomm_engine_tick(), ns
 * @max_time: virtual time after which the simulation has failed, 0: no limit
 * @expect_fault: a fault is no failure of the simulation
 * @trace: print what happens
 */
struct sim_cfg {
	u64 seed;
	u32 nranks;
	u32 ranks_per_node;
	struct hcomm_engine_params par;
	struct net_cfg net;
	u64 local_latency;
	u64 copy_rate;
	u64 reduce_rate;
	u64 event_cost;
	bool eager_copy;
	u64 reorder;
	u32 reorder_permille;
	u32 eagain_permille;
	u32 tx_depth;
	u32 budget;
	u64 skew;
	u64 linkup_skew;
	u32 slow_rank;
	u32 slow_factor;
	u32 kill_rank;
	u64 kill_event;
	bool kill_process;
	u64 detect;
	u32 break_rank;
	u32 break_peer;
	u64 break_event;
	u64 tick;
	u64 max_time;
	bool expect_fault;
	bool trace;
};

void sim_cfg_default(struct sim_cfg *cfg);
/* Nearer to machines; the seeds of random simulations were chosen without it. */
void sim_cfg_real(struct sim_cfg *cfg);

/**
 * struct sim_mem - memory of one rank, in pieces with guards around each
 * @mem: as the engine sees it
 * @raw: allocation of each piece
 * @len: bytes of each piece
 * @lead: bytes in front of each piece
 * @refs: owner, and RTSs on their way
 * @key: its remote key
 * @base: its synthetic address
 */
struct sim_mem {
	struct hcomm_mem mem;
	u8 **raw;
	u64 *len;
	u32 *lead;
	u32 refs;
	u32 key;
	u64 base;
};

struct sim_mem *sim_mem_new(struct sim_rng *rng, u64 length, u32 max_pieces);
void sim_mem_put(struct sim_mem *m);
bool sim_mem_intact(const struct sim_mem *m);
u64 sim_mem_hash(const struct hcomm_mem *mem, u64 off, u64 len);
/* Independent of core's mem.c. */
void sim_mem_store(struct sim_mem *m, u64 off, const void *src, u64 len);
void sim_mem_load(void *dst, const struct sim_mem *m, u64 off, u64 len);

/* Independent reductions, one element at a time. */
u32 ref_dtype_size(u32 dtype);
/* NULL behind the last. */
const char *ref_dtype_name(u32 dtype);
const char *ref_op_name(u32 redop);
void ref_reduce(u32 dtype, u32 redop, void *dst, const void *a, const void *b, size_t n);
void ref_scale(u32 dtype, u32 scale, u64 operand, void *dst, const void *src, size_t n);
/* The bits of a small integer in any type. */
void ref_from_int(u32 dtype, void *dst, s64 v);

/**
 * struct sim_run - one rank's part of one run
 * @node: in its rank's list
 * @rank: rank
 * @run: made from @prog
 * @prog: program, owned
 * @links: links of prog->peers
 * @slots: memory, owned
 * @nslots: number of slots
 * @key: run key of the next launch
 * @call: fingerprint
 * @start: earliest launch
 * @after: launched when that run of the same rank is done for good, or NULL
 * @launches: launches still to come
 * @pending: waits for room in the engine
 * @done: launches that are over
 * @status: of the last
 * @launched: virtual time of the last launch
 * @finished: virtual time of the last completion
 * @check: optional, after each successful launch; NULL or what is wrong
 * @arg: for @check
 */
struct sim_run {
	struct list_head node;
	struct sim_rank *rank;
	struct hcomm_run *run;
	struct hcomm_prog *prog;
	struct hcomm_elink **links;
	struct sim_mem *slots[HCOMM_MAX_SLOTS];
	u32 nslots;
	u64 key;
	struct hcomm_call call;
	u64 start;
	struct sim_run *after;
	u32 launches;
	bool pending;
	u32 done;
	int status;
	u64 launched;
	u64 finished;
	const char *(*check)(struct sim_run *run);
	void *arg;
};

/**
 * struct sim_stats - what a simulation did
 * @time: virtual time of the last completion of a run, ns
 * @end: virtual time of the end, ns
 * @events: events handled
 * @messages: messages sent
 * @writes: writes
 * @bytes: payload bytes between ranks
 * @eagain: times without room
 * @max_rx: most messages on their way to one end of a link
 * @hash: of everything that happened
 */
struct sim_stats {
	u64 time;
	u64 end;
	u64 events;
	u64 messages;
	u64 writes;
	u64 bytes;
	u64 eagain;
	u32 max_rx;
	u64 hash;
};

/**
 * sim_new - make ranks and engines
 * @cfg: copied
 *
 * Return: the simulation, NULL without memory.
 */
struct sim *sim_new(const struct sim_cfg *cfg);

/**
 * sim_add_run - give one rank a part of a run
 * @sim: simulation
 * @rank: rank
 * @steps: taken over in every case
 * @nsteps: number of steps
 * @deps: taken over in every case
 * @ndeps: number of dependencies
 * @nslots: number of slots
 * @out: out: the run; the caller fills in slots, key, call, start, check
 *
 * Return: 0, -ENOMEM; a program that the verifier refuses ends the simulator.
 */
int sim_add_run(struct sim *sim, u32 rank, struct hcomm_step *steps, u32 nsteps,
		u32 *deps, u32 ndeps, u32 nslots, struct sim_run **out);

/**
 * sim_go - run until nothing is left to do
 * @sim: simulation
 *
 * A broken promise, a wrong result or a deadlock prints what and where, and
 * ends the simulator with status 1.
 */
void sim_go(struct sim *sim);

const struct sim_stats *sim_stats(const struct sim *sim);
struct hcomm_engine *sim_engine(struct sim *sim, u32 rank);
struct list_head *sim_runs(struct sim *sim, u32 rank);
bool sim_rank_dead(struct sim *sim, u32 rank);
/* Events that the engine of a rank has seen: the unit of kill_event. */
u64 sim_rank_events(struct sim *sim, u32 rank);
/* Are the two ranks joined by links, over others if need be? */
bool sim_connected(struct sim *sim, u32 a, u32 b);
struct sim_rng *sim_rng(struct sim *sim);
void sim_free(struct sim *sim);

/* Print a failure with the seed and end. */
__attribute__((noreturn, format(printf, 2, 3)))
void sim_die(struct sim *sim, const char *fmt, ...);

/* How to run this again; printed with a failure. */
extern char sim_replay[256];
/* Print what happens in all simulations of a set. */
extern bool sim_trace_all;

/* ------------------------------------------------------------- workloads */

/* rand*.c: random programs that can't deadlock, and their sequential result */
struct rand_job;
void rand_cfg(struct sim_cfg *cfg, u64 seed);
/* Adds runs to all ranks; NULL without memory. */
struct rand_job *rand_job_new(struct sim *sim, const struct sim_cfg *cfg, u32 nruns,
			      u32 max_ops, u32 launches);
/* Compares all memory of runs that ended well; the number of such runs. */
u32 rand_job_check(struct rand_job *job, struct sim *sim);
void rand_job_free(struct rand_job *job);

/**
 * struct coll_spec - collectives to simulate
 * @coll: enum hcomm_coll
 * @algo: enum hcomm_algo
 * @count: elements, see struct hcomm_sched_args; of blocks of V forms the mean
 * @dtype: enum hcomm_dtype
 * @redop: enum hcomm_redop
 * @root: root, or sender
 * @peer: receiver of P2P
 * @in_place: the input is in the output buffer
 * @fixed_order: reduce in the order of ranks
 * @vector: V form
 * @apart: blocks of the V form lie in any order, with gaps
 * @vseed: of the V form's blocks
 * @tseed: of the nodes and groups of a plan that has such, 0: those of the fabric
 * @channels: of the schedule
 * @radix: of the schedule
 * @runs: in flight at once
 * @launches: of each run, one after the other
 * @pieces: most spans of a buffer
 */
struct coll_spec {
	u32 coll;
	u32 algo;
	u64 count;
	u32 dtype;
	u32 redop;
	u32 root;
	u32 peer;
	bool in_place;
	bool fixed_order;
	bool vector;
	bool apart;
	u64 vseed;
	u64 tseed;
	u32 channels;
	u32 radix;
	u32 runs;
	u32 launches;
	u32 pieces;
};

/* coll*.c: schedules of the library, and what a collective must give */
struct coll_job;
struct coll_job *coll_job_new(struct sim *sim, const struct sim_cfg *cfg,
			      const struct coll_spec *spec);
/* The part of one rank in another collective under the same key, for mismatches. */
void coll_call(const struct coll_spec *spec, struct hcomm_call *call);
int coll_add(struct sim *sim, const struct sim_cfg *cfg, const struct coll_spec *spec,
	     u32 rank, u64 key);
/* After sim_go(): did a barrier hold?  Results are checked as runs end. */
void coll_job_check(struct coll_job *job, struct sim *sim);
void coll_job_free(struct coll_job *job);
/* Any collective, algorithm and size that goes with @cfg. */
void coll_random_spec(struct coll_spec *spec, struct sim_rng *rng,
		      const struct sim_cfg *cfg);
/* Can it be planned at all? */
bool coll_valid(const struct coll_spec *spec, const struct sim_cfg *cfg);
const char *coll_text(const struct coll_spec *spec);

/* modes.c, fail.c: each returns the number of simulations that it did */
u64 mode_random(u64 first, u64 last, bool verbose);
u64 mode_colls(u64 first, u64 last, bool verbose);
u64 mode_replay(u64 first, u64 last);
u64 mode_p2p(u64 first, u64 last);
u64 mode_alloc(u64 first, u64 last);
u64 mode_death(u64 first, u64 last, u32 limit);
u64 mode_break(u64 first, u64 last, u32 limit);
u64 mode_mismatch(u64 first, u64 last);

#endif /* HCOMM_SIM_H */
