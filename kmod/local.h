/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Transport "local": what its files share.  local.c makes and stops links,
 * local_end.c sends, receives and polls, local_pull.c moves what is large.
 */
#ifndef HCOMM_LOCAL_H
#define HCOMM_LOCAL_H

#include <linux/completion.h>
#include <linux/kref.h>
#include <linux/workqueue.h>

#include "comm_priv.h"

/**
 * struct local_job - a transfer that several threads do
 * @t: transfer
 * @next: where the part begins that nobody took yet
 * @helping: a thread of the source's rank does a part
 */
struct local_job {
	const struct hcomm_transfer *t;
	u64 next;
	bool helping;
};

/**
 * struct local_comm - a communicator as its peers on this kernel see it
 * @ref: the communicator, and the ends of its links
 * @lock: protects @ready, @comm, @job and what it is, and all its ends
 * @ready: ends with something to look at
 * @comm: whom to kick, NULL when it is gone
 * @job: transfer from its memory that its waiting thread may help with, or NULL;
 *	belongs to the peer who does it, and ends there
 */
struct local_comm {
	struct kref ref;
	spinlock_t lock;		/* @ready, @comm, @job, all ends */
	struct list_head ready;
	struct hcomm_comm *comm;
	struct local_job *job;
};

/**
 * struct local_rx - one received message
 * @node: in end->inbox or end->free
 * @end: where it came to
 * @msg: message; an RTS holds a reference to msg.src.mem
 * @payload: slot with the bytes of an EAGER, or NULL
 */
struct local_rx {
	struct list_head node;
	struct local_end *end;
	struct hcomm_msg msg;
	u8 *payload;
};

/**
 * struct local_end - where one link receives; all under lc->lock
 * @ref: its link, and the peer's link
 * @lc: communicator that receives here
 * @link: link that owns it
 * @ready_node: in lc->ready
 * @inbox: messages in order of arrival
 * @free: unused entries
 * @pool: all entries
 * @slots: stack of unused payload slots
 * @nslots: its height
 * @slot_mem: memory of the slots
 * @ping: the peer wants an answer
 * @pong: the peer answered
 * @hangup: the peer stopped
 * @last: with that fault, error 0: in good order
 * @stopped: our link stopped: nothing is put here any more
 * @quiet: our engine reads nothing of the peer's any more
 */
struct local_end {
	struct kref ref;
	struct local_comm *lc;
	struct local_link *link;
	struct list_head ready_node;
	struct list_head inbox;
	struct list_head free;
	struct local_rx *pool;
	u8 **slots;
	u32 nslots;
	u8 *slot_mem;
	bool ping;
	bool pong;
	bool hangup;
	bool stopped;
	struct hcomm_fault last;
	struct completion quiet;
};

/**
 * struct local_link - link
 * @link: base
 * @own: where we receive
 * @far: where we send to; set once, under local_mutex
 * @stopped: no pairing any more (local_mutex)
 * @down: no sending any more (comm->lock)
 * @stranger: there is one who pretends to be the peer
 * @ping_ns: when our ping left
 * @watch: tells when the peer's communicator appears or ends
 * @connect: looks for the peer and pairs
 * @timeout: limit of that
 */
struct local_link {
	struct hcomm_link link;
	struct local_end *own;
	struct local_end *far;
	bool stopped;
	bool down;
	bool stranger;
	u64 ping_ns;
	struct hcomm_comm_watch watch;
	struct work_struct connect;
	struct delayed_work timeout;
};

static inline struct local_link *local_of(struct hcomm_link *link)
{
	return container_of(link, struct local_link, link);
}

static inline struct local_comm *local_comm_of(struct hcomm_comm *comm)
{
	return comm->tdata[hcomm_transport_local.index];
}

extern const struct hcomm_link_ops hcomm_local_link_ops;

void hcomm_local_comm_put(struct local_comm *lc);
struct local_end *hcomm_local_end_alloc(struct local_link *link, struct hcomm_comm *comm);
void hcomm_local_end_put(struct local_end *end);
void hcomm_local_end_ring(struct local_end *end);
void hcomm_local_end_set(struct local_end *end, bool *flag);
void hcomm_local_end_stop(struct local_end *end);
void hcomm_local_link_end_as(struct hcomm_link *link, const struct hcomm_fault *fault);
void hcomm_local_pull(struct hcomm_elink *l, const struct hcomm_transfer *t);
bool hcomm_local_help(struct hcomm_comm *comm);
bool hcomm_local_poll(struct hcomm_comm *comm, u32 budget);
bool hcomm_local_arm(struct hcomm_comm *comm);

#endif /* HCOMM_LOCAL_H */
