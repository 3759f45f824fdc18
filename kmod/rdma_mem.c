// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory registration (FRWR).  Memory is registered with a device when a launch
 * first needs it there, and stays so until the memory or the device ends.
 *
 * A fast registration covers a limited number of pages, so memory is covered by
 * segments that overlap by the pages a chunk may touch: any chunk lies inside
 * one segment, and a grant is one address and one key.  Addresses are synthetic
 * (a random page plus the page number): what goes over the wire tells nothing
 * about this kernel or its processes, and who was not granted a place can't
 * guess where it is.  That matters because all communicators on a device share
 * its protection domain.
 *
 * The more of a segment a chunk takes, the less it adds to the one before.  So a
 * chunk may take three quarters of it: memory then costs at most four times the
 * registrations that it would without an overlap.
 *
 * Registrations belong to the device's protection domain, not to the queue pair
 * that they were posted on, and outlive it.
 */
#include <linux/random.h>
#include <linux/rculist.h>
#include <linux/slab.h>
#include "comm_priv.h"
#include "rdma.h"

/* Below 2^62, so that no memory wraps around. */
static u64 hcomm_rdma_random_iova(void)
{
	return (get_random_u64() >> 2) & PAGE_MASK;
}

/* No traffic uses its keys any more. */
static void hcomm_rdma_att_end(struct hcomm_rdma_att *ra)
{
	u32 i;

	for (i = 0; i < ra->nsegs; i++)
		if (ra->segs[i].mr)
			ib_dereg_mr(ra->segs[i].mr);
	if (ra->sgt.nents)
		ib_dma_unmap_sgtable_attrs(ra->dev->ibdev, &ra->sgt, ra->dir, 0);
	sg_free_table(&ra->sgt);
	kvfree(ra->segs);
}

/*
 * mo->attach_lock is held.  The memory is at its end and then nothing uses it,
 * or the device is and then all its connections were ended.
 */
static void hcomm_rdma_detach(struct hcomm_mem_attach *att)
{
	struct hcomm_rdma_att *ra = container_of(att, struct hcomm_rdma_att, att);
	struct hcomm_rdma_dev *dev = ra->dev;

	list_del_rcu(&att->node);
	hcomm_rdma_att_end(ra);

	/* The device's end waits for the last one, so this comes last. */
	spin_lock(&dev->lock);
	list_del(&ra->dev_node);
	wake_up_all(&dev->wq);
	spin_unlock(&dev->lock);
	hcomm_rdma_dev_put(dev);
	kfree_rcu(ra, rcu);
}

static bool hcomm_rdma_atts_empty(struct hcomm_rdma_dev *dev)
{
	bool ret;

	spin_lock(&dev->lock);
	ret = list_empty(&dev->atts);
	spin_unlock(&dev->lock);
	return ret;
}

/* Takes a reference to some memory of the device that is not at its end. */
static struct hcomm_memobj *hcomm_rdma_att_pick(struct hcomm_rdma_dev *dev)
{
	struct hcomm_memobj *mo = NULL;
	struct hcomm_rdma_att *ra;

	spin_lock(&dev->lock);
	list_for_each_entry(ra, &dev->atts, dev_node) {
		if (kref_get_unless_zero(&ra->att.mem->obj.ref)) {
			mo = ra->att.mem;
			break;
		}
	}
	spin_unlock(&dev->lock);
	return mo;
}

/**
 * hcomm_rdma_mem_detach_all - detach all memory from a device at its end
 * @dev: device without users
 */
void hcomm_rdma_mem_detach_all(struct hcomm_rdma_dev *dev)
{
	struct hcomm_mem_attach *att, *next;
	struct hcomm_memobj *mo;

	while ((mo = hcomm_rdma_att_pick(dev))) {
		mutex_lock(&mo->attach_lock);
		list_for_each_entry_safe(att, next, &mo->attachments, node)
			if (att->key == dev)
				att->detach(att);
		mutex_unlock(&mo->attach_lock);
		hcomm_memobj_put(mo);
	}
	/* What is left belongs to memory that is being freed right now. */
	wait_event(dev->wq, hcomm_rdma_atts_empty(dev));
}

static struct hcomm_rdma_att *hcomm_rdma_att_find(struct hcomm_rdma_dev *dev,
						  struct hcomm_memobj *mo,
						  u32 chunk_pages)
{
	struct hcomm_mem_attach *att;
	struct hcomm_rdma_att *ra;

	list_for_each_entry_rcu(att, &mo->attachments, node,
				lockdep_is_held(&mo->attach_lock)) {
		if (att->key != dev)
			continue;
		ra = container_of(att, struct hcomm_rdma_att, att);
		if (ra->chunk_pages >= min_t(unsigned long, chunk_pages, mo->npages))
			return ra;
	}
	return NULL;
}

/**
 * hcomm_rdma_mem_lookup - where a piece of memory is registered
 * @dev: device
 * @buf: place
 * @len: bytes, at most a chunk
 * @addr: out: address
 * @mr: out: its memory region
 *
 * comm->lock is held and a connection on the device is alive, and a run holds
 * the memory: the registration can't end meanwhile.
 *
 * Return: 0 or -ENXIO if it is not registered.
 */
int hcomm_rdma_mem_lookup(struct hcomm_rdma_dev *dev, struct hcomm_buf buf,
			  u32 len, u64 *addr, struct ib_mr **mr)
{
	struct hcomm_memobj *mo = hcomm_memobj_of(buf.mem);
	u64 pos = mo->first_offset + buf.off;
	unsigned long first = pos >> PAGE_SHIFT;
	unsigned long last = (pos + len - 1) >> PAGE_SHIFT;
	struct hcomm_rdma_att *ra;
	struct hcomm_rdma_seg *seg;
	int ret = -ENXIO;

	if (!len || last >= mo->npages)
		return -ENXIO;
	rcu_read_lock();
	ra = hcomm_rdma_att_find(dev, mo, last - first + 1);
	if (ra) {
		seg = &ra->segs[min_t(unsigned long, first / ra->stride,
				      ra->nsegs - 1)];
		*addr = ra->iova + pos;
		*mr = seg->mr;
		ret = 0;
	}
	rcu_read_unlock();
	return ret;
}

/* Pages of a segment as a scatterlist of device addresses. */
static void hcomm_rdma_seg_fill(struct scatterlist *sg, const dma_addr_t *dma, u32 n)
{
	u32 i;

	sg_init_table(sg, n);
	for (i = 0; i < n; i++) {
		sg[i].length = PAGE_SIZE;
		sg_dma_address(&sg[i]) = dma[i];
		sg_dma_len(&sg[i]) = PAGE_SIZE;
	}
}

static int hcomm_rdma_seg_alloc(struct hcomm_rdma_att *ra,
				struct hcomm_rdma_seg *seg, unsigned long first,
				const dma_addr_t *dma, struct scatterlist *sg)
{
	u32 n = min_t(unsigned long, ra->npages - first, ra->dev->seg_pages);
	struct ib_mr *mr;
	int ret;

	mr = ib_alloc_mr(ra->dev->pd, IB_MR_TYPE_MEM_REG, n);
	if (IS_ERR(mr))
		return PTR_ERR(mr);
	seg->mr = mr;
	seg->first = first;

	hcomm_rdma_seg_fill(sg, dma + first, n);
	ret = ib_map_mr_sg(mr, sg, n, NULL, PAGE_SIZE);
	if (ret < 0)
		return ret;
	if (ret != n)
		return -EIO;
	mr->iova = ra->iova + ((u64)first << PAGE_SHIFT);
	ib_update_fast_reg_key(mr, ib_inc_rkey(mr->rkey));
	return 0;
}

static int hcomm_rdma_segs_post(struct hcomm_rdma_conn *conn,
				struct hcomm_rdma_reg *regs,
				struct hcomm_rdma_seg *segs, u32 n, int access)
{
	struct hcomm_comm *comm = conn->rc->comm;
	int err, ret = 0;
	u32 i, posted;

	for (i = 0; i < n; i++) {
		struct hcomm_rdma_reg *r = &regs[i];

		memset(r, 0, sizeof(*r));
		r->wr.kind = HCOMM_RDMA_WR_REG;
		init_completion(&r->done);
		r->reg.wr.opcode = IB_WR_REG_MR;
		r->reg.wr.send_flags = IB_SEND_SIGNALED;
		r->reg.wr.wr_id = (uintptr_t)&r->wr;
		r->reg.mr = segs[i].mr;
		r->reg.key = segs[i].mr->rkey;
		r->reg.access = access;
	}

	mutex_lock(&comm->lock);
	for (posted = 0; posted < n; posted++) {
		ret = hcomm_rdma_post_reg(conn, &regs[posted]);
		if (ret)
			break;
	}
	mutex_unlock(&comm->lock);
	hcomm_comm_kick(comm);

	/*
	 * Only the completion, or the end of the QP, ends a work request.  A peer
	 * may keep what is before it in the queue: a fault ends the QP.
	 */
	for (i = 0; i < posted; i++) {
		if (wait_for_completion_killable(&regs[i].done)) {
			hcomm_comm_lock(comm);
			hcomm_comm_fault(comm, HCOMM_FAULT_PEER_DIED, EOWNERDEAD,
					 comm->par.rank);
			hcomm_comm_unlock(comm);
			wait_for_completion(&regs[i].done);
		}
		err = regs[i].status;
		if (!ret)
			ret = err;
	}
	return ret;
}

/* Posts the registrations of all segments and waits for them. */
static int hcomm_rdma_att_register(struct hcomm_rdma_att *ra,
				   struct hcomm_rdma_conn *conn, int access)
{
	struct hcomm_rdma_reg *regs;
	int ret = 0;
	u32 i, n;

	regs = kcalloc(HCOMM_RDMA_REG_BATCH, sizeof(*regs), GFP_KERNEL);
	if (!regs)
		return -ENOMEM;
	mutex_lock(&conn->reg_lock);
	for (i = 0; !ret && i < ra->nsegs; i += n) {
		n = min_t(u32, ra->nsegs - i, HCOMM_RDMA_REG_BATCH);
		ret = hcomm_rdma_segs_post(conn, regs, &ra->segs[i], n, access);
	}
	mutex_unlock(&conn->reg_lock);
	kfree(regs);
	return ret;
}

static int hcomm_rdma_att_map(struct hcomm_rdma_att *ra, struct hcomm_memobj *mo)
{
	struct ib_device *ibdev = ra->dev->ibdev;
	struct sg_dma_page_iter iter;
	struct scatterlist *sg;
	dma_addr_t *dma;
	u32 i, n = 0;
	int ret;

	ret = sg_alloc_table_from_pages_segment(&ra->sgt, mo->pages, mo->npages, 0,
						(u64)mo->npages << PAGE_SHIFT,
						ib_dma_max_seg_size(ibdev),
						GFP_KERNEL_ACCOUNT);
	if (ret)
		return ret;
	ret = ib_dma_map_sgtable_attrs(ibdev, &ra->sgt, ra->dir, 0);
	if (ret) {
		ra->sgt.nents = 0;
		return ret;
	}

	dma = kvcalloc(mo->npages, sizeof(*dma), GFP_KERNEL);
	sg = kvcalloc(ra->dev->seg_pages, sizeof(*sg), GFP_KERNEL);
	if (!dma || !sg) {
		ret = -ENOMEM;
		goto out_free;
	}
	for_each_sgtable_dma_page(&ra->sgt, &iter, 0)
		if (n < mo->npages)
			dma[n++] = sg_page_iter_dma_address(&iter);
	if (n != mo->npages) {
		ret = -EIO;
		goto out_free;
	}
	for (i = 0; !ret && i < ra->nsegs; i++)
		ret = hcomm_rdma_seg_alloc(ra, &ra->segs[i],
					   (unsigned long)i * ra->stride, dma, sg);
out_free:
	kvfree(sg);
	kvfree(dma);
	return ret;
}

static struct hcomm_rdma_att *hcomm_rdma_att_make(struct hcomm_rdma_conn *conn,
						  struct hcomm_memobj *mo,
						  u32 chunk_pages)
{
	struct hcomm_rdma_dev *dev = conn->dev;
	struct hcomm_rdma_att *ra;
	int access, ret;

	if (mo->npages <= dev->seg_pages)
		chunk_pages = dev->seg_pages;	/* one segment: anything fits */
	else if (chunk_pages > dev->seg_pages / 4 * 3)
		return ERR_PTR(-EOPNOTSUPP);
	ra = kzalloc(sizeof(*ra), GFP_KERNEL_ACCOUNT);
	if (!ra)
		return ERR_PTR(-ENOMEM);
	kref_get(&dev->ref);
	ra->att.mem = mo;
	ra->att.key = dev;
	ra->att.detach = hcomm_rdma_detach;
	ra->dev = dev;
	ra->iova = hcomm_rdma_random_iova();
	ra->npages = mo->npages;
	ra->chunk_pages = chunk_pages;
	ra->stride = max(dev->seg_pages - chunk_pages, 1u);
	ra->dir = mo->read_only ? DMA_TO_DEVICE : DMA_BIDIRECTIONAL;
	access = mo->read_only ? 0 : IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE;
	ra->nsegs = 1;
	if (mo->npages > dev->seg_pages)
		ra->nsegs += DIV_ROUND_UP(mo->npages - dev->seg_pages, ra->stride);
	ra->segs = kvcalloc(ra->nsegs, sizeof(*ra->segs), GFP_KERNEL_ACCOUNT);
	if (!ra->segs) {
		ret = -ENOMEM;
		ra->nsegs = 0;
		goto err_free;
	}
	ret = hcomm_rdma_att_map(ra, mo);
	if (ret)
		goto err_free;
	ret = hcomm_rdma_att_register(ra, conn, access);
	if (ret)
		goto err_free;
	return ra;

err_free:
	hcomm_rdma_att_end(ra);
	hcomm_rdma_dev_put(dev);
	kfree(ra);
	return ERR_PTR(ret);
}

/* A use of the link's device and a reference to its connection, or an error. */
static int hcomm_rdma_mem_begin(struct hcomm_link *link, struct hcomm_rdma_conn **connp)
{
	struct hcomm_rdma_link *rl = hcomm_rdma_link_of(link);
	struct hcomm_rdma_conn *conn;
	int ret = -ENOTCONN;

	mutex_lock(&link->comm->lock);
	conn = rl->conn;
	if (conn && rl->is_up && !conn->stopped &&
	    !hcomm_rdma_dev_enter(conn->dev)) {
		kref_get(&conn->ref);
		*connp = conn;
		ret = 0;
	}
	mutex_unlock(&link->comm->lock);
	return ret;
}

static int hcomm_rdma_attach_mem(struct hcomm_rdma_conn *conn, struct hcomm_memobj *mo,
				 u32 chunk_pages)
{
	struct hcomm_rdma_dev *dev = conn->dev;
	struct hcomm_rdma_att *ra;
	int ret = 0;

	mutex_lock(&mo->attach_lock);
	if (!hcomm_rdma_att_find(dev, mo, chunk_pages)) {
		ra = hcomm_rdma_att_make(conn, mo, chunk_pages);
		if (IS_ERR(ra)) {
			ret = PTR_ERR(ra);
		} else {
			spin_lock(&dev->lock);
			list_add_tail(&ra->dev_node, &dev->atts);
			spin_unlock(&dev->lock);
			list_add_rcu(&ra->att.node, &mo->attachments);
		}
	}
	mutex_unlock(&mo->attach_lock);
	return ret;
}

/**
 * hcomm_rdma_mem_prepare - register memory with a link's device
 * @link: READY link
 * @mo: memory
 *
 * And the communicator's staging memory, which grants may name as well.
 *
 * Return: 0; if the link was lost the fault of the communicator, or -ENOTCONN
 * before there is one; -EOPNOTSUPP if the device can't
 * register a whole chunk; or what the device says.
 */
int hcomm_rdma_mem_prepare(struct hcomm_link *link, struct hcomm_memobj *mo)
{
	u32 chunk_pages = hcomm_rdma_chunk_pages(link->comm->par.chunk_size);
	struct hcomm_memobj *staging = link->comm->staging;
	struct hcomm_rdma_conn *conn;
	int ret;

	ret = hcomm_rdma_mem_begin(link, &conn);
	if (ret)
		goto out;
	ret = hcomm_rdma_attach_mem(conn, mo, chunk_pages);
	if (!ret && staging)
		ret = hcomm_rdma_attach_mem(conn, staging, chunk_pages);
	hcomm_rdma_dev_leave(conn->dev);
	hcomm_rdma_conn_put(conn);
out:
	/* A link that was lost is a fault, which says more. */
	return ret == -ENOTCONN ? READ_ONCE(link->comm->error) ?: ret : ret;
}
