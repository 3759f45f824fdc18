// SPDX-License-Identifier: GPL-2.0-only
/*
 * Parts of the library that need no device: the pool, the table of regions, waiting
 * for completions, run keys, the agreement check, the choice of a NIC, and the texts of faults.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../lib/base/base.h"
#include "../../lib/comm/agree.h"
#include "../../lib/comm/nic.h"
#include "../../lib/dev/dev_priv.h"
#include "../../lib/mem/mem.h"
#include "tap.h"

static bool says(const char *what)
{
	return strstr(hcomm_error_text(), what);
}

/* ----------------------------------------------------------------------- pool */

static void test_pool_sizes(void)
{
	static const size_t sizes[] = { 0, 1, 63, 64, 65, 4096, 100000, 262144, 262145,
		2 << 20, (2 << 20) + 1, 9 << 20 };
	void *p[ARRAY_SIZE(sizes)];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		CHECK(!hcomm_mem_alloc(sizes[i], &p[i]), "%zu", sizes[i]);
		CHECK(!((uintptr_t)p[i] % 64), "%zu at %p", sizes[i], p[i]);
		if (sizes[i] >= 2 << 20)
			CHECK(!((uintptr_t)p[i] % (2 << 20)), "%zu at %p", sizes[i], p[i]);
		memset(p[i], (int)i + 1, sizes[i]);
	}
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		CHECK(!sizes[i] || (((uint8_t *)p[i])[0] == i + 1 &&
				    ((uint8_t *)p[i])[sizes[i] - 1] == i + 1),
		      "blocks overlap");
		CHECK(hcomm_mem_free(p[i]), "free %zu", sizes[i]);
		CHECK(!hcomm_mem_free(p[i]), "freed %zu twice", sizes[i]);
	}
	CHECK(hcomm_mem_free(NULL), "NULL");
	CHECK(!hcomm_mem_free(&i), "stack");
	CHECK(hcomm_mem_alloc(SIZE_MAX, &p[0]) == HCOMM_ERR_NO_MEMORY, "SIZE_MAX");
	CHECK(hcomm_mem_alloc(SIZE_MAX / 4 - 1, &p[0]) == HCOMM_ERR_NO_MEMORY, "huge");
}

/* a long random life: no overlap, and a bound on what is kept */
static void test_pool_life(void)
{
	enum { N = 300 };
	static struct { uint8_t *p; size_t n; uint8_t tag; } b[N];
	uint32_t seed = 1, turn, i;
	uint64_t limit;

	for (turn = 0; turn < 20000; turn++) {
		seed = seed * 1664525u + 1013904223u;
		i = (seed >> 8) % N;
		if (b[i].p) {
			CHECK(!b[i].n || (b[i].p[0] == b[i].tag &&
					  b[i].p[b[i].n - 1] == b[i].tag), "damaged");
			CHECK(hcomm_mem_free(b[i].p), "free");
			b[i].p = NULL;
			continue;
		}
		b[i].n = seed % 97 == 0 ? 3000000 : 1u << (seed >> 16) % 16;
		b[i].tag = (uint8_t)seed;
		if (hcomm_mem_alloc(b[i].n, (void **)&b[i].p))
			break;
		b[i].p[0] = b[i].tag;
		b[i].p[b[i].n - 1] = b[i].tag;
	}
	CHECK(turn == 20000, "%s", hcomm_error_text());
	for (i = 0; i < N; i++)
		hcomm_mem_free(b[i].p);
	/* large blocks are bounded; the small ones were never many */
	limit = (64 << 20) + N * 65536ull * 2;
	CHECK(hcomm_mem_mapped() < limit, "%llu bytes are kept",
	      (unsigned long long)hcomm_mem_mapped());
}

static bool add_region(struct hcomm_region *r, uintptr_t addr, uint64_t len)
{
	*r = (struct hcomm_region){ .addr = addr, .len = len };
	return !hcomm_region_add(r);
}

static void test_regions(void)
{
	struct hcomm_region r[4], bad;
	uintptr_t a = 1ul << 40;

	CHECK(add_region(&r[0], a, 100), "%s", hcomm_error_text());
	CHECK(add_region(&r[1], a + 100, 50), "behind: %s", hcomm_error_text());
	CHECK(add_region(&r[2], a - 10, 10), "before: %s", hcomm_error_text());
	CHECK(!add_region(&bad, a + 99, 1), "inside");
	CHECK(!add_region(&bad, a + 149, 10), "over the end");
	CHECK(!add_region(&bad, a - 20, 11), "into");
	CHECK(!add_region(&bad, a - 20, 1000), "over");
	CHECK(says("10 bytes at"), "%s", hcomm_error_text());
	CHECK(!hcomm_region_pooled(a), "not of the pool");
	hcomm_region_del(&r[0]);
	CHECK(add_region(&r[3], a + 5, 95), "again: %s", hcomm_error_text());
	hcomm_region_del(&r[3]);
	hcomm_region_del(&r[1]);
	hcomm_region_del(&r[2]);
}

/* ---------------------------------------------------------------- completions */

/* what another thread saw between a look at a limit and the wait is not waited for */
static void test_completions(void)
{
	struct hcomm_ring *ring = calloc(1, sizeof(*ring) + 2 * sizeof(ring->cqe[0]));
	uint32_t inflight = 2;
	struct hcomm_run run[2] = {
		{ .counters = { &inflight } }, { .counters = { &inflight } },
	};
	uint64_t seen;

	ring->entries = 2;
	ring->mask = 1;
	hcomm_dev.ring = ring;
	seen = hcomm_dev_seen();
	CHECK(!hcomm_dev_poll(&run[0]) && inflight == 2, "nothing came");
	ring->cqe[0].user_data = (uintptr_t)&run[0];
	ring->cqe[0].status = -5;
	ring->tail = 1;
	hcomm_dev_drain();
	CHECK(run[0].done && run[0].status == -5 && inflight == 1, "%u", inflight);
	CHECK(!hcomm_dev_wait_any(seen), "missed");
	/* nothing since: it asks the device, which is not there */
	CHECK(hcomm_dev_wait_any(hcomm_dev_seen()) == EBADF, "did not wait");
	/* it looks at the ring itself */
	seen = hcomm_dev_seen();
	ring->cqe[1].user_data = (uintptr_t)&run[1];
	ring->tail = 2;
	CHECK(!hcomm_dev_wait_any(seen) && run[1].done && !inflight, "%u", inflight);
	CHECK(ring->head == 2 && hcomm_dev_seen() == seen + 1, "%u", ring->head);
	hcomm_dev.ring = NULL;
	free(ring);
}

/* ----------------------------------------------------------------------- keys */

static void test_keys(void)
{
	struct hcomm_comm *comm = calloc(1, sizeof(*comm));
	uint32_t seq, tag, n;

	CHECK(hcomm_p2p_key(0, 1, 0, 0) >> 63, "bit 63");
	CHECK(hcomm_p2p_key(0, 1, 0, 0) != hcomm_p2p_key(1, 0, 0, 0), "direction");
	CHECK(hcomm_p2p_key(0, 1, 5, 0) != hcomm_p2p_key(1, 2, 5, 0), "pair");
	CHECK(hcomm_p2p_key(0, 1, 5, 0) != hcomm_p2p_key(0, 1, 6, 0), "tag");
	CHECK(hcomm_p2p_key(0, 1, 5, 0) != hcomm_p2p_key(0, 1, 5, 1), "number");
	/* both sides number alike, tags and directions on their own */
	for (n = 0; n < 3; n++) {
		for (tag = 0; tag < 5000; tag++) {
			CHECK(hcomm_flow_next(comm, 7, true, tag, &seq) && seq == n,
			      "tag %u: %u", tag, seq);
			CHECK(hcomm_flow_next(comm, 7, false, tag, &seq) && seq == n,
			      "tag %u: %u", tag, seq);
		}
	}
	CHECK(hcomm_flow_next(comm, 8, true, 0, &seq) && seq == 0, "peer");
	CHECK(hcomm_flow_next(comm, 7, true, HCOMM_MAX_TAG, &seq) && seq == 0, "tag");
	hcomm_flow_undo(comm, 7, true, HCOMM_MAX_TAG, 0);
	CHECK(hcomm_flow_next(comm, 7, true, HCOMM_MAX_TAG, &seq) && seq == 0, "undo");
	CHECK(hcomm_flow_next(comm, 7, true, HCOMM_MAX_TAG, &seq) && seq == 1, "next");
	/* not the last one any more */
	hcomm_flow_undo(comm, 7, true, HCOMM_MAX_TAG, 0);
	CHECK(hcomm_flow_next(comm, 7, true, HCOMM_MAX_TAG, &seq) && seq == 2, "late");
	free(comm->flows);
	free(comm);
}

/* ------------------------------------------------------------------ agreement */

static struct hcomm_card cards[4];

static void good_cards(void)
{
	int i;

	memset(cards, 0, sizeof(cards));
	for (i = 0; i < 4; i++) {
		cards[i].abi = HCOMM_ABI_VERSION;
		cards[i].chunk_size = 65536;
		cards[i].eager_size = 4096;
		cards[i].max_runs = 16;
		cards[i].transports = HCOMM_TRANSPORT_ALL;
		cards[i].boot_id[0] = (uint8_t)(i / 2);
		snprintf(cards[i].host, sizeof(cards[i].host), "host%d", i / 2);
		strcpy(cards[i].nic, "rxe0");
	}
}

static void test_agreement(void)
{
	good_cards();
	CHECK(!hcomm_agree_cards(cards, 4), "%s", hcomm_error_text());
	CHECK(hcomm_same_node(&cards[0], &cards[1]), "one node");
	CHECK(!hcomm_same_node(&cards[1], &cards[2]), "two nodes");
	cards[2].max_runs = 8;
	CHECK(hcomm_agree_cards(cards, 4) == HCOMM_ERR_OPTIONS, "max_runs");
	CHECK(says("16 on rank 0 (host0)") && says("8 on rank 2 (host1)"), "%s",
	      hcomm_error_text());
	good_cards();
	strcpy(cards[3].algo, "ring");
	CHECK(hcomm_agree_cards(cards, 4) == HCOMM_ERR_OPTIONS && says("\"ring\" on rank 3"),
	      "%s", hcomm_error_text());
	good_cards();
	cards[1].abi = 99;
	CHECK(hcomm_agree_cards(cards, 4) == HCOMM_ERR_VERSION && says("rank 1"), "%s",
	      hcomm_error_text());
	good_cards();
	cards[3].status = HCOMM_ERR_NO_DEVICE;
	strcpy(cards[3].text, "no such thing");
	CHECK(hcomm_agree_cards(cards, 4) == HCOMM_ERR_NO_DEVICE &&
	      says("rank 3 (host1): no such thing"), "%s", hcomm_error_text());
	good_cards();
	*cards[2].nic = 0;
	CHECK(hcomm_agree_cards(cards, 4) == HCOMM_ERR_NO_DEVICE && says("rank 2 (host1)"),
	      "%s", hcomm_error_text());
	/* on one node nobody needs one */
	CHECK(!hcomm_agree_cards(cards + 2, 2), "%s", hcomm_error_text());
	cards[2].transports = cards[3].transports = HCOMM_TRANSPORT_RDMA;
	CHECK(hcomm_agree_cards(cards + 2, 2) == HCOMM_ERR_NO_DEVICE, "rdma only");
	good_cards();
	for (int i = 0; i < 4; i++)
		cards[i].transports = HCOMM_TRANSPORT_LOCAL;
	CHECK(hcomm_agree_cards(cards, 4) == HCOMM_ERR_OPTIONS && says("rank 2 (host1)"),
	      "%s", hcomm_error_text());
	/* texts from the wire need not end */
	good_cards();
	memset(cards[1].host, 'x', sizeof(cards[1].host));
	cards[1].status = HCOMM_ERR_SYSTEM;
	memset(cards[1].text, 'y', sizeof(cards[1].text));
	CHECK(hcomm_agree_cards(cards, 4) == HCOMM_ERR_SYSTEM, "%s", hcomm_error_text());
	cards[1].status = 12345;
	CHECK(hcomm_agree_cards(cards, 4) == HCOMM_ERR_INTERNAL, "unknown status");
}

/* ------------------------------------------------------------------------ NIC */

static char sysfs[] = "/tmp/hcomm-nic-XXXXXX";

static void put_file(const char *path, const char *text)
{
	char full[256], *slash;
	FILE *f;

	snprintf(full, sizeof(full), "%s/%s", sysfs, path);
	for (slash = strchr(full + 6, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = 0;
		mkdir(full, 0700);
		*slash = '/';
	}
	f = fopen(full, "w");
	if (!f)
		abort();
	fputs(text, f);
	fclose(f);
}

#define IB	"class/infiniband/"
#define NODE	"devices/system/node/node"

/* who is chosen by a thread whose CPUs are all on nodes @a and @b of 0, 2 and 4 */
static const char *nearest(int a, int b)
{
	static struct hcomm_nic nic;
	char path[64];
	int i;

	for (i = 0; i <= 4; i += 2) {
		snprintf(path, sizeof(path), NODE "%d/cpulist", i);
		put_file(path, i == a || i == b ? "0-8191\n" : "8200-8300,9000\n");
	}
	CHECK(!hcomm_nic_choose(sysfs, "d2,d10,e0", &nic), "%s", hcomm_error_text());
	return nic.device;
}

static void test_nearest_nic(void)
{
	put_file(IB "e0/ports/1/state", "4: ACTIVE\n");
	put_file(IB "e0/ports/1/gid_attrs/ndevs/0", "lo\n");
	/* the rows have no number for nodes that are not there */
	put_file(NODE "0/distance", "10 20 40\n");
	put_file(NODE "2/distance", "20 10 30\n");
	put_file(NODE "4/distance", "40 30 10\n");
	CHECK(!strcmp(nearest(0, 0), "d2"), "no device has a node");
	put_file(IB "d10/device/numa_node", "2\n");
	put_file(IB "e0/device/numa_node", "4\n");
	CHECK(!strcmp(nearest(2, 2), "d10"), "on its node");
	CHECK(!strcmp(nearest(4, 4), "e0"), "on its node");
	CHECK(!strcmp(nearest(0, 0), "d10"), "near its node");
	CHECK(!strcmp(nearest(0, 4), "e0"), "one of its nodes");
	CHECK(!strcmp(nearest(2, 4), "d10"), "the first of equals");
	put_file(IB "e0/device/numa_node", "-1\n");
	CHECK(!strcmp(nearest(4, 4), "d10"), "far, but on a node");
}

static void test_nic(void)
{
	struct hcomm_nic nic;
	char cmd[64];

	CHECK(!hcomm_nic_choose("/nonexistent", NULL, &nic) && !*nic.device, "none");
	CHECK(hcomm_nic_choose("/nonexistent", "rxe0", &nic) == HCOMM_ERR_ENVIRONMENT,
	      "named, but none");
	if (!CHECK(mkdtemp(sysfs), "mkdtemp"))
		return;
	/* down; without interface; with one that does not exist; good ones on lo */
	put_file(IB "a0/ports/1/state", "1: DOWN\n");
	put_file(IB "a0/ports/1/gid_attrs/ndevs/0", "lo\n");
	put_file(IB "b0/ports/1/state", "4: ACTIVE\n");
	put_file(IB "c0/ports/1/state", "4: ACTIVE\n");
	put_file(IB "c0/ports/1/gid_attrs/ndevs/0", "nosuch0\n");
	put_file(IB "d2/ports/1/state", "1: DOWN\n");
	put_file(IB "d2/ports/1/gid_attrs/ndevs/0", "lo\n");
	put_file(IB "d2/ports/2/state", "4: ACTIVE\n");
	put_file(IB "d2/ports/2/gid_attrs/ndevs/0", "nosuch0\n");
	put_file(IB "d2/ports/2/gid_attrs/ndevs/3", "lo\n");
	put_file(IB "d10/ports/1/state", "4: ACTIVE\n");
	put_file(IB "d10/ports/1/gid_attrs/ndevs/0", "lo\n");
	CHECK(!hcomm_nic_choose(sysfs, NULL, &nic), "%s", hcomm_error_text());
	CHECK(!strcmp(nic.device, "d2") && !strcmp(nic.netdev, "lo"), "%s %s",
	      nic.device, nic.netdev);
	CHECK(nic.addr.family == AF_INET && nic.addr.addr[0] == 127, "address");
	CHECK(!hcomm_nic_choose(sysfs, "^d2", &nic) && !strcmp(nic.device, "d10"), "%s",
	      nic.device);
	CHECK(!hcomm_nic_choose(sysfs, "d10,a0", &nic) && !strcmp(nic.device, "d10"),
	      "%s", nic.device);
	CHECK(!hcomm_nic_choose(sysfs, "a0", &nic) && !*nic.device, "%s", nic.device);
	CHECK(hcomm_nic_choose(sysfs, "d2,d3", &nic) == HCOMM_ERR_ENVIRONMENT &&
	      says("\"d3\""), "%s", hcomm_error_text());
	CHECK(hcomm_nic_choose(sysfs, "^d", &nic) == HCOMM_ERR_ENVIRONMENT, "prefix");
	test_nearest_nic();
	snprintf(cmd, sizeof(cmd), "rm -r %s", sysfs);
	CHECK(!system(cmd), "rm");
}

/* ---------------------------------------------------------------------- texts */

static void test_texts(void)
{
	struct hcomm_fault f = {
		.error = 52, .reason = HCOMM_FAULT_MISMATCH, .rank = 3, .reporter = 1,
		.mine = { .coll = HCOMM_COLL_ALLREDUCE, .dtype = HCOMM_DT_FP32,
			  .redop = HCOMM_OP_SUM, .count = 16, .algo = HCOMM_ALGO_RING },
		.theirs = { .coll = HCOMM_COLL_BROADCAST, .dtype = HCOMM_DT_INT8,
			    .root = 2, .count = 5, .algo = HCOMM_ALGO_BINOMIAL },
	};
	char text[1024];
	uint32_t i;

	hcomm_fault_text(&f, text, sizeof(text));
	CHECK(strstr(text, "rank 1: AllReduce of 16 fp32, sum") &&
	      strstr(text, "rank 3: Broadcast of 5 int8, root 2"), "%s", text);
	CHECK(hcomm_fault_result(&f) == HCOMM_ERR_MISMATCH, "result");
	/* whatever differs is said */
	f.mine.coll = f.theirs.coll = HCOMM_COLL_EXSCAN;
	f.theirs.redop = HCOMM_OP_PROD;
	hcomm_fault_text(&f, text, sizeof(text));
	CHECK(strstr(text, ", sum") && strstr(text, ", prod"), "%s", text);
	f.mine.coll = f.theirs.coll = HCOMM_COLL_SCATTER;
	hcomm_fault_text(&f, text, sizeof(text));
	CHECK(strstr(text, "root 0") && strstr(text, "root 2"), "%s", text);
	f.theirs = f.mine;
	f.theirs.hash = 1;
	hcomm_fault_text(&f, text, sizeof(text));
	CHECK(strstr(text, "lengths of blocks"), "%s", text);
	for (i = 0; i <= HCOMM_FAULT_COUNT; i++) {
		f.reason = i;
		hcomm_fault_text(&f, text, sizeof(text));
		CHECK(strstr(text, "rank "), "%u: %s", i, text);
		CHECK(hcomm_fault_result(&f) != HCOMM_SUCCESS, "%u", i);
		/* and, but of an abort, which somebody wanted, what to do */
		CHECK(strpbrk(text, ";:") || i == HCOMM_FAULT_ABORTED, "%u: %s", i, text);
	}
	/* V forms by their names, and without a count where each rank has its own */
	f.reason = HCOMM_FAULT_MISMATCH;
	f.mine = f.theirs;
	f.mine.coll = HCOMM_COLL_ALLTOALL;
	f.mine.count = 0;
	f.mine.hash = 1u << 31;
	f.theirs.hash = 7u << 29;
	f.theirs.coll = HCOMM_COLL_ALLGATHER;
	hcomm_fault_text(&f, text, sizeof(text));
	CHECK(strstr(text, "AlltoAllV of fp32,") && strstr(text, "AllGatherV of 16 fp32,"),
	      "%s", text);
	f.reason = HCOMM_FAULT_PEER_DIED;
	hcomm_fault_text(&f, text, sizeof(text));
	CHECK(strstr(text, "rank 3 ended"), "%s", text);
	/* whatever the kernel says, there is a text */
	for (i = 0; i <= HCOMM_PE_COUNT; i++)
		CHECK(*hcomm_prog_error_name(i), "%u", i);
	for (i = 0; i < 40; i++)
		CHECK(*hcommGetErrorString((hcommResult_t)i), "%u", i);
	hcomm_fault_text(&f, text, 10);
	CHECK(strlen(text) < 10, "%s", text);
}

/* without hcommInit() every call says so */
static void test_uninitialised(void)
{
	int32_t x = 0;
	int n;
	hcommRequest_t req = NULL;
	hcommUniqueId id;
	hcommComm_t comm;
	hcommMem_t mem;

	CHECK(hcommAllReduce(&x, &x, 1, hcommInt32, hcommSum, COMM_WORLD) ==
	      HCOMM_ERR_INVALID_USAGE && says("hcommInit"), "%s", hcomm_error_text());
	CHECK(hcommCommRank(COMM_WORLD, &n) == HCOMM_ERR_INVALID_USAGE, "rank");
	CHECK(hcommFinalize() == HCOMM_ERR_INVALID_USAGE, "finalize");
	CHECK(hcommWait(&req) == HCOMM_SUCCESS, "no request");
	CHECK(hcommTest(&req, &n) == HCOMM_SUCCESS && n == 1, "no request");
	CHECK(hcommWaitAll(0, NULL) == HCOMM_SUCCESS, "no requests");
	CHECK(hcommCommDestroy(NULL) == HCOMM_SUCCESS, "NULL");
	CHECK(hcommMemRegister(&x, 0, &mem) == HCOMM_ERR_INVALID_ARGUMENT &&
	      says("size is 0"), "%s", hcomm_error_text());
	CHECK(hcommMemRegister(NULL, 4, &mem) == HCOMM_ERR_INVALID_ARGUMENT &&
	      says("NULL"), "%s", hcomm_error_text());
	CHECK(hcommMemRegister(&x, SIZE_MAX, &mem) == HCOMM_ERR_INVALID_ARGUMENT &&
	      says("past the end"), "%s", hcomm_error_text());
	memset(&id, 0, sizeof(id));
	CHECK(hcommCommInitRank(&comm, 2, id, 0) == HCOMM_ERR_INVALID_ARGUMENT, "id");
	CHECK(hcommCommInitRank(&comm, 2, id, 2) == HCOMM_ERR_INVALID_ARGUMENT &&
	      says("rank is 2"), "%s", hcomm_error_text());
	CHECK(hcommCommInitRank(&comm, 65537, id, 0) == HCOMM_ERR_INVALID_ARGUMENT &&
	      says("nranks"), "%s", hcomm_error_text());
	if (access("/dev/hcomm", F_OK)) {
		unsetenv("HCOMM_RANK");
		CHECK(hcommInit(NULL, NULL) == HCOMM_ERR_NO_DEVICE && says("modprobe"),
		      "%s", hcomm_error_text());
		CHECK(strstr(hcommGetLastError(NULL), "modprobe"), "last error");
	}
}

int main(void)
{
	RUN(test_pool_sizes(), "pool: sizes and alignment");
	RUN(test_pool_life(), "pool: a long life");
	RUN(test_regions(), "regions do not overlap");
	RUN(test_completions(), "completions are seen once, and not missed");
	RUN(test_keys(), "run keys and message numbers");
	RUN(test_agreement(), "ranks agree or name who differs");
	RUN(test_nic(), "choice of a NIC");
	RUN(test_texts(), "texts of faults");
	RUN(test_uninitialised(), "calls before hcommInit()");
	return tap_end();
}
