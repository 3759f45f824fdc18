/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A communicator in the library: the kernel's object, the loaded plans, and the
 * numbering of calls.
 *
 * Lock.  comm->lock protects the plan cache, the call numbers and the statistics.
 * It is never held while something waits.
 *
 * Life.  One reference belongs to the handle, one to every request; destroying
 * the communicator ends the kernel's object, the memory goes with the last
 * request, and so does its hold on the device: what requests give back is known
 * by numbers that are valid in this context only.
 */
#ifndef HCOMM_COMM_H
#define HCOMM_COMM_H

#include <pthread.h>

#include "../bootstrap/bootstrap.h"
#include "../dev/dev.h"
#include "choose.h"
#include "options.h"
#include "tune.h"

#define HCOMM_COMM_MAGIC	0x68636f6du

#define HCOMM_ARRAYS	4u

/**
 * struct hcomm_arrays - counts and displacements of a V form
 * @counts: as those of struct hcomm_sched_args
 * @displs: as well
 * @rcounts: as well
 * @rdispls: as well
 * @list: the same; each has an entry per rank or is NULL
 */
struct hcomm_arrays {
	union {
		struct {
			const uint64_t *counts;
			const uint64_t *displs;
			const uint64_t *rcounts;
			const uint64_t *rdispls;
		};
		const uint64_t *list[HCOMM_ARRAYS];
	};
};

/**
 * struct hcomm_plan_key - what a plan was made for
 * @arrays: hash of the arrays of a V form, which are compared, too
 *
 * Compared as bytes: cleared before it is filled in.
 */
struct hcomm_plan_key {
	uint64_t count;
	uint64_t operand;
	uint64_t arrays;
	struct hcomm_candidate cand;
	uint32_t coll;
	uint32_t root;
	uint32_t peer;
	uint8_t dtype;
	uint8_t redop;
	uint8_t in_place;
	uint8_t vector;
};

/**
 * struct hcomm_entry - a loaded plan
 * @key: what it is for
 * @arrays: of a V form, in memory of the entry
 * @next: chain of the hash
 * @newer: towards the most recently used
 * @older: towards the least recently used
 * @prog_id: PROG object
 * @nslots: slots to bind
 * @max_runs: launches that may be in flight
 * @inflight: launches in flight; atomic, given back by the ring's drain
 * @pins: persistent requests that keep it
 * @extent: bytes of each slot
 * @written: the slot is written
 */
struct hcomm_entry {
	struct hcomm_plan_key key;
	struct hcomm_arrays arrays;
	struct hcomm_entry *next;
	struct hcomm_entry *newer;
	struct hcomm_entry *older;
	uint32_t prog_id;
	uint32_t nslots;
	uint32_t max_runs;
	uint32_t inflight;
	uint32_t pins;
	uint64_t extent[3];
	bool written[3];
};

#define HCOMM_CACHE_BUCKETS	256u

/**
 * struct hcomm_cache - loaded plans, least recently used last
 * @buckets: hash chains
 * @newest: most recently used
 * @oldest: least recently used
 * @count: entries
 */
struct hcomm_cache {
	struct hcomm_entry *buckets[HCOMM_CACHE_BUCKETS];
	struct hcomm_entry *newest;
	struct hcomm_entry *oldest;
	uint32_t count;
};

/**
 * struct hcomm_flow - messages of one tag in one direction between two ranks
 * @id: peer[16] send[1] tag[31], plus a bit that says the entry is in use
 * @seq: messages so far
 */
struct hcomm_flow {
	uint64_t id;
	uint32_t seq;
};

/**
 * struct hcomm_premul - a sum of scaled inputs that the program made
 * @number: what the program calls it by, 0: it does not exist
 * @dtype: of the scalar
 * @operand: scalar, the bits of an element
 */
struct hcomm_premul {
	uint32_t number;
	uint32_t dtype;
	uint64_t operand;
};

/**
 * struct hcomm_comm - communicator
 * @magic: HCOMM_COMM_MAGIC while the handle is valid
 * @refs: handle and requests; atomic
 * @ended: it is destroyed, or about to be: no request starts any more; locked
 * @rank: this rank
 * @nranks: ranks
 * @local_rank: number among the ranks of this node
 * @nlocal: ranks of this node
 * @id: COMM object
 * @opts: options
 * @tuner_path: shared object of the tuner plugin, owned, NULL: none
 * @split_secret: what communicators that are made of this one derive theirs from
 * @lock: see above
 * @seq: collectives so far
 * @given_back: numbers below @seq of calls that failed here before they began
 * @ngiven_back: how many
 * @flows: hash of tags in use
 * @flow_room: its size, a power of two or 0
 * @nflows: flows in use
 * @premuls: operations made
 * @npremuls: entries of it
 * @chooser: planner
 * @trials: what is measured
 * @cache: loaded plans
 * @inflight: launches in flight; atomic, given back by the ring's drain
 * @stats: counters
 * @failed: first fault; atomic, HCOMM_SUCCESS while it is sound
 * @fault_text: that fault in words; written once, before @failed
 */
struct hcomm_comm {
	uint32_t magic;
	uint32_t refs;
	bool ended;
	uint32_t rank;
	uint32_t nranks;
	uint32_t local_rank;
	uint32_t nlocal;
	uint32_t id;
	struct hcomm_options opts;
	char *tuner_path;
	uint8_t split_secret[32];
	pthread_mutex_t lock;
	uint64_t seq;
	uint64_t given_back[HCOMM_MAX_COMM_RUNS];
	uint32_t ngiven_back;
	struct hcomm_flow *flows;
	size_t flow_room;
	size_t nflows;
	struct hcomm_premul *premuls;
	uint32_t npremuls;
	struct hcomm_chooser chooser;
	struct hcomm_trials trials;
	struct hcomm_cache cache;
	uint32_t inflight;
	hcommStats_t stats;
	hcommResult_t failed;
	char fault_text[1024];
};

/**
 * hcomm_comm_create - make a communicator
 * @meeting: where the ranks meet; not used with one rank
 * @rank: this rank
 * @nranks: number of ranks
 * @opts: options
 * @out: out: communicator
 *
 * Agreement, over the bootstrap, in four rounds: (1) versions, options, nodes
 * and failures so far; if they allow it, each makes its COMM; (2) where it
 * listens, or what failed; each tells its kernel about the peers; (3) all know
 * them; unless they are many, the links are made; (4) all are ready.  A failure
 * of one rank is an error on all, and names it.
 */
hcommResult_t hcomm_comm_create(const struct hcomm_meeting *meeting,
				uint32_t rank, uint32_t nranks,
				const struct hcomm_options *opts,
				struct hcomm_comm **out);

/* split.c: tag of the library's own messages: none of hcommSend() */
#define HCOMM_SPLIT_TAG		(HCOMM_MAX_TAG + 1u)

/**
 * hcomm_comm_split - make communicators of the ranks of one
 * @parent: communicator
 * @color: ranks with the same become one; HCOMM_SPLIT_NOCOLOR: none
 * @key: order of the ranks, then by rank of @parent
 * @config: options, NULL: those of @parent
 * @out: out: communicator, NULL without a color
 *
 * Over @parent, without the bootstrap: (1) all ranks of @parent give color and
 * key; (2) all tell whether they could prepare; then the ranks of each color
 * agree among themselves as in hcomm_comm_create(), by messages over @parent.
 */
hcommResult_t hcomm_comm_split(struct hcomm_comm *parent, int color, int key,
			       const hcommConfig_t *config, struct hcomm_comm **out);

/* the handle's end: waits for what is in flight */
hcommResult_t hcomm_comm_destroy(struct hcomm_comm *comm);

void hcomm_comm_get(struct hcomm_comm *comm);
void hcomm_comm_put(struct hcomm_comm *comm);

/* ask the kernel for the first fault; keeps it.  HCOMM_SUCCESS: it is sound */
hcommResult_t hcomm_comm_query(struct hcomm_comm *comm);

/**
 * hcomm_comm_error - a call failed: why?
 * @comm: communicator
 * @err: positive errno
 * @what: the call, for the text
 *
 * The communicator's fault if it has one, else the errno in words.
 */
hcommResult_t hcomm_comm_error(struct hcomm_comm *comm, int err,
			       const char *what);

/* the error of a call on a communicator that has failed: @fmt, then why it has */
hcommResult_t hcomm_comm_failed(const struct hcomm_comm *comm, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * Write the first such error of this thread down; hcomm_error_watch() does not see
 * them.  NULL: no more.  Return: who watched.
 */
struct hcomm_first_error *hcomm_fault_watch(struct hcomm_first_error *first);

/* ----------------------------------------------------------------- cache.c */

/**
 * hcomm_cache_get - the loaded plan for a key, built if there is none
 * @comm: communicator, locked
 * @key: key
 * @arrays: of a V form, else empty
 * @out: out: plan, usable until the lock is given up unless its inflight count
 *	is raised
 *
 * A new plan may evict the least recently used one that is not in flight.  The
 * lock is given up and taken again while links are made.
 */
hcommResult_t hcomm_cache_get(struct hcomm_comm *comm,
			      const struct hcomm_plan_key *key,
			      const struct hcomm_arrays *arrays,
			      struct hcomm_entry **out);

/* destroy all plans; nothing is in flight */
void hcomm_cache_clear(struct hcomm_comm *comm);

/* ------------------------------------------------------------------ keys.c */

/*
 * Number of the next collective: comm locked.  One that was given back comes first:
 * whoever repeats what failed, behind which others were numbered, does what other
 * ranks did under the same number.
 */
uint64_t hcomm_seq_next(struct hcomm_comm *comm);
/* the collective did not happen */
void hcomm_seq_undo(struct hcomm_comm *comm, uint64_t seq);

/* run key of message @seq; @sender and @receiver are ranks */
uint64_t hcomm_p2p_key(uint32_t sender, uint32_t receiver, uint32_t tag,
		       uint32_t seq);

/* next number of a flow: comm locked; false: no memory */
bool hcomm_flow_next(struct hcomm_comm *comm, uint32_t peer, bool send,
		     uint32_t tag, uint32_t *seq);
/* the call with number @seq did not happen, if no other came after it */
void hcomm_flow_undo(struct hcomm_comm *comm, uint32_t peer, bool send,
		     uint32_t tag, uint32_t seq);

/* ------------------------------------------------------------------- op.c */

/**
 * struct hcomm_call_args - a call of the API, checked
 * @name: for messages
 * @coll: enum hcomm_coll
 * @dtype: enum hcomm_dtype
 * @redop: enum hcomm_redop
 * @operand: of PREMUL_SUM
 * @root: root rank; P2P: sender
 * @peer: P2P: receiver
 * @tag: P2P
 * @sends: P2P: this rank is the sender; both may be this rank in a group
 * @count: elements; P2P: bytes; V form: of this rank's block where only the root
 *	knows all, else 0
 * @in_place: the plan reads its input from slot 1
 * @internal: of the library's own, or persistent: not tuned
 * @vector: V form
 * @gaps: bytes between the blocks of @recv are not the call's: no copy
 * @arrays: of a V form, what this rank knows
 * @send: slot 0
 * @recv: slot 1
 */
struct hcomm_call_args {
	const char *name;
	uint32_t coll;
	uint32_t dtype;
	uint32_t redop;
	uint64_t operand;
	uint32_t root;
	uint32_t peer;
	uint32_t tag;
	bool sends;
	uint64_t count;
	bool in_place;
	bool internal;
	bool vector;
	bool gaps;
	struct hcomm_arrays arrays;
	const void *send;
	void *recv;
};

/*
 * A call found no room among those in flight: wait until there may be.  @seen: from
 * hcomm_dev_seen(), before it looked.
 */
hcommResult_t hcomm_op_wait_room(uint64_t seen, const char *name);

/* launch and wait */
hcommResult_t hcomm_op_run(struct hcomm_comm *comm,
			   const struct hcomm_call_args *call);
/* launch only; @req must be given to hcomm_op_wait() */
hcommResult_t hcomm_op_start(struct hcomm_comm *comm,
			     const struct hcomm_call_args *call,
			     hcommRequest_t *req);
/* is it complete? */
bool hcomm_op_test(hcommRequest_t req);
/* wait, finish, free; a persistent request becomes inactive instead */
hcommResult_t hcomm_op_wait(hcommRequest_t req);

/* ---------------------------------------------------------------- persist.c */

/* plan and bind only; @req must be given to hcomm_op_free() */
hcommResult_t hcomm_op_init(struct hcomm_comm *comm,
			    const struct hcomm_call_args *call, hcommRequest_t *req);
bool hcomm_op_persistent(hcommRequest_t req);
/* launch a persistent request; @wait: until there is room for it */
hcommResult_t hcomm_op_again(hcommRequest_t req, bool wait);
/* the end of a persistent request, which is not active */
hcommResult_t hcomm_op_free(hcommRequest_t req);

#endif /* HCOMM_COMM_H */
