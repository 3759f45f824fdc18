/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The rdma transport's own header: rdma_cm, reliable connections, FRWR.
 *
 * Objects.
 *  - hcomm_rdma_dev: an RDMA device and its protection domain.
 *  - hcomm_rdma_comm: a communicator's part: listener, list of connections.
 *  - hcomm_rdma_conn: one connection (cm id, CQ, QP, buffers, handshake).  An
 *    incoming one belongs to no link before its peer proved that it knows the
 *    job secret, so a stranger never gets near a link.
 *  - hcomm_rdma_link: a link and the connection that carries it.
 *  - hcomm_rdma_att: memory registered with a device.
 *
 * One CQ per connection.  It is sized by that QP's own queues, so it can't
 * overflow whatever the number of links, and needs no resizing.  What has to be
 * polled is in rc->ready: a connection is either armed (its CQ will interrupt)
 * or in that list.  Interrupt handlers and CM handlers only put a connection
 * there and kick the communicator; everything a connection does, handshake and
 * errors included, is done by hcomm_rdma_conn_poll() under comm->lock.
 *
 * Locking: link_lock -> comm->lock -> rc->lock; mo->attach_lock is never taken
 * under comm->lock by this transport (look-ups use RCU).  CM handlers take none
 * of the mutexes.
 */
#ifndef HCOMM_RDMA_H
#define HCOMM_RDMA_H

#include <linux/completion.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/scatterlist.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_cm.h>
#include "auth.h"
#include "rdma_wire.h"
#include "transport.h"

#define HCOMM_RDMA_MAX_PENDING		64	/* incoming handshakes at a time */
#define HCOMM_RDMA_HANDSHAKE_MS		15000	/* limit of one of them */
#define HCOMM_RDMA_CROWDED_MS		1000	/* limit when there are too many */
#define HCOMM_RDMA_RESOLVE_MS		1000	/* limit of one try to resolve an address */
#define HCOMM_RDMA_YIELD_MS		500	/* the higher rank lets the lower connect */
#define HCOMM_RDMA_RETRY_MIN_MS		50	/* back-off after a refusal */
#define HCOMM_RDMA_RETRY_MAX_MS		1000
#define HCOMM_RDMA_REG_BATCH		16	/* registrations in flight per QP */
#define HCOMM_RDMA_PINGS		4
#define HCOMM_RDMA_SPARE_RX		8
#define HCOMM_RDMA_CTL_TX		8	/* handshake messages */
#define HCOMM_RDMA_SMALL_TX		192	/* bytes: any message but EAGER */
#define HCOMM_RDMA_MAX_SEG_PAGES	1024u

extern struct workqueue_struct *hcomm_rdma_wq;

/* ------------------------------------------------------------------- devices */

/**
 * struct hcomm_rdma_dev - an RDMA device
 * @node: in the module's list, under its mutex
 * @ref: keeps the memory
 * @ibdev: the device; usable while @users is held
 * @pd: protection domain of all links and registrations
 * @seg_pages: pages of one registration
 * @lock: protects @conns, @atts, @users and @removed
 * @conns: connections on it
 * @atts: registered memory
 * @users: connections, registrations in the making
 * @removed: no new users
 * @wq: woken when @users or @atts shrinks
 */
struct hcomm_rdma_dev {
	struct list_head node;
	struct kref ref;
	struct ib_device *ibdev;
	struct ib_pd *pd;
	u32 seg_pages;
	spinlock_t lock;	/* see above */
	struct list_head conns;
	struct list_head atts;
	u32 users;
	bool removed;
	wait_queue_head_t wq;
};

int hcomm_rdma_dev_init(void);
void hcomm_rdma_dev_exit(void);
int hcomm_rdma_dev_enter(struct hcomm_rdma_dev *dev);
void hcomm_rdma_dev_leave(struct hcomm_rdma_dev *dev);
void hcomm_rdma_dev_put(struct hcomm_rdma_dev *dev);

/* -------------------------------------------------------------------- memory */

/**
 * struct hcomm_rdma_seg - one registration
 * @mr: its memory region
 * @first: first page of the memory that it covers
 */
struct hcomm_rdma_seg {
	struct ib_mr *mr;
	unsigned long first;
};

/**
 * struct hcomm_rdma_att - memory registered with a device
 * @att: base; key is the device object
 * @rcu: look-ups run under RCU
 * @dev: device
 * @iova: address of the first page on the wire, random
 * @dev_node: in dev->atts
 * @sgt: the pages, mapped for the device
 * @dir: direction of the mapping
 * @npages: number of pages
 * @chunk_pages: pages that a chunk may touch
 * @stride: pages from one segment's begin to the next one's
 * @nsegs: number of segments
 * @segs: segments; they overlap so that any chunk lies inside one
 */
struct hcomm_rdma_att {
	struct hcomm_mem_attach att;
	struct rcu_head rcu;
	struct hcomm_rdma_dev *dev;
	u64 iova;
	struct list_head dev_node;
	struct sg_table sgt;
	enum dma_data_direction dir;
	unsigned long npages;
	u32 chunk_pages;
	u32 stride;
	u32 nsegs;
	struct hcomm_rdma_seg *segs;
};

/* Pages that a chunk of any alignment may touch. */
static inline u32 hcomm_rdma_chunk_pages(u32 chunk_size)
{
	return DIV_ROUND_UP(chunk_size, PAGE_SIZE) + 1;
}

int hcomm_rdma_mem_prepare(struct hcomm_link *link, struct hcomm_memobj *mo);
int hcomm_rdma_mem_lookup(struct hcomm_rdma_dev *dev, struct hcomm_buf buf,
			  u32 len, u64 *addr, struct ib_mr **mr);
void hcomm_rdma_mem_detach_all(struct hcomm_rdma_dev *dev);

/* --------------------------------------------------------------- connections */

/**
 * enum hcomm_rdma_wr_kind - what a work request was, found by its wr_id
 * @HCOMM_RDMA_WR_RECV: a receive
 * @HCOMM_RDMA_WR_SEND: a message, of the engine or of the handshake
 * @HCOMM_RDMA_WR_WRITE: a write for the engine
 * @HCOMM_RDMA_WR_REG: a registration
 */
enum hcomm_rdma_wr_kind {
	HCOMM_RDMA_WR_RECV,
	HCOMM_RDMA_WR_SEND,
	HCOMM_RDMA_WR_WRITE,
	HCOMM_RDMA_WR_REG,
};

/**
 * struct hcomm_rdma_wr - begin of everything a wr_id points to
 * @kind: enum hcomm_rdma_wr_kind
 * @node: in a free list, or wherever its kind says
 */
struct hcomm_rdma_wr {
	enum hcomm_rdma_wr_kind kind;
	struct list_head node;
};

/**
 * struct hcomm_rdma_rx - receive buffer
 * @wr: base; node in conn->rx_spare or conn->held, else posted or held by the
 *	engine
 * @buf: bytes
 * @dma: address of @buf for the device
 * @len: bytes received
 * @imm: immediate value
 * @has_imm: notification of a write
 */
struct hcomm_rdma_rx {
	struct hcomm_rdma_wr wr;
	u8 *buf;
	u64 dma;
	u32 len;
	u32 imm;
	bool has_imm;
};

/**
 * struct hcomm_rdma_tx - a send or a write
 * @wr: base; node in a free list, else posted
 * @buf: bytes of a send
 * @dma: address of @buf for the device
 * @free: the free list that it belongs to
 * @engine: made by the engine
 * @cookie: of a write
 */
struct hcomm_rdma_tx {
	struct hcomm_rdma_wr wr;
	u8 *buf;
	u64 dma;
	struct list_head *free;
	bool engine;
	u32 cookie;
};

/**
 * struct hcomm_rdma_reg - a registration in flight
 * @wr: base; node in conn->regs
 * @reg: work request
 * @done: completed, flushed, or the QP is gone
 * @status: 0 or negative errno
 */
struct hcomm_rdma_reg {
	struct hcomm_rdma_wr wr;
	struct ib_reg_wr reg;
	struct completion done;
	int status;
};

/**
 * struct hcomm_rdma_block - a piece of memory that buffers are cut from
 * @mem: bytes
 * @dma: address for the device
 * @len: bytes
 * @mapped: mapped for the device
 */
struct hcomm_rdma_block {
	void *mem;
	u64 dma;
	u32 len;
	bool mapped;
};

/**
 * struct hcomm_rdma_pool - buffers of one size
 * @blocks: memory
 * @nblocks: number of blocks
 * @per_block: buffers in a block
 * @size: bytes of a buffer
 * @dir: who writes
 */
struct hcomm_rdma_pool {
	struct hcomm_rdma_block *blocks;
	u32 nblocks;
	u32 per_block;
	u32 size;
	enum dma_data_direction dir;
};

/**
 * enum hcomm_rdma_phase - of the handshake
 * @HCOMM_RDMA_CONNECTING: no message yet
 * @HCOMM_RDMA_HELLO_WAIT: peer's HELLO is awaited
 * @HCOMM_RDMA_PROOF_WAIT: peer's PROOF is awaited
 * @HCOMM_RDMA_ATTACHING: acceptor: peer is genuine, its link is looked up
 * @HCOMM_RDMA_PINGING: round trips are measured
 * @HCOMM_RDMA_UP: the link is READY
 * @HCOMM_RDMA_REFUSED: a REFUSE is on its way out; then the end
 */
enum hcomm_rdma_phase {
	HCOMM_RDMA_CONNECTING,
	HCOMM_RDMA_HELLO_WAIT,
	HCOMM_RDMA_PROOF_WAIT,
	HCOMM_RDMA_ATTACHING,
	HCOMM_RDMA_PINGING,
	HCOMM_RDMA_UP,
	HCOMM_RDMA_REFUSED,
};

/* Bits of conn->events, set in any context, handled by the poll. */
enum hcomm_rdma_event {
	HCOMM_RDMA_EV_ESTABLISHED,
	HCOMM_RDMA_EV_ATTACHED,
	HCOMM_RDMA_EV_LOST,
};

/* Bits of conn->flags. */
enum hcomm_rdma_flag {
	HCOMM_RDMA_F_CLAIMED,		/* somebody ends it */
};

struct hcomm_rdma_comm;
struct hcomm_rdma_link;

/**
 * struct hcomm_rdma_conn - one connection
 * @ref: keeps the memory (and what the engine holds of it)
 * @rc: communicator's part
 * @link: link that it carries; set once, under comm->lock
 * @peer: other rank
 * @active: this side connects
 * @superseded: active, and the lower rank connected meanwhile (comm->lock and
 *	rc->lock)
 * @iwarp: no immediate data
 * @id: CM id; ended by hcomm_rdma_conn_end() only
 * @dev: device, NULL before it is known
 * @cq: completion queue
 * @qp_lock: protects @qp against its end, for queries
 * @qp: queue pair
 * @node: in rc->conns
 * @listed: may be put into rc->ready (rc->lock)
 * @pending: counted in rc->npending (rc->lock)
 * @born: jiffies when it was made
 * @dev_node: in dev->conns
 * @ready: in rc->ready: to be polled; empty: armed
 * @events: enum hcomm_rdma_event
 * @flags: enum hcomm_rdma_flag
 * @lost_reason: enum hcomm_fault_reason that goes with EV_LOST
 * @lost_error: negative errno that goes with EV_LOST
 * @lost_retry: a refusal: may be tried again
 * @gone: it was ended
 * @timer: limit of an incoming handshake
 * @reap: ends an incoming connection that has no link
 * @attach: gives a genuine incoming connection to its link
 *
 * Set under the id's handler mutex:
 * @closing: CM events are of no interest any more
 *
 * Under comm->lock:
 * @stopped: nothing is passed to the engine any more
 * @lost: the loss was dealt with
 * @phase: enum hcomm_rdma_phase
 * @request: private data
 * @hello_mine: HELLO sent
 * @hello_theirs: HELLO received
 * @ping_at: time of the last PING
 * @pings_left: PINGs to go
 * @ping_held: PING to be answered once there is a link, 0: none
 * @rtt_ns: shortest round trip
 * @rx: receive buffers
 * @nrx: their number
 * @rx_pool: their memory
 * @rx_spare: buffers that are not posted
 * @rx_posted: number of posted ones
 * @rx_depth: how many there should be
 * @held: engine messages that came before the link was up
 * @tx: sends and writes
 * @ntx: their number
 * @small_pool: memory of sends of all but EAGER
 * @big_pool: memory of EAGER sends
 * @small_free: free sends of all but EAGER
 * @big_free: free EAGER sends
 * @write_free: free writes
 * @sends: engine's messages and writes in flight
 * @ctls: handshake messages in flight
 * @starved: the engine was told -EAGAIN
 * @outstanding: work requests of both queues
 * @sq_free: room in the send queue
 * @regs: registrations in flight
 * @reg_lock: one registering thread at a time (mutex, outside comm->lock)
 */
struct hcomm_rdma_conn {
	struct kref ref;
	struct hcomm_rdma_comm *rc;
	struct hcomm_rdma_link *link;
	u32 peer;
	bool active;
	bool superseded;
	bool iwarp;
	struct rdma_cm_id *id;
	struct hcomm_rdma_dev *dev;
	struct ib_cq *cq;
	struct mutex qp_lock;	/* see above */
	struct ib_qp *qp;
	struct list_head node;
	bool listed;
	bool pending;
	unsigned long born;
	struct list_head dev_node;
	struct list_head ready;
	unsigned long events;
	unsigned long flags;
	u32 lost_reason;
	int lost_error;
	bool lost_retry;
	struct completion gone;
	struct delayed_work timer;
	struct work_struct reap;
	struct work_struct attach;

	bool closing;

	bool stopped;
	bool lost;
	enum hcomm_rdma_phase phase;
	struct hcomm_rdma_request request;
	struct hcomm_rdma_hello hello_mine;
	struct hcomm_rdma_hello hello_theirs;
	u64 ping_at;
	u32 pings_left;
	u32 ping_held;
	u64 rtt_ns;
	struct hcomm_rdma_rx *rx;
	u32 nrx;
	struct hcomm_rdma_pool rx_pool;
	struct list_head rx_spare;
	u32 rx_posted;
	u32 rx_depth;
	struct list_head held;
	struct hcomm_rdma_tx *tx;
	u32 ntx;
	struct hcomm_rdma_pool small_pool;
	struct hcomm_rdma_pool big_pool;
	struct list_head small_free;
	struct list_head big_free;
	struct list_head write_free;
	u32 sends;
	u32 ctls;
	bool starved;
	u32 outstanding;
	u32 sq_free;
	struct list_head regs;
	struct mutex reg_lock;	/* see above */
};

/**
 * struct hcomm_rdma_link - a link over RDMA
 * @link: base
 * @conn: connection; set under comm->lock; the reference lasts to link_free()
 * @stopping: hcomm_rdma_link_stop() was called (comm->lock)
 * @is_up: was READY (comm->lock)
 * @deadline: jiffies when bring-up has failed
 * @backoff_ms: wait before the next attempt
 * @last_error: of the last attempt, what a timeout is reported as
 * @limit: fires at @deadline
 * @retry: next attempt to connect, of the higher rank the first, too
 */
struct hcomm_rdma_link {
	struct hcomm_link link;
	struct hcomm_rdma_conn *conn;
	bool stopping;
	bool is_up;
	unsigned long deadline;
	u32 backoff_ms;
	int last_error;
	struct delayed_work limit;
	struct delayed_work retry;
};

static inline struct hcomm_rdma_link *hcomm_rdma_link_of(struct hcomm_link *link)
{
	return container_of(link, struct hcomm_rdma_link, link);
}

static inline struct hcomm_rdma_link *hcomm_rdma_elink_of(struct hcomm_elink *l)
{
	return container_of(l, struct hcomm_rdma_link, link.el);
}

/**
 * struct hcomm_rdma_comm - a communicator's part
 * @comm: communicator
 * @auth: proofs
 * @lock: protects @ready, @nready, @conns, @nconns, @npending, @listener and @closing;
 *	taken in any context
 * @ready: connections to be polled
 * @nready: their number
 * @conns: all connections
 * @nconns: their number
 * @npending: incoming ones that belong to no link yet
 * @listener: CM id, NULL: none
 * @listener_gone: its device was removed and the CM ends it
 * @closing: no new connections
 * @idle: woken when @nconns gets 0
 */
struct hcomm_rdma_comm {
	struct hcomm_comm *comm;
	struct hcomm_auth *auth;
	spinlock_t lock;	/* see above */
	struct list_head ready;
	u32 nready;
	struct list_head conns;
	u32 nconns;
	u32 npending;
	struct rdma_cm_id *listener;
	struct completion listener_gone;
	bool closing;
	wait_queue_head_t idle;
};

static inline struct hcomm_rdma_comm *hcomm_rdma_comm_of(struct hcomm_comm *comm)
{
	return comm->tdata[hcomm_transport_rdma.index];
}

/* rdma_dev.c */
int hcomm_rdma_dev_bind(struct hcomm_rdma_conn *conn);
void hcomm_rdma_dev_unbind(struct hcomm_rdma_conn *conn);

/* rdma_cm.c */
int hcomm_rdma_listen(struct hcomm_rdma_comm *rc);
void hcomm_rdma_unlisten(struct hcomm_rdma_comm *rc);
int hcomm_rdma_connect(struct hcomm_rdma_link *rl, u32 timeout_ms);
void hcomm_rdma_attach_work(struct work_struct *work);

/* rdma_conn.c */
struct hcomm_rdma_conn *hcomm_rdma_conn_new(struct hcomm_rdma_comm *rc,
					    struct hcomm_rdma_link *rl,
					    u32 peer, struct rdma_cm_id *id);
void hcomm_rdma_conn_put(struct hcomm_rdma_conn *conn);
void hcomm_rdma_conn_end(struct hcomm_rdma_conn *conn, u32 reason, int error);
void hcomm_rdma_conn_wake(struct hcomm_rdma_conn *conn);
void hcomm_rdma_conn_event(struct hcomm_rdma_conn *conn, enum hcomm_rdma_event ev);
void hcomm_rdma_conn_lose(struct hcomm_rdma_conn *conn, u32 reason, int error,
			  bool retry);
void hcomm_rdma_conn_reap(struct hcomm_rdma_conn *conn);
bool hcomm_rdma_conn_poll(struct hcomm_rdma_conn *conn, u32 *budget);
bool hcomm_rdma_conn_arm(struct hcomm_rdma_conn *conn);

/* rdma_buf.c */
int hcomm_rdma_bufs_alloc(struct hcomm_rdma_conn *conn);
void hcomm_rdma_bufs_unmap(struct hcomm_rdma_conn *conn);
void hcomm_rdma_bufs_free(struct hcomm_rdma_conn *conn);

/* rdma_qp.c */
int hcomm_rdma_qp_create(struct hcomm_rdma_conn *conn);
void hcomm_rdma_qp_destroy(struct hcomm_rdma_conn *conn);

/* rdma_verbs.c */
int hcomm_rdma_refill(struct hcomm_rdma_conn *conn);
void hcomm_rdma_reg_done(struct hcomm_rdma_reg *reg, int status);
u32 hcomm_rdma_cq_poll(struct hcomm_rdma_conn *conn, u32 budget);
int hcomm_rdma_post_ctl(struct hcomm_rdma_conn *conn, const void *msg, u32 len);
void hcomm_rdma_deliver_held(struct hcomm_rdma_conn *conn);
int hcomm_rdma_send(struct hcomm_elink *l, const struct hcomm_msg *msg,
		    struct hcomm_buf payload);
int hcomm_rdma_write(struct hcomm_elink *l, struct hcomm_buf src, u32 len,
		     u64 addr, u32 rkey, u32 imm, u32 cookie);
int hcomm_rdma_expose(struct hcomm_elink *l, struct hcomm_buf dst, u32 len,
		      u64 *addr, u32 *rkey);
void hcomm_rdma_release(struct hcomm_elink *l, void *rx);
int hcomm_rdma_post_reg(struct hcomm_rdma_conn *conn, struct hcomm_rdma_reg *reg);

/* rdma_hello.c */
bool hcomm_rdma_options_differ(const struct hcomm_rdma_conn *conn);
void hcomm_rdma_hello_start(struct hcomm_rdma_conn *conn);
void hcomm_rdma_hello_attached(struct hcomm_rdma_conn *conn);
void hcomm_rdma_hello_rx(struct hcomm_rdma_conn *conn, const u8 *buf, u32 len);

/* rdma.c */
void hcomm_rdma_link_up(struct hcomm_rdma_conn *conn);
bool hcomm_rdma_calls(const struct hcomm_rdma_conn *conn);
void hcomm_rdma_link_lost(struct hcomm_rdma_conn *conn, u32 reason, int error,
			  bool retry);

#endif /* HCOMM_RDMA_H */
