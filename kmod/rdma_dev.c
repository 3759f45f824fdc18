// SPDX-License-Identifier: GPL-2.0-only
/*
 * RDMA devices.  Each that can do fast registration gets a protection domain
 * when it appears.  When it goes, its connections are ended, registrations in
 * the making are waited for, and all registered memory is detached; only then
 * does the removal go on.
 */
#include <linux/mutex.h>
#include <linux/slab.h>
#include "rdma.h"

/* Protects the list; a device is in it from add to remove. */
static DEFINE_MUTEX(hcomm_rdma_devs_lock);
static LIST_HEAD(hcomm_rdma_devs);

static void hcomm_rdma_dev_release(struct kref *ref)
{
	kfree(container_of(ref, struct hcomm_rdma_dev, ref));
}

/**
 * hcomm_rdma_dev_put - drop a reference to the memory
 * @dev: device
 */
void hcomm_rdma_dev_put(struct hcomm_rdma_dev *dev)
{
	kref_put(&dev->ref, hcomm_rdma_dev_release);
}

/**
 * hcomm_rdma_dev_enter - use a device that is known
 * @dev: device, a reference is held
 *
 * Return: 0 or -ENODEV.
 */
int hcomm_rdma_dev_enter(struct hcomm_rdma_dev *dev)
{
	int ret = 0;

	spin_lock(&dev->lock);
	if (dev->removed) {
		ret = -ENODEV;
	} else {
		dev->users++;
		kref_get(&dev->ref);
	}
	spin_unlock(&dev->lock);
	return ret;
}

/**
 * hcomm_rdma_dev_bind - put a connection on the device of its id
 * @conn: connection
 *
 * Return: 0 or -ENODEV.
 */
int hcomm_rdma_dev_bind(struct hcomm_rdma_conn *conn)
{
	struct hcomm_rdma_dev *dev;
	int ret = -ENODEV;

	mutex_lock(&hcomm_rdma_devs_lock);
	list_for_each_entry(dev, &hcomm_rdma_devs, node) {
		if (dev->ibdev != conn->id->device)
			continue;
		/* As one step: removal ends all connections that it sees. */
		spin_lock(&dev->lock);
		if (!dev->removed) {
			dev->users++;
			kref_get(&dev->ref);
			list_add_tail(&conn->dev_node, &dev->conns);
			conn->dev = dev;
			ret = 0;
		}
		spin_unlock(&dev->lock);
		break;
	}
	mutex_unlock(&hcomm_rdma_devs_lock);
	return ret;
}

/**
 * hcomm_rdma_dev_unbind - take a connection from its device
 * @conn: connection that uses nothing of it any more
 */
void hcomm_rdma_dev_unbind(struct hcomm_rdma_conn *conn)
{
	spin_lock(&conn->dev->lock);
	list_del_init(&conn->dev_node);
	spin_unlock(&conn->dev->lock);
	hcomm_rdma_dev_leave(conn->dev);
}

/**
 * hcomm_rdma_dev_leave - end a use
 * @dev: device
 */
void hcomm_rdma_dev_leave(struct hcomm_rdma_dev *dev)
{
	spin_lock(&dev->lock);
	dev->users--;
	wake_up_all(&dev->wq);
	spin_unlock(&dev->lock);
	hcomm_rdma_dev_put(dev);
}

static int hcomm_rdma_dev_add(struct ib_device *ibdev)
{
	struct hcomm_rdma_dev *dev;
	int ret;

	if (!(ibdev->attrs.device_cap_flags & IB_DEVICE_MEM_MGT_EXTENSIONS))
		return -EOPNOTSUPP;

	dev = kzalloc(sizeof(*dev), GFP_KERNEL);
	if (!dev)
		return -ENOMEM;
	kref_init(&dev->ref);
	dev->ibdev = ibdev;
	spin_lock_init(&dev->lock);
	INIT_LIST_HEAD(&dev->conns);
	INIT_LIST_HEAD(&dev->atts);
	init_waitqueue_head(&dev->wq);
	dev->seg_pages = min(ibdev->attrs.max_fast_reg_page_list_len,
			     HCOMM_RDMA_MAX_SEG_PAGES);

	dev->pd = ib_alloc_pd(ibdev, 0);
	if (IS_ERR(dev->pd)) {
		ret = PTR_ERR(dev->pd);
		hcomm_rdma_dev_put(dev);
		return ret;
	}

	mutex_lock(&hcomm_rdma_devs_lock);
	list_add_tail(&dev->node, &hcomm_rdma_devs);
	mutex_unlock(&hcomm_rdma_devs_lock);
	return 0;
}

/* Ends the first connection of a device; false if there is none. */
static bool hcomm_rdma_dev_end_one(struct hcomm_rdma_dev *dev)
{
	struct hcomm_rdma_conn *conn;

	spin_lock(&dev->lock);
	conn = list_first_entry_or_null(&dev->conns, struct hcomm_rdma_conn,
					dev_node);
	if (conn)
		kref_get(&conn->ref);
	spin_unlock(&dev->lock);
	if (!conn)
		return false;

	pr_warn("hcomm: %s goes away and with it a link to rank %u\n",
		dev_name(&dev->ibdev->dev), conn->peer);
	hcomm_rdma_conn_end(conn, HCOMM_FAULT_LINK, -ECONNRESET);
	hcomm_rdma_conn_put(conn);
	return true;
}

static void hcomm_rdma_dev_remove(struct ib_device *ibdev, void *client_data)
{
	struct hcomm_rdma_dev *dev, *found = NULL;

	mutex_lock(&hcomm_rdma_devs_lock);
	list_for_each_entry(dev, &hcomm_rdma_devs, node) {
		if (dev->ibdev == ibdev) {
			list_del(&dev->node);
			found = dev;
			break;
		}
	}
	mutex_unlock(&hcomm_rdma_devs_lock);
	if (!found)
		return;
	dev = found;

	spin_lock(&dev->lock);
	dev->removed = true;
	spin_unlock(&dev->lock);

	while (hcomm_rdma_dev_end_one(dev))
		;
	wait_event(dev->wq, !READ_ONCE(dev->users));
	hcomm_rdma_mem_detach_all(dev);

	ib_dealloc_pd(dev->pd);
	dev->pd = NULL;
	hcomm_rdma_dev_put(dev);
}

static struct ib_client hcomm_rdma_client = {
	.name = "hcomm",
	.add = hcomm_rdma_dev_add,
	.remove = hcomm_rdma_dev_remove,
};

/**
 * hcomm_rdma_dev_init - begin to look at devices
 *
 * Return: 0 or negative errno.
 */
int hcomm_rdma_dev_init(void)
{
	return ib_register_client(&hcomm_rdma_client);
}

/**
 * hcomm_rdma_dev_exit - end all device objects
 */
void hcomm_rdma_dev_exit(void)
{
	ib_unregister_client(&hcomm_rdma_client);
}
