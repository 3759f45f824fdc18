// SPDX-License-Identifier: LGPL-2.1-or-later
/* The device's descriptor and its life: open once, closed after fork. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../base/base.h"
#include "dev_priv.h"

#define RING_ENTRIES	1024u

struct hcomm_dev hcomm_dev = {
	.fd = -1,
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.cond = PTHREAD_COND_INITIALIZER,
};

/* protects users, and opening and closing */
static pthread_mutex_t open_lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned int users;
static bool forked;

/* may only do what a signal handler may */
static void in_child(void)
{
	if (hcomm_dev.fd < 0)
		return;
	close(hcomm_dev.fd);
	hcomm_dev.fd = -1;
	hcomm_dev.ring = NULL;
	forked = true;
}

hcommResult_t hcomm_dev_check_fork(void)
{
	if (!forked)
		return HCOMM_SUCCESS;
	return hcomm_fail(HCOMM_ERR_FORKED,
			  "this process is a child of the one that initialised hcomm; start hcomm after fork(), or call exec()");
}

bool hcomm_dev_is_open(void)
{
	return hcomm_dev.fd >= 0;
}

uint32_t hcomm_dev_epoch(void)
{
	return hcomm_dev.epoch;
}

const struct hcomm_info *hcomm_dev_info(void)
{
	return &hcomm_dev.info;
}

int hcomm_dev_ioctl(unsigned long cmd, void *arg)
{
	int again = cmd == HCOMM_LAUNCH ? EAGAIN : EINTR, err;

	/* who launches many goes on where it was */
	do {
		err = ioctl(hcomm_dev.fd, cmd, arg) ? errno : 0;
	} while (err == again && cmd != HCOMM_LAUNCH_BATCH);
	return err;
}

static hcommResult_t open_failed(int err)
{
	if (err == ENOENT || err == ENXIO || err == ENODEV)
		return hcomm_fail(HCOMM_ERR_NO_DEVICE,
				  HCOMM_DEVICE ": %s; is the module loaded (modprobe hcomm)?",
				  hcomm_strerror(err));
	if (err == EACCES || err == EPERM)
		return hcomm_fail(HCOMM_ERR_NO_DEVICE,
				  HCOMM_DEVICE ": %s; this user may not use it (see the udev rule)",
				  hcomm_strerror(err));
	return hcomm_fail_errno(err, "open " HCOMM_DEVICE);
}

static hcommResult_t read_info(void)
{
	struct hcomm_info *info = &hcomm_dev.info;
	int err;

	memset(info, 0, sizeof(*info));
	info->size = sizeof(*info);
	err = hcomm_dev_ioctl(HCOMM_INFO, info);
	if (err)
		return hcomm_fail_errno(err, HCOMM_DEVICE ": HCOMM_INFO");
	if (info->abi_version != HCOMM_ABI_VERSION)
		return hcomm_fail(HCOMM_ERR_VERSION,
				  "the module has ABI version %u, this library needs %u; install module and library of one release",
				  info->abi_version, HCOMM_ABI_VERSION);
	return HCOMM_SUCCESS;
}

static hcommResult_t map_ring(void)
{
	struct hcomm_ring_setup setup = {
		.size = sizeof(setup),
		.entries = RING_ENTRIES,
		.eventfd = -1,
	};
	void *ring;
	int err;

	err = hcomm_dev_ioctl(HCOMM_RING_SETUP, &setup);
	if (err)
		return hcomm_fail_errno(err, HCOMM_DEVICE ": HCOMM_RING_SETUP");
	ring = mmap(NULL, setup.out_mmap_size, PROT_READ | PROT_WRITE, MAP_SHARED,
		    hcomm_dev.fd, HCOMM_RING_MMAP_OFFSET);
	if (ring == MAP_FAILED)
		return hcomm_fail_errno(errno, HCOMM_DEVICE ": mmap of the ring");
	/* a mapping in a child would keep the context open */
	madvise(ring, setup.out_mmap_size, MADV_DONTFORK);
	hcomm_dev.ring = ring;
	hcomm_dev.ring_size = setup.out_mmap_size;
	return HCOMM_SUCCESS;
}

static void dev_close(void)
{
	if (hcomm_dev.ring)
		munmap(hcomm_dev.ring, hcomm_dev.ring_size);
	hcomm_dev.ring = NULL;
	close(hcomm_dev.fd);
	hcomm_dev.fd = -1;
}

static hcommResult_t dev_open(void)
{
	static bool fork_handler;
	hcommResult_t ret;

	if (!fork_handler && pthread_atfork(NULL, NULL, in_child))
		return hcomm_fail_nomem("the fork handler");
	fork_handler = true;
	hcomm_dev.fd = open(HCOMM_DEVICE, O_RDWR | O_CLOEXEC);
	if (hcomm_dev.fd < 0)
		return open_failed(errno);
	ret = read_info();
	if (!ret)
		ret = map_ring();
	if (ret)
		dev_close();
	else
		hcomm_dev.epoch++;
	return ret;
}

hcommResult_t hcomm_dev_get(void)
{
	hcommResult_t ret = hcomm_dev_check_fork();

	if (ret)
		return ret;
	pthread_mutex_lock(&open_lock);
	if (!users)
		ret = dev_open();
	if (!ret)
		users++;
	pthread_mutex_unlock(&open_lock);
	return ret;
}

void hcomm_dev_put(void)
{
	if (forked)
		return;
	pthread_mutex_lock(&open_lock);
	if (!--users)
		dev_close();
	pthread_mutex_unlock(&open_lock);
}

void hcomm_dev_destroy(uint32_t id)
{
	struct hcomm_destroy arg = { .size = sizeof(arg), .id = id };
	int err;

	if (!id || hcomm_dev.fd < 0)
		return;
	err = hcomm_dev_ioctl(HCOMM_DESTROY, &arg);
	if (err)
		hcomm_log(HCOMM_LOG_WARN, "object %u could not be destroyed: %s",
			  id, hcomm_strerror(err));
}

static hcommResult_t register_failed(int err, const struct hcomm_mem_reg *arg)
{
	const char *what = arg->flags & HCOMM_MEM_READ_ONLY ? "readable" : "writable";

	if (err == ENOMEM && arg->out_limit)
		return hcomm_fail(HCOMM_ERR_MEMLOCK,
				  "pinning %llu bytes at %#llx needs %llu bytes of locked memory, but the limit is %llu and %llu are in use; raise RLIMIT_MEMLOCK (ulimit -l, or LimitMEMLOCK= of the service)",
				  (unsigned long long)arg->length,
				  (unsigned long long)arg->addr,
				  (unsigned long long)arg->out_needed,
				  (unsigned long long)arg->out_limit,
				  (unsigned long long)arg->out_used);
	if (err == EFAULT)
		return hcomm_fail(HCOMM_ERR_INVALID_ARGUMENT,
				  "the buffer of %llu bytes at %#llx is not all mapped and %s",
				  (unsigned long long)arg->length,
				  (unsigned long long)arg->addr, what);
	if (err == EINVAL)
		return hcomm_fail(HCOMM_ERR_INVALID_ARGUMENT,
				  "a buffer of %llu bytes at %#llx is none",
				  (unsigned long long)arg->length,
				  (unsigned long long)arg->addr);
	if (err == EOPNOTSUPP)
		return hcomm_fail(HCOMM_ERR_UNSUPPORTED,
				  "the memory at %#llx (%llu bytes) can't be pinned; use hcommMalloc()",
				  (unsigned long long)arg->addr,
				  (unsigned long long)arg->length);
	return hcomm_fail_errno(err, "pinning %llu bytes at %#llx",
				(unsigned long long)arg->length,
				(unsigned long long)arg->addr);
}

hcommResult_t hcomm_dev_register(const void *addr, uint64_t len, bool read_only,
				 uint32_t *id)
{
	struct hcomm_mem_reg arg = {
		.size = sizeof(arg),
		.flags = read_only ? HCOMM_MEM_READ_ONLY : 0,
		.addr = (uintptr_t)addr,
		.length = len,
	};
	int err = hcomm_dev_ioctl(HCOMM_MEM_REG, &arg);

	if (err)
		return register_failed(err, &arg);
	*id = arg.out_mem_id;
	return HCOMM_SUCCESS;
}
