// SPDX-License-Identifier: GPL-2.0-only
/*
 * Buffers of a connection: receives, messages to send, writes.  All are made
 * before the connection is, none while it carries traffic.  Buffers of one size
 * are cut from blocks of 64 KiB, so an odd size wastes little.
 *
 * Receives.  hcomm_link_max_rx() may arrive unasked; with so many posted there
 * is always one.  The engine may keep eager_slots EAGER messages and one per
 * run; the spares replace these, so that a receive is posted again before its
 * message is handed on.
 */
#include <linux/slab.h>
#include "rdma.h"

#define HCOMM_RDMA_BLOCK	65536u

static void hcomm_rdma_pool_unmap(struct hcomm_rdma_conn *conn,
				  struct hcomm_rdma_pool *pool)
{
	u32 i;

	for (i = 0; i < pool->nblocks; i++) {
		struct hcomm_rdma_block *b = &pool->blocks[i];

		if (b->mapped)
			ib_dma_unmap_single(conn->dev->ibdev, b->dma, b->len, pool->dir);
		b->mapped = false;
	}
}

static void hcomm_rdma_pool_free(struct hcomm_rdma_pool *pool)
{
	u32 i;

	for (i = 0; i < pool->nblocks; i++)
		kfree(pool->blocks[i].mem);
	kfree(pool->blocks);
	pool->blocks = NULL;
	pool->nblocks = 0;
}

static int hcomm_rdma_pool_init(struct hcomm_rdma_conn *conn,
				struct hcomm_rdma_pool *pool, u32 n, u32 size,
				enum dma_data_direction dir)
{
	struct ib_device *ibdev = conn->dev->ibdev;
	u32 i;

	pool->dir = dir;
	pool->size = ALIGN(size, 64);
	pool->per_block = HCOMM_RDMA_BLOCK / pool->size;
	pool->nblocks = DIV_ROUND_UP(n, pool->per_block);
	pool->blocks = kcalloc(pool->nblocks, sizeof(*pool->blocks), GFP_KERNEL_ACCOUNT);
	if (!pool->blocks) {
		pool->nblocks = 0;
		return -ENOMEM;
	}

	for (i = 0; i < pool->nblocks; i++) {
		struct hcomm_rdma_block *b = &pool->blocks[i];

		b->len = min(n, pool->per_block) * pool->size;
		n -= min(n, pool->per_block);
		b->mem = kzalloc(b->len, GFP_KERNEL_ACCOUNT);
		if (!b->mem)
			return -ENOMEM;
		b->dma = ib_dma_map_single(ibdev, b->mem, b->len, dir);
		if (ib_dma_mapping_error(ibdev, b->dma))
			return -EIO;
		b->mapped = true;
	}
	return 0;
}

static u8 *hcomm_rdma_pool_at(const struct hcomm_rdma_pool *pool, u32 i, u64 *dma)
{
	const struct hcomm_rdma_block *b = &pool->blocks[i / pool->per_block];
	u32 off = i % pool->per_block * pool->size;

	*dma = b->dma + off;
	return (u8 *)b->mem + off;
}

static int hcomm_rdma_rx_alloc(struct hcomm_rdma_conn *conn)
{
	const struct hcomm_engine_params *par = &conn->rc->comm->par;
	u32 size = HCOMM_WIRE_HDR_SIZE + max(par->eager_size, HCOMM_WIRE_FAULT_SIZE);
	u32 i;
	int ret;

	conn->rx_depth = hcomm_link_max_rx(par) + HCOMM_RDMA_CTL_TX;
	conn->nrx = conn->rx_depth + par->eager_slots + par->max_runs +
		    HCOMM_RDMA_SPARE_RX;
	conn->rx = kvcalloc(conn->nrx, sizeof(*conn->rx), GFP_KERNEL_ACCOUNT);
	if (!conn->rx)
		return -ENOMEM;
	ret = hcomm_rdma_pool_init(conn, &conn->rx_pool, conn->nrx, size, DMA_FROM_DEVICE);
	if (ret)
		return ret;

	for (i = 0; i < conn->nrx; i++) {
		struct hcomm_rdma_rx *rx = &conn->rx[i];

		rx->wr.kind = HCOMM_RDMA_WR_RECV;
		rx->buf = hcomm_rdma_pool_at(&conn->rx_pool, i, &rx->dma);
		list_add_tail(&rx->wr.node, &conn->rx_spare);
	}
	return 0;
}

static int hcomm_rdma_tx_alloc(struct hcomm_rdma_conn *conn)
{
	const struct hcomm_engine_params *par = &conn->rc->comm->par;
	u32 nsmall = hcomm_link_max_rx(par) + HCOMM_RDMA_CTL_TX;
	u32 nbig = par->eager_slots + par->max_runs;
	u32 nwrite = par->max_runs * par->window;
	struct hcomm_rdma_tx *tx;
	u32 i;
	int ret;

	BUILD_BUG_ON(HCOMM_WIRE_HDR_SIZE + HCOMM_WIRE_FAULT_SIZE > HCOMM_RDMA_SMALL_TX);
	BUILD_BUG_ON(sizeof(struct hcomm_rdma_hello) > HCOMM_RDMA_SMALL_TX);

	conn->ntx = nsmall + nbig + nwrite;
	conn->tx = kvcalloc(conn->ntx, sizeof(*conn->tx), GFP_KERNEL_ACCOUNT);
	if (!conn->tx)
		return -ENOMEM;
	ret = hcomm_rdma_pool_init(conn, &conn->small_pool, nsmall,
				   HCOMM_RDMA_SMALL_TX, DMA_TO_DEVICE);
	if (!ret)
		ret = hcomm_rdma_pool_init(conn, &conn->big_pool, nbig,
					   HCOMM_WIRE_HDR_SIZE + par->eager_size,
					   DMA_TO_DEVICE);
	if (ret)
		return ret;

	tx = conn->tx;
	for (i = 0; i < nsmall; i++, tx++) {
		tx->wr.kind = HCOMM_RDMA_WR_SEND;
		tx->free = &conn->small_free;
		tx->buf = hcomm_rdma_pool_at(&conn->small_pool, i, &tx->dma);
		list_add_tail(&tx->wr.node, tx->free);
	}
	for (i = 0; i < nbig; i++, tx++) {
		tx->wr.kind = HCOMM_RDMA_WR_SEND;
		tx->free = &conn->big_free;
		tx->buf = hcomm_rdma_pool_at(&conn->big_pool, i, &tx->dma);
		list_add_tail(&tx->wr.node, tx->free);
	}
	for (i = 0; i < nwrite; i++, tx++) {
		tx->wr.kind = HCOMM_RDMA_WR_WRITE;
		tx->free = &conn->write_free;
		list_add_tail(&tx->wr.node, tx->free);
	}
	return 0;
}

/**
 * hcomm_rdma_bufs_alloc - make all buffers of a connection
 * @conn: connection whose device is known
 *
 * Return: 0 or negative errno; what was made is ended with the connection.
 */
int hcomm_rdma_bufs_alloc(struct hcomm_rdma_conn *conn)
{
	int ret;

	ret = hcomm_rdma_rx_alloc(conn);
	if (!ret)
		ret = hcomm_rdma_tx_alloc(conn);
	return ret;
}

/**
 * hcomm_rdma_bufs_unmap - take the buffers from the device
 * @conn: connection without a queue pair
 *
 * The memory stays: the engine may still hold received messages.
 */
void hcomm_rdma_bufs_unmap(struct hcomm_rdma_conn *conn)
{
	if (!conn->dev)
		return;
	hcomm_rdma_pool_unmap(conn, &conn->rx_pool);
	hcomm_rdma_pool_unmap(conn, &conn->small_pool);
	hcomm_rdma_pool_unmap(conn, &conn->big_pool);
}

/**
 * hcomm_rdma_bufs_free - free the buffers
 * @conn: connection, unmapped
 */
void hcomm_rdma_bufs_free(struct hcomm_rdma_conn *conn)
{
	hcomm_rdma_pool_free(&conn->rx_pool);
	hcomm_rdma_pool_free(&conn->small_pool);
	hcomm_rdma_pool_free(&conn->big_pool);
	kvfree(conn->rx);
	kvfree(conn->tx);
}
