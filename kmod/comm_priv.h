/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What comm.c, run.c, push.c, link.c, prog.c, launch.c, wait.c and sysfs.c share.
 */
#ifndef HCOMM_COMM_PRIV_H
#define HCOMM_COMM_PRIV_H

#include "comm.h"
#include "ctx.h"
#include "transport.h"

/**
 * enum hcomm_kicks - is there something that nobody has looked at?
 * @HCOMM_KICKS_NONE: no
 * @HCOMM_KICKS_LATER: the next launch looks at it, or the tick
 * @HCOMM_KICKS_NOW: somebody was found who looks
 */
enum hcomm_kicks {
	HCOMM_KICKS_NONE,
	HCOMM_KICKS_LATER,
	HCOMM_KICKS_NOW,
};

/* Chunks and messages that one round of an engine handles at most. */
#define HCOMM_ROUND_BUDGET	32u
/*
 * A worker's turn.  Workers are queued behind those of all other communicators,
 * whoever owns these, so a turn is short, and a round of it is, too.
 */
#define HCOMM_WORKER_NS		NSEC_PER_MSEC
#define HCOMM_WORKER_BUDGET	4u
/* While runs are in flight the engine looks for such that stand still. */
#define HCOMM_TICK_JIFFIES	(HZ / 10)

extern const struct hcomm_object_ops hcomm_comm_ops;
extern const struct hcomm_engine_ops hcomm_comm_engine_ops;

static inline struct hcomm_comm *hcomm_comm_of(struct hcomm_object *obj)
{
	return container_of(obj, struct hcomm_comm, obj);
}

/* Transports whose part this communicator has. */
static inline bool hcomm_comm_uses(const struct hcomm_comm *comm,
				   const struct hcomm_transport *t)
{
	return comm->transports & t->id;
}

/* run.c */
/**
 * hcomm_comm_run - one round of the engine
 * @comm: communicator
 * @budget: chunks and messages to handle at most
 * @arm: before it stops, make sure that what comes later kicks
 *
 * Return: true if there is more to do; who then stops calls
 * hcomm_comm_dispatch().
 */
bool hcomm_comm_run(struct hcomm_comm *comm, u32 budget, bool arm);
/* The same; peers to push are added to @push. */
bool hcomm_comm_run_push(struct hcomm_comm *comm, u32 budget, bool arm,
			 struct list_head *push);
/* The same, with @arm; false: somebody has the lock, and @more is as it was. */
bool hcomm_comm_try_run(struct hcomm_comm *comm, u32 budget, struct list_head *push,
			bool *more);
/* The same, with comm->lock held and kept. */
bool hcomm_comm_run_locked(struct hcomm_comm *comm, u32 budget, bool arm);
/* Somebody must look at the communicator: the waiter, or the worker. */
void hcomm_comm_dispatch(struct hcomm_comm *comm);
/* The waiter must look at it; false: there is none who would. */
bool hcomm_comm_tell_waiter(struct hcomm_comm *comm);
/* comm->lock around calls into core; unlock reports the runs that ended. */
void hcomm_comm_lock(struct hcomm_comm *comm);
void hcomm_comm_unlock(struct hcomm_comm *comm);
void hcomm_comm_work(struct work_struct *work);
void hcomm_comm_tick(struct work_struct *work);

/* push.c */
/**
 * hcomm_push_wants - may a peer run the engine?
 * @comm: communicator
 *
 * Return: true if its waiter yields its CPU, and goes on by itself.
 */
bool hcomm_push_wants(struct hcomm_comm *comm);
/**
 * hcomm_push_add - it is going to be run by who has this list
 * @push: list of a thread
 * @comm: communicator, which the caller knows to be there
 */
void hcomm_push_add(struct list_head *push, struct hcomm_comm *comm);
/**
 * hcomm_push_next - run the next engine of the list, for a short time
 * @push: list
 *
 * What it does not come to is left to whom it belongs.  No lock held.
 *
 * Return: false if there was none.
 */
bool hcomm_push_next(struct list_head *push);
/**
 * hcomm_push_leave - leave what is in the list to whom it belongs
 * @push: list
 */
void hcomm_push_leave(struct list_head *push);

/* comm.c */
void hcomm_comm_fault(struct hcomm_comm *comm, u32 reason, int error, u32 rank);
void hcomm_comm_teardown(struct hcomm_comm *comm);
/* The calling process ends: its communicators of this context are dead. */
void hcomm_comms_orphan(struct hcomm_ctx *ctx);

/* comm_table.c */
/* Enter the table, not seen by peers yet; -EEXIST if this rank is there. */
int hcomm_table_add(struct hcomm_comm *comm);
/* Peers find it from now on; who waits for it is told. */
void hcomm_table_show(struct hcomm_comm *comm);
/* Peers find it no more. */
void hcomm_table_hide(struct hcomm_comm *comm);
/* Leave the table; comm->tomb takes the place, and who waits is told. */
void hcomm_table_bury(struct hcomm_comm *comm);
/* For comm->tomb; kfree() ends one that was not used. */
struct hcomm_tomb *hcomm_tomb_alloc(void);
void hcomm_comms_exit(void);

/* link.c */
/* Make the link to a peer and begin to bring it up; link_lock held. */
struct hcomm_link *hcomm_link_need_locked(struct hcomm_comm *comm, u32 peer);
int hcomm_link_wait_ready(struct hcomm_link *link, u64 timeout_ns);
void hcomm_link_news(struct hcomm_comm *comm);
void hcomm_links_free(struct hcomm_comm *comm);
const char *hcomm_link_state_name(enum hcomm_link_state state);

/* prog.c, launch.c */
struct hcomm_launch_ctx;

/**
 * struct hcomm_progobj - a loaded program
 * @obj: object; a launch in flight holds a reference and counts as a user
 * @comm: communicator, used (it can't be destroyed before)
 * @prog: the program
 * @links: by index of prog->peers
 * @elinks: the same for the engine
 * @lock: protects @free
 * @free: launches that are not in flight
 * @launches: all of them
 * @max_runs: their number
 */
struct hcomm_progobj {
	struct hcomm_object obj;
	struct hcomm_comm *comm;
	struct hcomm_prog *prog;
	struct hcomm_link **links;
	struct hcomm_elink **elinks;
	spinlock_t lock;		/* @free */
	struct list_head free;
	struct hcomm_launch_ctx *launches;
	u32 max_runs;
};

/**
 * struct hcomm_launch_ctx - one launch at a time of a program
 * @node: in po->free or comm->done
 * @po: program
 * @run: core's part
 * @slots: what the process bound to the slots, while it is launched
 * @bufs: the same for the engine
 * @mems: memory of the slots, with references while in flight
 * @timeout: ends a run that takes too long
 * @waited: in the list of who waits for its end, else empty (ring lock)
 * @timed: @timeout was set for this launch
 * @start_ns: when it was launched
 * @cqe: completion, filled in as it becomes known
 */
struct hcomm_launch_ctx {
	struct list_head node;
	struct hcomm_progobj *po;
	struct hcomm_run *run;
	struct hcomm_slot slots[HCOMM_MAX_SLOTS];
	struct hcomm_buf bufs[HCOMM_MAX_SLOTS];
	struct hcomm_memobj *mems[HCOMM_MAX_SLOTS];
	struct delayed_work timeout;
	struct list_head waited;
	bool timed;
	u64 start_ns;
	struct hcomm_cqe cqe;
};

int hcomm_launches_init(struct hcomm_progobj *po);
void hcomm_launches_exit(struct hcomm_progobj *po);
void hcomm_launch_done(struct hcomm_comm *comm, struct hcomm_launch_ctx *lc, int status);
void hcomm_launch_report(struct hcomm_launch_ctx *lc);

/* sysfs.c */
int hcomm_sysfs_init(void);
void hcomm_sysfs_exit(void);
int hcomm_sysfs_add_comm(struct hcomm_comm *comm);
int hcomm_sysfs_add_link(struct hcomm_link *link);
void hcomm_sysfs_remove(struct device **dev);

#endif /* HCOMM_COMM_PRIV_H */
