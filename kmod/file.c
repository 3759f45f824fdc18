// SPDX-License-Identifier: GPL-2.0-only
/*
 * The file operations of /dev/hcomm: contexts, and the table of ioctls.
 *
 * The table knows the size of each struct here and in the first version of the
 * ABI; copying, extension and checks of the size are the same for all.
 */
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/module.h>
#include <linux/sched/signal.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "comm_priv.h"
#include "core/reduce.h"

struct hcomm_ctx *hcomm_ctx_alloc(void)
{
	struct hcomm_ctx *ctx = kzalloc(sizeof(*ctx), GFP_KERNEL_ACCOUNT);

	if (!ctx)
		return NULL;
	kref_init(&ctx->ref);
	xa_init_flags(&ctx->objects, XA_FLAGS_ALLOC1 | XA_FLAGS_ACCOUNT);
	mutex_init(&ctx->setup_lock);
	init_waitqueue_head(&ctx->poll_wq);
	mutex_init(&ctx->comms_lock);
	INIT_LIST_HEAD(&ctx->comms);
	atomic_set(&ctx->waiter, HCOMM_WAITER_NONE);
	atomic_set(&ctx->kicked, 0);
	init_waitqueue_head(&ctx->waiter_wq);
	return ctx;
}

static void ctx_release(struct kref *ref)
{
	struct hcomm_ctx *ctx = container_of(ref, struct hcomm_ctx, ref);

	hcomm_ring_free(ctx->ring);
	xa_destroy(&ctx->objects);
	mutex_destroy(&ctx->comms_lock);
	mutex_destroy(&ctx->setup_lock);
	kfree(ctx);
}

void hcomm_ctx_get(struct hcomm_ctx *ctx)
{
	kref_get(&ctx->ref);
}

void hcomm_ctx_put(struct hcomm_ctx *ctx)
{
	kref_put(&ctx->ref, ctx_release);
}

static int hcomm_open(struct inode *inode, struct file *file)
{
	struct hcomm_ctx *ctx = hcomm_ctx_alloc();

	if (!ctx)
		return -ENOMEM;
	/* Misc left its own pointer there. */
	file->private_data = ctx;
	return nonseekable_open(inode, file);
}

/* A thread may have a table of files for itself: its end is not the process's. */
static bool process_ends(void)
{
	return (current->flags & PF_EXITING) &&
	       ((current->signal->flags & SIGNAL_GROUP_EXIT) ||
		!atomic_read(&current->signal->live));
}

/* Called for each close(), and for each table of files that ends with the file in it. */
static int hcomm_flush(struct file *file, fl_owner_t id)
{
	/* Whoever has the last reference ends all in good order. */
	if (process_ends() && file_count(file) > 1)
		hcomm_comms_orphan(file->private_data);
	return 0;
}

static int hcomm_release(struct inode *inode, struct file *file)
{
	struct hcomm_ctx *ctx = file->private_data;

	hcomm_objects_destroy_all(ctx);
	hcomm_ctx_put(ctx);
	return 0;
}

/* -------------------------------------------------------------------- ioctls */

static int hcomm_ioctl_info(struct hcomm_cmd *cmd)
{
	struct hcomm_info *arg = cmd->data;
	u32 i;

	if (arg->pad)
		return -EINVAL;
	arg->abi_version = HCOMM_ABI_VERSION;
	arg->features = hcomm_reduce_simd() ? HCOMM_FEATURE_SIMD : 0;
	arg->transports = 0;
	for (i = 0; i < HCOMM_NR_TRANSPORTS; i++)
		arg->transports |= hcomm_transports[i]->id;
	memcpy(arg->node_id, hcomm_node_id, sizeof(arg->node_id));
	arg->max_steps = HCOMM_MAX_STEPS;
	arg->max_deps = HCOMM_MAX_DEPS;
	arg->max_slots = HCOMM_MAX_SLOTS;
	arg->max_ranks = HCOMM_MAX_RANKS;
	return hcomm_cmd_respond(cmd);
}

int hcomm_cmd_respond(struct hcomm_cmd *cmd)
{
	*(u32 *)cmd->data = cmd->usize;
	if (copy_to_user(cmd->ubuf, cmd->data, min(cmd->usize, cmd->ksize)))
		return -EFAULT;
	return 0;
}

union hcomm_cmd_buffer {
	struct hcomm_info info;
	struct hcomm_destroy destroy;
	struct hcomm_mem_reg mem_reg;
	struct hcomm_comm_create comm_create;
	struct hcomm_comm_peers comm_peers;
	struct hcomm_comm_query comm_query;
	struct hcomm_comm_abort comm_abort;
	struct hcomm_link_open link_open;
	struct hcomm_prog_load prog_load;
	struct hcomm_launch launch;
	struct hcomm_launch_batch launch_batch;
	struct hcomm_wait wait;
	struct hcomm_ring_setup ring_setup;
};

/**
 * struct hcomm_ioctl_op - an entry of the table
 * @size: size of the struct here
 * @min_size: size in the first version that had it
 * @execute: does it
 */
struct hcomm_ioctl_op {
	u32 size;
	u32 min_size;
	int (*execute)(struct hcomm_cmd *cmd);
};

#define IOCTL_OP(_cmd, _fn, _struct, _last)				\
	[_IOC_NR(_cmd) - HCOMM_CMD_BASE] = {				\
		.size = sizeof(_struct),				\
		.min_size = offsetofend(_struct, _last),		\
		.execute = _fn,						\
	}

static const struct hcomm_ioctl_op hcomm_ioctl_ops[] = {
	IOCTL_OP(HCOMM_INFO, hcomm_ioctl_info, struct hcomm_info, max_ranks),
	IOCTL_OP(HCOMM_DESTROY, hcomm_ioctl_destroy, struct hcomm_destroy, id),
	IOCTL_OP(HCOMM_MEM_REG, hcomm_ioctl_mem_reg, struct hcomm_mem_reg, out_needed),
	IOCTL_OP(HCOMM_COMM_CREATE, hcomm_ioctl_comm_create,
		 struct hcomm_comm_create, pad),
	IOCTL_OP(HCOMM_COMM_PEERS, hcomm_ioctl_comm_peers, struct hcomm_comm_peers, flags),
	IOCTL_OP(HCOMM_COMM_QUERY, hcomm_ioctl_comm_query, struct hcomm_comm_query, fault),
	IOCTL_OP(HCOMM_COMM_ABORT, hcomm_ioctl_comm_abort,
		 struct hcomm_comm_abort, comm_id),
	IOCTL_OP(HCOMM_LINK_OPEN, hcomm_ioctl_link_open,
		 struct hcomm_link_open, out_rtt_ns),
	IOCTL_OP(HCOMM_PROG_LOAD, hcomm_ioctl_prog_load,
		 struct hcomm_prog_load, err_step),
	IOCTL_OP(HCOMM_LAUNCH, hcomm_ioctl_launch, struct hcomm_launch, err_needed),
	IOCTL_OP(HCOMM_WAIT, hcomm_ioctl_wait, struct hcomm_wait, timeout_ns),
	IOCTL_OP(HCOMM_RING_SETUP, hcomm_ioctl_ring_setup,
		 struct hcomm_ring_setup, out_mmap_size),
	IOCTL_OP(HCOMM_LAUNCH_BATCH, hcomm_ioctl_launch_batch,
		 struct hcomm_launch_batch, pad),
};

static_assert(ARRAY_SIZE(hcomm_ioctl_ops) == HCOMM_CMD_END - HCOMM_CMD_BASE);

static long hcomm_ioctl(struct file *file, unsigned int nr, unsigned long arg)
{
	const struct hcomm_ioctl_op *op;
	union hcomm_cmd_buffer buf;
	struct hcomm_cmd cmd = {
		.ctx = file->private_data,
		.ubuf = (void __user *)arg,
		.data = &buf,
	};
	unsigned int i = _IOC_NR(nr);
	int ret;

	if (i < HCOMM_CMD_BASE || i >= HCOMM_CMD_END || nr != _IO(HCOMM_IOC_MAGIC, i))
		return -ENOTTY;
	op = &hcomm_ioctl_ops[i - HCOMM_CMD_BASE];
	if (get_user(cmd.usize, (u32 __user *)cmd.ubuf))
		return -EFAULT;
	if (cmd.usize < op->min_size)
		return -EINVAL;
	if (cmd.usize > PAGE_SIZE)
		return -E2BIG;
	cmd.ksize = op->size;
	ret = copy_struct_from_user(&buf, op->size, cmd.ubuf, cmd.usize);
	if (ret)
		return ret;
	ret = op->execute(&cmd);
	memzero_explicit(&buf, op->size);
	return ret;
}

/* ---------------------------------------------------------------------- rest */

static __poll_t hcomm_poll(struct file *file, poll_table *wait)
{
	struct hcomm_ctx *ctx = file->private_data;
	struct hcomm_cring *ring;
	u32 inflight;

	poll_wait(file, &ctx->poll_wq, wait);
	ring = hcomm_ctx_ring(ctx);
	if (!ring)
		return EPOLLERR;
	return hcomm_ring_unread(ring, &inflight) ? EPOLLIN | EPOLLRDNORM : 0;
}

static int hcomm_mmap(struct file *file, struct vm_area_struct *vma)
{
	return hcomm_ring_mmap(file->private_data, vma);
}

#ifdef CONFIG_PROC_FS
static void hcomm_show_fdinfo(struct seq_file *m, struct file *file)
{
	struct hcomm_ctx *ctx = file->private_data;
	u32 count[HCOMM_OBJ_PROG + 1] = {};
	struct hcomm_cring *ring;
	struct hcomm_object *obj;
	u32 unread, inflight = 0;
	unsigned long id;

	xa_lock(&ctx->objects);
	xa_for_each(&ctx->objects, id, obj)
		if (obj->ops->kind <= HCOMM_OBJ_PROG)
			count[obj->ops->kind]++;
	xa_unlock(&ctx->objects);

	seq_printf(m, "hcomm-mems:\t%u\n", count[HCOMM_OBJ_MEM]);
	seq_printf(m, "hcomm-comms:\t%u\n", count[HCOMM_OBJ_COMM]);
	seq_printf(m, "hcomm-progs:\t%u\n", count[HCOMM_OBJ_PROG]);
	ring = hcomm_ctx_ring(ctx);
	if (ring) {
		unread = hcomm_ring_unread(ring, &inflight);
		seq_printf(m, "hcomm-ring:\t%u\n", ring->mask + 1);
		seq_printf(m, "hcomm-unread:\t%u\n", unread);
		seq_printf(m, "hcomm-inflight:\t%u\n", inflight);
	}
}
#endif

const struct file_operations hcomm_fops = {
	.owner = THIS_MODULE,
	.open = hcomm_open,
	.flush = hcomm_flush,
	.release = hcomm_release,
	.unlocked_ioctl = hcomm_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.poll = hcomm_poll,
	.mmap = hcomm_mmap,
#ifdef CONFIG_PROC_FS
	.show_fdinfo = hcomm_show_fdinfo,
#endif
};
