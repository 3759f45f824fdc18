/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A context is one open() of /dev/hcomm: a table of objects, a completion ring,
 * and the list of its communicators for the thread that waits and helps.
 *
 * Lifetime.  The file holds one reference, each communicator another: the ring
 * is there for as long as a run can complete.  Closing the file ends all
 * objects first.
 *
 * The waiter.  At most one thread of a context waits in the kernel and runs the
 * engines of all its communicators meanwhile.  While @waiter is SPIN it will
 * look at them soon, while it is SLEEP it has to be woken, while it is NONE the
 * workers do the work.  It is YIELD while it lets others have its CPU, but is about
 * to go on: a peer that has one may run the engine meanwhile (push.c).  @kicked tells
 * that some communicator has news, or that there is something to help with.
 */
#ifndef HCOMM_CTX_H
#define HCOMM_CTX_H

#include <linux/atomic.h>
#include <linux/errno.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/poll.h>
#include <linux/sched/signal.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/xarray.h>
#include <linux/hcomm.h>

struct eventfd_ctx;
struct hcomm_comm;
struct hcomm_memobj;
struct vm_area_struct;

enum hcomm_waiter {
	HCOMM_WAITER_NONE,
	HCOMM_WAITER_SPIN,
	HCOMM_WAITER_SLEEP,
	HCOMM_WAITER_YIELD,
};

/**
 * struct hcomm_cring - completion ring of a context
 * @shm: what the process maps; only shm->head is read, and never trusted
 * @mem: its memory
 * @mask: entries - 1
 * @lock: protects @tail, @reserved and the entries; before po->lock
 * @tail: next entry to write
 * @reserved: launches whose completion is not written yet
 * @eventfd: signalled for each completion, or NULL
 */
struct hcomm_cring {
	struct hcomm_ring *shm;
	struct hcomm_memobj *mem;
	u32 mask;
	spinlock_t lock;	/* @tail, @reserved, entries */
	u32 tail;
	u32 reserved;
	struct eventfd_ctx *eventfd;
};

/**
 * struct hcomm_ctx - context
 * @ref: references
 * @objects: objects by id
 * @setup_lock: serialises RING_SETUP
 * @ring: completion ring, NULL before RING_SETUP; ends with the context
 * @poll_wq: poll() sleeps here
 * @comms_lock: protects @comms; before comm->lock
 * @comms: communicators that are not shut down
 * @waiter: enum hcomm_waiter
 * @kicked: some communicator of this context has news
 * @no_yield: time until which a waiter sleeps at once where it shares its CPU; the
 *	waiter's
 * @waiter_wq: the waiter sleeps here, and launches that wait beside it
 */
struct hcomm_ctx {
	struct kref ref;
	struct xarray objects;
	struct mutex setup_lock;	/* RING_SETUP */
	struct hcomm_cring *ring;
	wait_queue_head_t poll_wq;
	struct mutex comms_lock;	/* @comms */
	struct list_head comms;
	atomic_t waiter;
	atomic_t kicked;
	u64 no_yield;
	wait_queue_head_t waiter_wq;
};

struct hcomm_ctx *hcomm_ctx_alloc(void);
void hcomm_ctx_get(struct hcomm_ctx *ctx);
void hcomm_ctx_put(struct hcomm_ctx *ctx);

/**
 * struct hcomm_cmd - an ioctl in flight
 * @ctx: context
 * @ubuf: the struct in user space
 * @usize: its size there
 * @ksize: its size here
 * @data: the copy, zero-extended
 */
struct hcomm_cmd {
	struct hcomm_ctx *ctx;
	void __user *ubuf;
	u32 usize;
	u32 ksize;
	void *data;
};

/**
 * hcomm_cmd_respond - copy the struct back
 * @cmd: command
 *
 * Before an object is published: after that nothing may fail.
 *
 * Return: 0 or -EFAULT.
 */
int hcomm_cmd_respond(struct hcomm_cmd *cmd);

/* The ioctls, by file: file.c, object.c, memobj.c, comm.c, link.c, prog.c ... */
int hcomm_ioctl_destroy(struct hcomm_cmd *cmd);
int hcomm_ioctl_mem_reg(struct hcomm_cmd *cmd);
int hcomm_ioctl_comm_create(struct hcomm_cmd *cmd);
int hcomm_ioctl_comm_peers(struct hcomm_cmd *cmd);
int hcomm_ioctl_comm_query(struct hcomm_cmd *cmd);
int hcomm_ioctl_comm_abort(struct hcomm_cmd *cmd);
int hcomm_ioctl_link_open(struct hcomm_cmd *cmd);
int hcomm_ioctl_prog_load(struct hcomm_cmd *cmd);
int hcomm_ioctl_launch(struct hcomm_cmd *cmd);
int hcomm_ioctl_launch_batch(struct hcomm_cmd *cmd);
int hcomm_ioctl_wait(struct hcomm_cmd *cmd);
int hcomm_ioctl_ring_setup(struct hcomm_cmd *cmd);

/* ring.c */
struct hcomm_cring *hcomm_ctx_ring(struct hcomm_ctx *ctx);
void hcomm_ring_free(struct hcomm_cring *ring);
int hcomm_ring_reserve(struct hcomm_cring *ring);
void hcomm_ring_unreserve(struct hcomm_cring *ring);
void hcomm_ring_post_locked(struct hcomm_cring *ring, const struct hcomm_cqe *cqe);
void hcomm_ring_signal(struct hcomm_ctx *ctx);
u32 hcomm_ring_unread(struct hcomm_cring *ring, u32 *inflight);
int hcomm_ring_mmap(struct hcomm_ctx *ctx, struct vm_area_struct *vma);

/* wait.c */
/**
 * hcomm_ctx_wait - wait for something that engines of this context bring about
 * @ctx: context
 * @done: 1: it is there, 0: not yet, negative: it can't come any more
 * @arg: for @done
 * @timeout_ns: longest wait, negative: no limit
 * @exclusive: -EBUSY when there is another waiter; else sleep beside it
 *
 * Return: 0, -ETIMEDOUT, -ERESTARTSYS, -EBUSY or what @done returned.
 */
int hcomm_ctx_wait(struct hcomm_ctx *ctx, int (*done)(void *arg), void *arg,
		   s64 timeout_ns, bool exclusive);

/*
 * What a limited wait returns: after a signal that is handled it does not begin anew,
 * however many come.  Who was only stopped, traced or frozen does not notice it.
 */
static inline int hcomm_limited_wait(int ret)
{
	if (ret != -ERESTARTSYS)
		return ret;
	/* Task work is no signal, and may come more often than the limit. */
	return task_sigpending(current) ? -ERESTARTNOHAND : -EINTR;
}

/* main.c */
extern u8 hcomm_node_id[16];
extern unsigned int hcomm_spin_us;
extern struct workqueue_struct *hcomm_wq;	/* engines; never waits for the other */
extern struct workqueue_struct *hcomm_end_wq;	/* what ends things, and may wait */
extern struct workqueue_struct *hcomm_close_wq;	/* ends of contexts, wait for both */

/* file.c */
extern const struct file_operations hcomm_fops;

#endif /* HCOMM_CTX_H */
