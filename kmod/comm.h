/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A communicator in the kernel: one engine, its links, and the threads that run
 * the engine.
 *
 * Locking.  comm->lock (mutex) is the engine's lock: every call into core and
 * every poll of a transport is made under it.  comm->link_lock (mutex) protects
 * the table of links and bring-up; it is taken before comm->lock.  Transports
 * never take either: they queue what arrives, call hcomm_comm_kick(), and are
 * polled.  A kick may come from any context, interrupts included.
 *
 * Who runs the engine.  The launching ioctl first, then a waiter, else the
 * worker.  hcomm_comm_kick() wakes a sleeping waiter of the context if there is
 * one and queues the worker otherwise; whoever leaves with work undone queues
 * the worker.  For a rank of this kernel that yields its CPU to others a peer that
 * waits runs the engine (push.c).
 *
 * End.  shutdown: BYE when the process closes in good order and no run is in
 * flight, else a fault (ABORTED or, when it was killed, PEER_DIED) that goes to
 * all peers as ABORT; then every link is stopped (nothing lands after), runs
 * are failed, the transports' parts end.  A run's completion after a fault is
 * reported only when no transport can touch its memory any more.
 */
#ifndef HCOMM_COMM_H
#define HCOMM_COMM_H

#include <linux/completion.h>
#include <linux/device.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include "core/engine.h"
#include "memobj.h"
#include "object.h"

struct hcomm_comm;
struct hcomm_link;
struct hcomm_ctx;
struct mem_cgroup;
struct net;
struct pid;

/**
 * struct hcomm_link_stats - counters, for sysfs; written under comm->lock
 * @tx_bytes: bytes sent or written
 * @tx_msgs: messages and writes sent
 * @rx_bytes: bytes received
 * @rx_msgs: messages and notifications received
 * @retries: sends that found no room
 * @errors: failed work requests, refused messages
 */
struct hcomm_link_stats {
	u64 tx_bytes;
	u64 tx_msgs;
	u64 rx_bytes;
	u64 rx_msgs;
	u64 retries;
	u64 errors;
};

/**
 * struct hcomm_link_info - facts of a link, for sysfs and LINK_OPEN
 * @device: name of the device, empty for none
 * @qp_num: queue pair number, 0 for none
 * @qp_state: text, empty for none
 * @mtu: path MTU in bytes, 0 for none
 */
struct hcomm_link_info {
	char device[64];
	u32 qp_num;
	char qp_state[16];
	u32 mtu;
};

/**
 * struct hcomm_link - link to one peer
 *
 * Embedded first in the transport's link, which link_alloc() made and
 * link_free() frees.  Owned by the communicator from then on, until the
 * communicator ends.
 *
 * @el: the engine's end
 * @comm: communicator
 * @transport: transport
 * @peer: rank
 * @state: enum hcomm_link_state; changed only by hcomm_link_set_state()
 * @state_lock: protects @state and @error; taken in any context
 * @error: negative errno, for FAILED
 * @reason: enum hcomm_fault_reason, for FAILED
 * @rtt_ns: round trip measured while VERIFYING
 * @stats: counters
 * @dev: sysfs device
 * @handled: FAILED or CLOSED or READY was told to the engine (comm->lock)
 * @news: in comm->news while @state was not told to the engine (comm->news_lock)
 * @list: in comm->link_list (comm->link_lock)
 * @started: link_start() was called: a program or LINK_OPEN needs it (link_lock)
 */
struct hcomm_link {
	struct hcomm_elink el;
	struct hcomm_comm *comm;
	const struct hcomm_transport *transport;
	u32 peer;
	enum hcomm_link_state state;
	spinlock_t state_lock;		/* @state, @error, @reason */
	int error;
	u32 reason;
	u64 rtt_ns;
	struct hcomm_link_stats stats;
	struct device *dev;
	enum hcomm_link_state handled;
	struct list_head news;
	struct list_head list;
	bool started;
};

/**
 * struct hcomm_comm - communicator
 * @obj: object
 * @uuid: identity, the same on all ranks
 * @secret: job secret
 * @par: options of the engine, defaults filled in
 * @transports: allowed HCOMM_TRANSPORT_*
 * @connect_timeout_ms: limit of link bring-up
 * @listen: where the RDMA transport listens
 * @net: network namespace of the creator
 * @owner: process that made it
 * @node: in the module's table of local communicators
 * @lock: the engine's lock
 * @engine: the engine
 * @staging: staging memory, NULL if only local links are allowed
 * @link_lock: protects @links (pointers) and bring-up; before @lock
 * @links: by rank, NULL: no link
 * @peers: where the ranks are, NULL before COMM_PEERS; immutable then
 * @link_wq: woken when a link's state changes
 * @work: runs the engine when nobody else does
 * @fault_work: tears the links down after a fault
 * @tdata: per transport data, by index of the transport
 * @dev: sysfs device
 * @refused: connections turned down: unknown, too many, without the secret
 * @closing: no new links, launches or incoming connections
 */
struct hcomm_comm {
	struct hcomm_object obj;
	u8 uuid[16];
	u8 secret[32];
	struct hcomm_engine_params par;
	u32 transports;
	u32 connect_timeout_ms;
	struct hcomm_addr listen;
	struct net *net;
	struct pid *owner;
	struct list_head node;
	struct mutex lock;		/* the engine */
	struct hcomm_engine engine;
	struct hcomm_memobj *staging;
	struct mutex link_lock;		/* @links, bring-up */
	struct hcomm_link **links;
	struct hcomm_peer *peers;
	wait_queue_head_t link_wq;
	struct work_struct work;
	struct work_struct fault_work;
	void *tdata[4];
	struct device *dev;
	atomic64_t refused;
	bool closing;
	/* private: to comm.c, run.c, launch.c and link.c */
	struct hcomm_ctx *ctx;		/* a reference; nobody's ring outlives it */
	struct list_head ctx_node;	/* in ctx->comms, under ctx->comms_lock */
	struct mem_cgroup *memcg;	/* of the creator: links are charged to it */
	u32 index;			/* number in names and traces */
	atomic_t kicks;			/* enum hcomm_kicks */
	atomic_t runners;		/* threads that look at kicks when they leave */
	bool armed;			/* @lock: whatever comes will kick */
	bool dead;			/* @lock: transports' parts are gone */
	bool torn_down;			/* @link_lock: links are stopped, none begins */
	bool visible;			/* module's table: may be found */
	bool unlisted;			/* not in ctx->comms any more */
	bool loaded;			/* @link_lock: a program was loaded */
	int error;			/* copy of the fault's error, negative */
	struct list_head link_list;	/* all links, under @link_lock */
	spinlock_t news_lock;		/* @news; taken in any context */
	struct list_head news;		/* links whose state the engine must learn */
	struct list_head done;		/* @lock: launches to report */
	struct hcomm_tomb *tomb;	/* what remains of it */
	u64 born;			/* order of births and deaths */
	struct delayed_work tick;	/* while runs are in flight, or news wait for one */
	u64 launches;			/* @lock */
	u64 runs_failed;		/* @lock */
	u64 bytes_copied;		/* @lock */
	u64 bytes_reduced;		/* @lock */
	u64 bytes_helped;		/* the waiter's */
	atomic64_t pushes;		/* rounds that peers ran */
	struct list_head *push;		/* @lock: where peers to push are kept, or NULL */
	struct list_head push_node;	/* whose who set @pushed */
	atomic_t pushed;		/* somebody is going to run it */
	u64 progress;			/* @lock; messages and chunks: waiters spin on */
};

/**
 * hcomm_comm_kick - something arrived for the communicator's engine
 * @comm: communicator
 *
 * Any context.
 */
void hcomm_comm_kick(struct hcomm_comm *comm);

/**
 * hcomm_comm_kick_by - a peer on this kernel sent something
 * @comm: communicator
 * @by: the peer's, locked
 * @runs: only a run can want it
 *
 * As hcomm_comm_kick(), but who runs the peer's engine may have to run this one, too.
 * What only a run can want waits for the next launch if there is none: the peer was
 * quicker, and a worker would but take the processor from who is about to launch.
 */
void hcomm_comm_kick_by(struct hcomm_comm *comm, struct hcomm_comm *by, bool runs);

/**
 * hcomm_comm_nudge - there is something to help with
 * @comm: communicator
 *
 * Any context.  The waiter looks round if it spins; nobody is woken.
 */
void hcomm_comm_nudge(struct hcomm_comm *comm);

/**
 * hcomm_link_set_state - move a link on
 * @link: link
 * @state: new state
 * @reason: enum hcomm_fault_reason, for FAILED
 * @error: negative errno, for FAILED
 *
 * The one switch of the state machine.  Any context.  Refuses what is no legal
 * transition (FAILED and CLOSED are final).  READY and FAILED kick the
 * communicator, which tells the engine under comm->lock.
 *
 * Return: true if the state changed.
 */
bool hcomm_link_set_state(struct hcomm_link *link, enum hcomm_link_state state,
			  u32 reason, int error);

/**
 * hcomm_link_get_locked - the link to a peer, made if there is none
 * @comm: communicator, link_lock held
 * @peer: other rank
 * @transport: the transport an incoming connection came over, or NULL: choose
 *	(local if both run on this kernel and it is allowed, else rdma)
 *
 * Return: the link or ERR_PTR: -EHOSTUNREACH (no transport reaches it).
 */
struct hcomm_link *hcomm_link_get_locked(struct hcomm_comm *comm, u32 peer,
					 const struct hcomm_transport *transport);

/**
 * struct hcomm_comm_absence - why a communicator was not found
 * @stranger: there is one of that identity and rank, but it has another secret
 * @gone: it was here and ended
 * @fault: @gone: its fault, error 0 when it left in good order
 */
struct hcomm_comm_absence {
	bool stranger;
	bool gone;
	struct hcomm_fault fault;
};

/**
 * hcomm_comm_find - the end of another rank, on this kernel
 * @seeker: end of one rank; the other has the same identity and secret
 * @rank: the other rank
 * @why: out, on NULL
 *
 * One who does not know the secret can't stand in for a rank, nor keep it away.
 *
 * Return: with a reference, or NULL.
 */
struct hcomm_comm *hcomm_comm_find(const struct hcomm_comm *seeker, u32 rank,
				   struct hcomm_comm_absence *why);
void hcomm_comm_put(struct hcomm_comm *comm);

/**
 * struct hcomm_comm_watch - wants to know when a communicator appears or ends
 * @node: in the module's list
 * @uuid: identity
 * @rank: its rank
 * @changed: called with the module's table locked: may only queue work
 */
struct hcomm_comm_watch {
	struct list_head node;
	const u8 *uuid;
	u32 rank;
	void (*changed)(struct hcomm_comm_watch *watch);
};

void hcomm_comm_watch_add(struct hcomm_comm_watch *watch);
void hcomm_comm_watch_del(struct hcomm_comm_watch *watch);

#endif /* HCOMM_COMM_H */
