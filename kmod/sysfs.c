// SPDX-License-Identifier: GPL-2.0-only
/*
 * /sys/class/hcomm/comm<N>/ and its link<peer>/ directories; see
 * Documentation/ABI/testing/sysfs-class-hcomm.
 *
 * The devices end before what they show: removing one waits for readers.
 * Links are plain child devices; only communicators are in the class.
 */
#include <linux/device.h>
#include <linux/pid.h>
#include <linux/slab.h>

#include "comm_priv.h"

static struct class hcomm_class = {
	.name = "hcomm",
};

#define ATTR_OF(_kind, _name, _fmt, _value)					\
static ssize_t _kind##_##_name##_show(struct device *dev,			\
				      struct device_attribute *attr, char *buf)	\
{										\
	struct hcomm_##_kind *this = dev_get_drvdata(dev);			\
										\
	return sysfs_emit(buf, _fmt "\n", _value);				\
}										\
static struct device_attribute _kind##_##_name =				\
	__ATTR(_name, 0444, _kind##_##_name##_show, NULL)

/* ---------------------------------------------------------------- communicators */

static const char *fault_name(u32 reason)
{
	static const char * const names[HCOMM_FAULT_COUNT] = {
		[HCOMM_FAULT_NONE] = "none",
		[HCOMM_FAULT_PEER_DIED] = "peer-died",
		[HCOMM_FAULT_PEER_LEFT] = "peer-left",
		[HCOMM_FAULT_LINK] = "link",
		[HCOMM_FAULT_CONNECT] = "connect",
		[HCOMM_FAULT_AUTH] = "auth",
		[HCOMM_FAULT_OPTIONS] = "options",
		[HCOMM_FAULT_MISMATCH] = "mismatch",
		[HCOMM_FAULT_PROTOCOL] = "protocol",
		[HCOMM_FAULT_ABORTED] = "aborted",
		[HCOMM_FAULT_TIMEOUT] = "timeout",
		[HCOMM_FAULT_MEMORY] = "memory",
	};

	return reason < HCOMM_FAULT_COUNT ? names[reason] : "unknown";
}

static const char *comm_condition(struct hcomm_comm *comm)
{
	if (READ_ONCE(comm->error))
		return "failed";
	return READ_ONCE(comm->closing) ? "closing" : "active";
}

static int rank_at_fault(struct hcomm_comm *comm)
{
	return READ_ONCE(comm->error) ? (int)READ_ONCE(comm->engine.fault.rank) : -1;
}

ATTR_OF(comm, uuid, "%pUb", this->uuid);
ATTR_OF(comm, rank, "%u", this->par.rank);
/* In the reader's namespace; 0: not there, or it ended. */
ATTR_OF(comm, pid, "%d", pid_vnr(this->owner));
ATTR_OF(comm, size, "%u", this->par.nranks);
ATTR_OF(comm, state, "%s", comm_condition(this));
ATTR_OF(comm, fault, "%s", fault_name(READ_ONCE(this->engine.fault.reason)));
ATTR_OF(comm, fault_error, "%d", READ_ONCE(this->engine.fault.error));
ATTR_OF(comm, fault_rank, "%d", rank_at_fault(this));
ATTR_OF(comm, chunk_size, "%u", this->par.chunk_size);
ATTR_OF(comm, eager_size, "%u", this->par.eager_size);
ATTR_OF(comm, eager_slots, "%u", this->par.eager_slots);
ATTR_OF(comm, window, "%u", this->par.window);
ATTR_OF(comm, runs_max, "%u", this->par.max_runs);
ATTR_OF(comm, runs_active, "%u", READ_ONCE(this->engine.nruns));
ATTR_OF(comm, runs_failed, "%llu", READ_ONCE(this->runs_failed));
ATTR_OF(comm, refused, "%lld", atomic64_read(&this->refused));
ATTR_OF(comm, launches, "%llu", READ_ONCE(this->launches));
ATTR_OF(comm, bytes_copied, "%llu", READ_ONCE(this->bytes_copied));
ATTR_OF(comm, bytes_reduced, "%llu", READ_ONCE(this->bytes_reduced));
ATTR_OF(comm, bytes_helped, "%llu", READ_ONCE(this->bytes_helped));
ATTR_OF(comm, pushes, "%lld", atomic64_read(&this->pushes));

static struct attribute *comm_attrs[] = {
	&comm_uuid.attr,
	&comm_rank.attr,
	&comm_pid.attr,
	&comm_size.attr,
	&comm_state.attr,
	&comm_fault.attr,
	&comm_fault_error.attr,
	&comm_fault_rank.attr,
	&comm_chunk_size.attr,
	&comm_eager_size.attr,
	&comm_eager_slots.attr,
	&comm_window.attr,
	&comm_runs_max.attr,
	&comm_runs_active.attr,
	&comm_runs_failed.attr,
	&comm_refused.attr,
	&comm_launches.attr,
	&comm_bytes_copied.attr,
	&comm_bytes_reduced.attr,
	&comm_bytes_helped.attr,
	&comm_pushes.attr,
	NULL
};

ATTRIBUTE_GROUPS(comm);

/* ------------------------------------------------------------------------ links */

static struct hcomm_link_info link_facts(struct hcomm_link *link)
{
	struct hcomm_link_info info = {};

	link->transport->link_info(link, &info);
	return info;
}

ATTR_OF(link, peer, "%u", this->peer);
ATTR_OF(link, state, "%s", hcomm_link_state_name(READ_ONCE(this->state)));
ATTR_OF(link, transport, "%s", this->transport->name);
ATTR_OF(link, device, "%s", link_facts(this).device);
ATTR_OF(link, qp_num, "%u", link_facts(this).qp_num);
ATTR_OF(link, qp_state, "%s", link_facts(this).qp_state);
ATTR_OF(link, mtu, "%u", link_facts(this).mtu);
ATTR_OF(link, rtt_ns, "%llu", READ_ONCE(this->rtt_ns));
ATTR_OF(link, tx_bytes, "%llu", READ_ONCE(this->stats.tx_bytes));
ATTR_OF(link, tx_msgs, "%llu", READ_ONCE(this->stats.tx_msgs));
ATTR_OF(link, rx_bytes, "%llu", READ_ONCE(this->stats.rx_bytes));
ATTR_OF(link, rx_msgs, "%llu", READ_ONCE(this->stats.rx_msgs));
ATTR_OF(link, retries, "%llu", READ_ONCE(this->stats.retries));
ATTR_OF(link, errors, "%llu", READ_ONCE(this->stats.errors));

static struct attribute *link_attrs[] = {
	&link_peer.attr,
	&link_state.attr,
	&link_transport.attr,
	&link_device.attr,
	&link_qp_num.attr,
	&link_qp_state.attr,
	&link_mtu.attr,
	&link_rtt_ns.attr,
	&link_tx_bytes.attr,
	&link_tx_msgs.attr,
	&link_rx_bytes.attr,
	&link_rx_msgs.attr,
	&link_retries.attr,
	&link_errors.attr,
	NULL
};

ATTRIBUTE_GROUPS(link);

/* ---------------------------------------------------------------------- devices */

static void dev_release(struct device *dev)
{
	kfree(dev);
}

/* A device without uevents: udev has nothing to do for it. */
static struct device *dev_make(struct device *parent, struct class *class,
			       const struct attribute_group **groups, void *data,
			       const char *name, u32 number)
{
	struct device *dev = kzalloc(sizeof(*dev), GFP_KERNEL_ACCOUNT);
	int ret;

	if (!dev)
		return ERR_PTR(-ENOMEM);
	device_initialize(dev);
	dev->parent = parent;
	dev->class = class;
	dev->groups = groups;
	dev->release = dev_release;
	dev_set_drvdata(dev, data);
	dev_set_uevent_suppress(dev, true);
	ret = dev_set_name(dev, "%s%u", name, number);
	if (!ret)
		ret = device_add(dev);
	if (ret) {
		put_device(dev);
		return ERR_PTR(ret);
	}
	return dev;
}

int hcomm_sysfs_add_comm(struct hcomm_comm *comm)
{
	struct device *dev;

	dev = dev_make(NULL, &hcomm_class, comm_groups, comm, "comm", comm->index);
	if (IS_ERR(dev))
		return PTR_ERR(dev);
	comm->dev = dev;
	return 0;
}

int hcomm_sysfs_add_link(struct hcomm_link *link)
{
	struct device *dev;

	dev = dev_make(link->comm->dev, NULL, link_groups, link, "link", link->peer);
	if (IS_ERR(dev))
		return PTR_ERR(dev);
	link->dev = dev;
	return 0;
}

void hcomm_sysfs_remove(struct device **dev)
{
	if (*dev)
		device_unregister(*dev);
	*dev = NULL;
}

int hcomm_sysfs_init(void)
{
	return class_register(&hcomm_class);
}

void hcomm_sysfs_exit(void)
{
	class_unregister(&hcomm_class);
}
