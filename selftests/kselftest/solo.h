/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A rank without peers that looks at memory with the kernel's eyes: its one program
 * copies between a registered buffer of its own, "plain", and memory to be tested.
 */
#ifndef HCOMM_SELFTEST_SOLO_H
#define HCOMM_SELFTEST_SOLO_H

#include "util.h"

/* A ring of two pages. */
#define SOLO_ENTRIES	128u

struct solo {
	int fd;
	uint32_t comm, prog, plain_mem;
	struct hcomm_ring *ring;
	size_t ring_size, len;
	uint8_t *plain;
	uint64_t run;
};

static inline int solo_open(struct solo *s, size_t len)
{
	struct hcomm_step step = { .op = HCOMM_STEP_COPY, .dst_slot = 1, .len = len };
	struct hcomm_comm_create c;
	int ret;

	memset(s, 0, sizeof(*s));
	s->fd = dev_open();
	if (s->fd < 0)
		return -errno;
	s->len = len;
	s->plain = pages(len);
	if (!s->plain)
		return -ENOMEM;
	create_init(&c, 0, 1);
	if (getrandom(c.uuid, sizeof(c.uuid), 0) != sizeof(c.uuid))
		return -EIO;
	ret = ring_setup(s->fd, SOLO_ENTRIES, -1, &s->ring, &s->ring_size);
	if (!ret)
		ret = mem_reg(s->fd, s->plain, len, 0, &s->plain_mem);
	if (!ret)
		ret = call(s->fd, HCOMM_COMM_CREATE, &c);
	s->comm = c.out_comm_id;
	if (!ret)
		ret = prog_load(s->fd, s->comm, &step, 1, NULL, 0, 2, &s->prog);
	return ret;
}

static inline void solo_close(struct solo *s)
{
	if (s->ring)
		munmap(s->ring, s->ring_size);
	if (s->plain)
		munmap(s->plain, s->len);
	if (s->fd >= 0)
		close(s->fd);
}

/* Launch it; waits, but leaves the completion in the ring. */
static inline int solo_launch(struct solo *s, uint32_t from, uint32_t to)
{
	struct hcomm_slot slots[2] = {
		{ .mem_id = from, .length = s->len }, { .mem_id = to, .length = s->len },
	};

	s->run++;
	return launch(s->fd, s->prog, slots, 2, s->run, s->run, HCOMM_LAUNCH_WAIT);
}

static inline int solo_copy(struct solo *s, uint32_t from, uint32_t to)
{
	struct hcomm_cqe cqe;
	int ret = solo_launch(s, from, to);

	if (ret)
		return ret;
	return ring_next(s->ring, &cqe) ? cqe.status : -ENOMSG;
}

/* True if all bytes are c. */
static inline bool all_are(const uint8_t *p, uint8_t c, size_t len)
{
	return len == 0 || (p[0] == c && !memcmp(p, p + 1, len - 1));
}

/* Does the kernel see only c in mem? */
static inline bool solo_sees(struct solo *s, uint32_t mem, uint8_t c)
{
	memset(s->plain, ~c, s->len);
	return solo_copy(s, mem, s->plain_mem) == 0 && all_are(s->plain, c, s->len);
}

/* The kernel fills mem with c. */
static inline int solo_fill(struct solo *s, uint32_t mem, uint8_t c)
{
	memset(s->plain, c, s->len);
	return solo_copy(s, s->plain_mem, mem);
}

#endif /* HCOMM_SELFTEST_SOLO_H */
