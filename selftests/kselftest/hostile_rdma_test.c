// SPDX-License-Identifier: GPL-2.0-only
/* What a user may try over RDMA; skipped where no RDMA device has an address. */
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include "util.h"
#include "kselftest_harness.h"

/* Options of a rank that uses RDMA only; false: there is no device. */
static bool rdma_options(struct hcomm_comm_create *c)
{
	struct ifaddrs *all, *a;
	int fd = dev_open(), ret = -ENODEV;

	create_init(c, 0, 2);
	c->transports = HCOMM_TRANSPORT_RDMA;
	c->listen.family = AF_INET;
	if (getifaddrs(&all))
		return false;
	for (a = all; a && ret; a = a->ifa_next) {
		struct hcomm_comm_create one = *c;

		/* A loopback address is taken as any. */
		if (!a->ifa_addr || a->ifa_addr->sa_family != AF_INET ||
		    (a->ifa_flags & IFF_LOOPBACK))
			continue;
		memcpy(one.listen.addr, &((struct sockaddr_in *)a->ifa_addr)->sin_addr, 4);
		memcpy(c->listen.addr, one.listen.addr, 4);
		ret = call(fd, HCOMM_COMM_CREATE, &one);
	}
	freeifaddrs(all);
	close(fd);
	return !ret;
}

#define LEN (64ul << 20)

/*
 * Segments of a registration overlap by a chunk.  Where that is nearly all of a
 * segment, memory must not cost more than it is.
 */
TEST(big_chunks_cost_no_more)
{
	struct hcomm_step step = { .op = HCOMM_STEP_SEND, .peer = 1, .len = 1u << 20 };
	uint32_t pages_of[] = { 127, 191, 192, 254, 255, 256 };
	struct hcomm_comm_create c;
	uint8_t *buf = pages(LEN);

	ASSERT_NE(NULL, buf);
	memset(buf, 1, LEN);
	if (!rdma_options(&c))
		SKIP(return, "no RDMA device has an address here");
	for (size_t i = 0; i < ARRAY_LEN(pages_of); i++) {
		struct hcomm_link_open lo = { .size = sizeof(lo), .peer = 1 };
		struct hcomm_slot slot = { .length = LEN };
		struct rank r[2] = {};
		uint32_t prog;
		long before;
		int ret;

		c.chunk_size = pages_of[i] * 4096;
		ASSERT_EQ(0, ranks_open(r, 2, &c));
		ASSERT_EQ(0, mem_reg(r[0].fd, buf, LEN, 0, &slot.mem_id));
		ASSERT_EQ(0, prog_load(r[0].fd, r[0].comm, &step, 1, NULL, 0, 1, &prog));
		lo.comm_id = r[0].comm;
		ASSERT_EQ(0, call(r[0].fd, HCOMM_LINK_OPEN, &lo));
		before = proc_kb("/proc/meminfo", "MemFree");
		ret = launch(r[0].fd, prog, &slot, 1, 1, 1, 0);
		if (ret)
			EXPECT_EQ(-EOPNOTSUPP, ret);
		EXPECT_LT(before - proc_kb("/proc/meminfo", "MemFree"), (long)(LEN / 2048));
		rank_close(&r[0]);
		rank_close(&r[1]);
	}
	munmap(buf, LEN);
}

#define RANGE		"/proc/sys/net/ipv4/ip_local_port_range"
#define FIRST_PORT	40000
#define PORTS		64
#define COMMS		16

/* Two of three ports are those of TCP servers, which an RDMA CM knows nothing of. */
static void occupy(int *fds)
{
	for (int i = 0; i < PORTS; i++) {
		struct sockaddr_in sin = {
			.sin_family = AF_INET, .sin_port = htons(FIRST_PORT + i),
		};

		fds[i] = i % 3 ? socket(AF_INET, SOCK_STREAM, 0) : -1;
		if (fds[i] >= 0 && (bind(fds[i], (struct sockaddr *)&sin, sizeof(sin)) ||
				    listen(fds[i], 1))) {
			close(fds[i]);
			fds[i] = -1;
		}
	}
}

static bool link_comes_up(const struct rank *r)
{
	struct hcomm_step step = { .op = HCOMM_STEP_SEND, .peer = 1, .len = 64 };
	struct hcomm_slot slot = { .length = 64 };
	uint8_t *buf = pages(4096);
	struct hcomm_cqe cqe;
	uint32_t prog[2];
	bool ok = buf;

	for (uint32_t i = 0; i < 2 && ok; i++) {
		step.op = i ? HCOMM_STEP_RECV : HCOMM_STEP_SEND;
		step.peer = !i;
		ok = !mem_reg(r[i].fd, buf, 4096, 0, &slot.mem_id) &&
		     !prog_load(r[i].fd, r[i].comm, &step, 1, NULL, 0, 1, &prog[i]) &&
		     !launch(r[i].fd, prog[i], &slot, 1, 1, 1, 0);
	}
	for (uint32_t i = 0; i < 2 && ok; i++)
		ok = !ring_wait(r[i].fd, 1, 20000000000) &&
		     ring_next(r[i].ring, &cqe) && !cqe.status;
	if (buf)
		munmap(buf, 4096);
	return ok;
}

TEST(ports_that_tcp_uses)
{
	char before[64] = "", range[64];
	struct hcomm_comm_create c;
	int fds[PORTS], fd, up = 0;

	if (!rdma_options(&c))
		SKIP(return, "no RDMA device has an address here");
	fd = open(RANGE, O_RDONLY);
	ASSERT_LE(0, fd);
	ASSERT_LT(0, read(fd, before, sizeof(before) - 1));
	close(fd);
	snprintf(range, sizeof(range), "%d %d", FIRST_PORT, FIRST_PORT + PORTS - 1);
	ASSERT_TRUE(put_text(RANGE, range));
	occupy(fds);
	for (int i = 0; i < COMMS; i++) {
		struct rank r[2] = {};

		EXPECT_EQ(0, ranks_open(r, 2, &c));
		up += link_comes_up(r);
		rank_close(&r[0]);
		rank_close(&r[1]);
	}
	EXPECT_EQ(COMMS, up);
	for (int i = 0; i < PORTS; i++)
		if (fds[i] >= 0)
			close(fds[i]);
	EXPECT_TRUE(put_text(RANGE, before));
}

TEST_HARNESS_MAIN
