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

static long mem_free_kb(void)
{
	FILE *f = fopen("/proc/meminfo", "r");
	char line[128];
	long kb = -1;

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "MemFree: %ld", &kb) == 1)
			break;
	if (f)
		fclose(f);
	return kb;
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
		before = mem_free_kb();
		ret = launch(r[0].fd, prog, &slot, 1, 1, 1, 0);
		if (ret)
			EXPECT_EQ(-EOPNOTSUPP, ret);
		EXPECT_LT(before - mem_free_kb(), (long)(LEN / 2048));
		rank_close(&r[0]);
		rank_close(&r[1]);
	}
	munmap(buf, LEN);
}

TEST_HARNESS_MAIN
