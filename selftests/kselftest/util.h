/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the single-node tests share: thin calls of the ioctls that return 0 or
 * negative errno, and two ranks of one communicator in this process.
 */
#ifndef HCOMM_SELFTEST_UTIL_H
#define HCOMM_SELFTEST_UTIL_H

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <unistd.h>
#include <linux/hcomm.h>

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

static inline int dev_open(void)
{
	return open(HCOMM_DEVICE, O_RDWR | O_CLOEXEC);
}

static inline int call(int fd, unsigned long cmd, void *arg)
{
	return ioctl(fd, cmd, arg) < 0 ? -errno : 0;
}

/* A rank: context, ring, communicator. */
struct rank {
	int fd;
	uint32_t comm;
	struct hcomm_ring *ring;
	size_t ring_size;
	struct hcomm_comm_create create;
};

static inline int ring_setup(int fd, uint32_t entries, int eventfd, struct hcomm_ring **ring,
			     size_t *size)
{
	struct hcomm_ring_setup arg = {
		.size = sizeof(arg), .entries = entries, .eventfd = eventfd,
	};
	int ret = call(fd, HCOMM_RING_SETUP, &arg);

	if (ret)
		return ret;
	*size = arg.out_mmap_size;
	*ring = mmap(NULL, *size, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		     HCOMM_RING_MMAP_OFFSET);
	return *ring == MAP_FAILED ? -errno : 0;
}

static inline uint32_t ring_unread(struct hcomm_ring *ring)
{
	return __atomic_load_n(&ring->tail, __ATOMIC_ACQUIRE) - ring->head;
}

static inline bool ring_next(struct hcomm_ring *ring, struct hcomm_cqe *cqe)
{
	if (!ring_unread(ring))
		return false;
	*cqe = ring->cqe[ring->head & ring->mask];
	__atomic_store_n(&ring->head, ring->head + 1, __ATOMIC_RELEASE);
	return true;
}

static inline int ring_wait(int fd, uint32_t count, int64_t timeout_ns)
{
	struct hcomm_wait arg = {
		.size = sizeof(arg), .count = count, .timeout_ns = timeout_ns,
	};

	return call(fd, HCOMM_WAIT, &arg);
}

static inline void create_init(struct hcomm_comm_create *arg, uint32_t rank, uint32_t nranks)
{
	memset(arg, 0, sizeof(*arg));
	arg->size = sizeof(*arg);
	arg->rank = rank;
	arg->nranks = nranks;
	arg->transports = HCOMM_TRANSPORT_LOCAL;
	arg->connect_timeout_ms = 5000;
	memset(arg->secret, 0x5a, sizeof(arg->secret));
}

/* The ranks of a communicator on this kernel, told of one another. */
static inline int ranks_open(struct rank *r, uint32_t n, const struct hcomm_comm_create *opt)
{
	struct hcomm_info info = { .size = sizeof(info) };
	struct hcomm_peer *peers = calloc(n, sizeof(*peers));
	uint8_t uuid[16];
	uint32_t i;
	int ret = 0;

	if (!peers || getrandom(uuid, sizeof(uuid), 0) != sizeof(uuid))
		return -ENOMEM;
	for (i = 0; i < n && !ret; i++) {
		struct hcomm_comm_create *c = &r[i].create;

		if (opt)
			*c = *opt;
		else
			create_init(c, i, n);
		c->rank = i;
		c->nranks = n;
		memcpy(c->uuid, uuid, sizeof(uuid));
		r[i].fd = dev_open();
		if (r[i].fd < 0)
			return -errno;
		ret = ring_setup(r[i].fd, 64, -1, &r[i].ring, &r[i].ring_size);
		if (!ret)
			ret = call(r[i].fd, HCOMM_COMM_CREATE, c);
		r[i].comm = c->out_comm_id;
		peers[i].addr = c->listen;
	}
	if (!ret)
		ret = call(r[0].fd, HCOMM_INFO, &info);
	for (i = 0; i < n && !ret; i++)
		memcpy(peers[i].node_id, info.node_id, sizeof(info.node_id));
	for (i = 0; i < n && !ret; i++) {
		struct hcomm_comm_peers arg = {
			.size = sizeof(arg), .comm_id = r[i].comm,
			.peers = (uintptr_t)peers, .count = n,
		};

		ret = call(r[i].fd, HCOMM_COMM_PEERS, &arg);
	}
	free(peers);
	return ret;
}

static inline void rank_close(struct rank *r)
{
	if (r->ring)
		munmap(r->ring, r->ring_size);
	if (r->fd >= 0)
		close(r->fd);
	r->ring = NULL;
	r->fd = -1;
}

static inline int mem_reg(int fd, void *addr, size_t len, uint32_t flags, uint32_t *id)
{
	struct hcomm_mem_reg arg = {
		.size = sizeof(arg), .addr = (uintptr_t)addr, .length = len, .flags = flags,
	};
	int ret = call(fd, HCOMM_MEM_REG, &arg);

	*id = arg.out_mem_id;
	return ret;
}

static inline int prog_load(int fd, uint32_t comm, const struct hcomm_step *steps,
			    uint32_t nsteps, const uint32_t *deps, uint32_t ndeps,
			    uint32_t nslots, uint32_t *id)
{
	struct hcomm_prog_load arg = {
		.size = sizeof(arg), .comm_id = comm, .steps = (uintptr_t)steps,
		.deps = (uintptr_t)deps, .nsteps = nsteps, .ndeps = ndeps, .nslots = nslots,
		.max_runs = 2,
	};
	int ret = call(fd, HCOMM_PROG_LOAD, &arg);

	*id = arg.out_prog_id;
	return ret;
}

static inline int launch(int fd, uint32_t prog, const struct hcomm_slot *slots,
			 uint32_t nslots, uint64_t run, uint64_t user_data, uint32_t flags)
{
	struct hcomm_launch arg = {
		.size = sizeof(arg), .prog_id = prog, .slots = (uintptr_t)slots,
		.nslots = nslots, .run = run, .user_data = user_data, .flags = flags,
		.call = { .coll = HCOMM_COLL_P2P },
	};

	return call(fd, HCOMM_LAUNCH, &arg);
}

static inline int destroy(int fd, uint32_t id)
{
	struct hcomm_destroy arg = { .size = sizeof(arg), .id = id };

	return call(fd, HCOMM_DESTROY, &arg);
}

static inline int query_fault(int fd, uint32_t comm, struct hcomm_fault *fault)
{
	struct hcomm_comm_query arg = { .size = sizeof(arg), .comm_id = comm };
	int ret = call(fd, HCOMM_COMM_QUERY, &arg);

	*fault = arg.fault;
	return ret;
}

static inline void *pages(size_t len)
{
	void *p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

/* A figure in kB from a file of /proc. */
static inline long proc_kb(const char *path, const char *key)
{
	char line[256];
	long value = -1;
	FILE *f = fopen(path, "r");

	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, key, strlen(key)))
			value = strtol(line + strlen(key) + 1, NULL, 10);
	if (f)
		fclose(f);
	return value;
}

/* What the kernel counts as pinned by this process. */
static inline long vm_pin_kb(void)
{
	return proc_kb("/proc/self/status", "VmPin");
}

static inline bool put_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);
	bool ok = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	if (fd >= 0)
		close(fd);
	return ok;
}

static inline void fault_exits(int sig)
{
	_exit(sig);
}

/* Faults end this process with the signal's number, and the log says nothing of it. */
static inline void faults_exit(void)
{
	signal(SIGSEGV, fault_exits);
	signal(SIGBUS, fault_exits);
}

/* How a child ended: its status, or 256 and the signal. */
static inline int status_of(pid_t pid)
{
	int status;

	if (waitpid(pid, &status, 0) != pid)
		return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 256 + WTERMSIG(status);
}

#endif /* HCOMM_SELFTEST_UTIL_H */
