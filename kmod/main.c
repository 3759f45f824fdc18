// SPDX-License-Identifier: GPL-2.0-only
/*
 * Module load and unload, and the device node.
 *
 * /dev/hcomm is open to everybody, as the nodes of RDMA are: it gives no access
 * to anything but memory that the process maps already, and limits do the
 * protection: RLIMIT_MEMLOCK for what is pinned, the memory cgroup for what the
 * kernel keeps, the limits of the ABI for the rest.
 */
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/uuid.h>
#include <linux/workqueue.h>

#include "comm_priv.h"
#include "core/reduce.h"

u8 hcomm_node_id[16];
struct workqueue_struct *hcomm_wq;
struct workqueue_struct *hcomm_end_wq;
struct workqueue_struct *hcomm_close_wq;

unsigned int hcomm_spin_us = 200;
module_param_named(spin_us, hcomm_spin_us, uint, 0644);
MODULE_PARM_DESC(spin_us, "Microseconds that a waiting thread polls before it sleeps");

static bool simd = true;
module_param(simd, bool, 0444);
MODULE_PARM_DESC(simd, "Use vector units for reductions (default: yes)");

const struct hcomm_transport * const hcomm_transports[HCOMM_NR_TRANSPORTS] = {
	&hcomm_transport_local,
	&hcomm_transport_rdma,
};

static struct miscdevice hcomm_misc = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "hcomm",
	.fops = &hcomm_fops,
	.mode = 0666,
};

static void transports_exit(u32 n)
{
	while (n--)
		if (hcomm_transports[n]->exit)
			hcomm_transports[n]->exit();
}

static int transports_init(void)
{
	const struct hcomm_transport *t;
	int ret;
	u32 i;

	for (i = 0; i < HCOMM_NR_TRANSPORTS; i++) {
		t = hcomm_transports[i];
		ret = t->init ? t->init() : 0;
		if (ret) {
			pr_err("hcomm: transport %s does not start: %d\n", t->name, ret);
			transports_exit(i);
			return ret;
		}
	}
	return 0;
}

static int __init hcomm_module_init(void)
{
	int ret = -ENOMEM;

	generate_random_uuid(hcomm_node_id);
	hcomm_reduce_init(simd ? HCOMM_REDUCE_ANY : HCOMM_REDUCE_SCALAR);

	/*
	 * More workers than processors would wait for each other's time while they
	 * hold the locks of their engines.
	 */
	hcomm_wq = alloc_workqueue("hcomm", WQ_UNBOUND | WQ_SYSFS,
				   2 * num_possible_cpus());
	if (!hcomm_wq)
		return ret;
	hcomm_end_wq = alloc_workqueue("hcomm-end", WQ_UNBOUND, WQ_UNBOUND_MAX_ACTIVE);
	if (!hcomm_end_wq)
		goto err_wq;
	hcomm_close_wq = alloc_workqueue("hcomm-close", WQ_UNBOUND, WQ_UNBOUND_MAX_ACTIVE);
	if (!hcomm_close_wq)
		goto err_end_wq;
	ret = hcomm_sysfs_init();
	if (ret)
		goto err_close_wq;
	ret = transports_init();
	if (ret)
		goto err_sysfs;
	ret = misc_register(&hcomm_misc);
	if (ret)
		goto err_transports;
	return 0;

err_transports:
	transports_exit(HCOMM_NR_TRANSPORTS);
err_sysfs:
	hcomm_sysfs_exit();
err_close_wq:
	destroy_workqueue(hcomm_close_wq);
err_end_wq:
	destroy_workqueue(hcomm_end_wq);
err_wq:
	destroy_workqueue(hcomm_wq);
	return ret;
}

/* No file is open: no context, communicator or link is left. */
static void __exit hcomm_module_exit(void)
{
	misc_deregister(&hcomm_misc);
	destroy_workqueue(hcomm_close_wq);
	destroy_workqueue(hcomm_end_wq);
	destroy_workqueue(hcomm_wq);
	transports_exit(HCOMM_NR_TRANSPORTS);
	hcomm_comms_exit();
	hcomm_sysfs_exit();
}

module_init(hcomm_module_init);
module_exit(hcomm_module_exit);

MODULE_DESCRIPTION("Collective communication engine");
MODULE_AUTHOR("The hcomm project");
MODULE_LICENSE("GPL");
MODULE_VERSION("0.1.0");
MODULE_ALIAS("devname:hcomm");
