// SPDX-License-Identifier: GPL-2.0-only
/*
 * The bootstrap on loopback: ranks as threads, missing ranks, wrong secrets, and
 * strangers of several kinds.
 */
#include <arpa/inet.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../../lib/base/base.h"
#include "../../lib/bootstrap/bootstrap.h"
#include "../../lib/bootstrap/wire.h"
#include "tap.h"

#define MAX_RANKS	1024

struct rank_arg {
	const struct hcomm_meeting *meeting;
	uint32_t rank;
	uint32_t nranks;
	uint32_t rounds;
	uint32_t blob;
	uint64_t timeout_ms;
	bool drop;		/* leave without a word after the first round */
	hcommResult_t ret;
	char text[HCOMM_ERROR_TEXT];
	bool wrong;
};

static struct rank_arg args[MAX_RANKS];
static pthread_t threads[MAX_RANKS];

static uint8_t pattern(uint32_t rank, uint32_t round, uint32_t i)
{
	return (uint8_t)(rank * 31 + round * 7 + i * 3 + (rank >> 8));
}

static void *rank_main(void *p)
{
	struct rank_arg *a = p;
	uint8_t *blob = malloc(a->blob), *all = malloc((size_t)a->blob * a->nranks);
	struct hcomm_bootstrap *bs = NULL;
	uint32_t round, r, i;

	a->ret = hcomm_bootstrap_join(a->meeting, a->rank, a->nranks,
				      a->timeout_ms, &bs);
	for (round = 0; !a->ret && round < a->rounds; round++) {
		for (i = 0; i < a->blob; i++)
			blob[i] = pattern(a->rank, round, i);
		a->ret = hcomm_bootstrap_gather(bs, blob, a->blob, all);
		if (a->ret)
			break;
		for (r = 0; r < a->nranks; r++) {
			for (i = 0; i < a->blob; i++)
				a->wrong |= all[(size_t)r * a->blob + i] !=
					    pattern(r, round, i);
		}
		if (a->drop)
			break;
	}
	if (a->ret)
		strcpy(a->text, hcomm_error_text());
	hcomm_bootstrap_leave(bs);
	free(blob);
	free(all);
	return NULL;
}

static void new_meeting(struct hcomm_meeting *m, bool v6)
{
	memset(m, 0, sizeof(*m));
	hcomm_random(m->secret, sizeof(m->secret));
	hcomm_random(m->uuid, sizeof(m->uuid));
	m->naddrs = 1;
	hcomm_addr_resolve(v6 ? "::1" : "127.0.0.1", 0, m->addrs, &m->naddrs);
}

static void prepare(const struct hcomm_meeting *m, uint32_t n, uint32_t rounds,
		    uint32_t blob, uint64_t timeout_ms)
{
	uint32_t i;

	memset(args, 0, sizeof(args));
	for (i = 0; i < n; i++)
		args[i] = (struct rank_arg){ .meeting = m, .rank = i, .nranks = n,
			.rounds = rounds, .blob = blob, .timeout_ms = timeout_ms };
}

static void start(uint32_t i)
{
	pthread_attr_t attr;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 128 << 10);
	if (pthread_create(&threads[i], &attr, rank_main, &args[i]))
		abort();
	pthread_attr_destroy(&attr);
}

static void finish(uint32_t i)
{
	pthread_join(threads[i], NULL);
}

static void meet(uint32_t n, uint32_t rounds, uint32_t blob, bool v6)
{
	struct hcomm_meeting m;
	uint32_t i;

	new_meeting(&m, v6);
	if (!CHECK(!hcomm_hub_start(&m, false, 60000), "%s", hcomm_error_text()))
		return;
	prepare(&m, n, rounds, blob, 60000);
	/* not in order */
	for (i = 0; i < n; i++)
		start((i * 7 + 3) % n);
	for (i = 0; i < n; i++) {
		finish((i * 7 + 3) % n);
		CHECK(!args[(i * 7 + 3) % n].ret, "%s", args[(i * 7 + 3) % n].text);
		CHECK(!args[(i * 7 + 3) % n].wrong, "rank %u", i);
	}
}

static void test_meet_1024(void)
{
	int64_t t = hcomm_now_ms();

	/* 1024 is not a multiple of 7 either: all ranks are started */
	meet(1024, 2, 300, false);
	printf("# 1024 ranks: %lld ms\n", (long long)(hcomm_now_ms() - t));
}

static void test_missing(void)
{
	struct hcomm_meeting m;
	uint32_t i;

	new_meeting(&m, false);
	CHECK(!hcomm_hub_start(&m, false, 700), "%s", hcomm_error_text());
	prepare(&m, 8, 1, 16, 10000);
	for (i = 0; i < 8; i++) {
		if (i != 3 && i != 5 && i != 6)
			start(i);
	}
	for (i = 0; i < 8; i++) {
		if (i == 3 || i == 5 || i == 6)
			continue;
		finish(i);
		CHECK(args[i].ret == HCOMM_ERR_TIMEOUT, "%d", args[i].ret);
		CHECK(strstr(args[i].text, "3 of 8 ranks are missing"), "%s",
		      args[i].text);
		CHECK(strstr(args[i].text, "rank 3, 5-6"), "%s", args[i].text);
	}
}

static void test_nobody(void)
{
	struct hcomm_meeting m;
	int64_t t = hcomm_now_ms();

	new_meeting(&m, false);
	hcomm_addr_set_port(&m.addrs[0], 1);
	prepare(&m, 2, 1, 16, 300);
	start(0);
	finish(0);
	CHECK(args[0].ret == HCOMM_ERR_TIMEOUT, "%d", args[0].ret);
	CHECK(strstr(args[0].text, "127.0.0.1:1"), "%s", args[0].text);
	CHECK(hcomm_now_ms() - t < 3000, "took long");
}

/* rank 0 is told an address of another host */
static void test_foreign_address(void)
{
	struct hcomm_meeting m;
	int64_t begin = hcomm_now_ms();

	new_meeting(&m, false);
	CHECK(!hcomm_addr_resolve("192.0.2.77", 4711, m.addrs, &m.naddrs), "%s",
	      hcomm_error_text());
	CHECK(hcomm_hub_start(&m, true, 60000) == HCOMM_ERR_ENVIRONMENT, "listens");
	CHECK(strstr(hcomm_error_text(), "192.0.2.77:4711 is not an address of this host"),
	      "%s", hcomm_error_text());
	CHECK(hcomm_now_ms() - begin < 5000, "waits");
	/* one of several is enough */
	m.naddrs = 2;
	m.addrs[1] = m.addrs[0];
	((struct sockaddr_in *)&m.addrs[1])->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	hcomm_addr_set_port(&m.addrs[0], 0);
	hcomm_addr_set_port(&m.addrs[1], 0);
	CHECK(!hcomm_hub_start(&m, true, 100), "%s", hcomm_error_text());
}

static void test_wrong_secret(void)
{
	struct hcomm_meeting m, other;
	uint32_t i;

	new_meeting(&m, false);
	CHECK(!hcomm_hub_start(&m, false, 5000), "%s", hcomm_error_text());
	other = m;
	other.secret[31] ^= 1;
	prepare(&m, 3, 1, 16, 5000);
	args[1].meeting = &other;
	for (i = 0; i < 3; i++)
		start(i);
	finish(1);
	CHECK(args[1].ret == HCOMM_ERR_AUTH, "%d", args[1].ret);
	CHECK(strstr(args[1].text, "secret"), "%s", args[1].text);
	/* the ranks are not disturbed: the right one completes the job */
	args[1].meeting = &m;
	start(1);
	for (i = 0; i < 3; i++) {
		finish(i);
		CHECK(!args[i].ret && !args[i].wrong, "%s", args[i].text);
	}
}

static void test_size_differs(void)
{
	struct hcomm_meeting m;

	new_meeting(&m, false);
	CHECK(!hcomm_hub_start(&m, false, 5000), "%s", hcomm_error_text());
	prepare(&m, 3, 1, 16, 5000);
	start(0);
	usleep(100000);
	args[1].nranks = 4;
	start(1);
	finish(0);
	finish(1);
	CHECK(args[0].ret == HCOMM_ERR_INVALID_ARGUMENT, "%s", args[0].text);
	CHECK(args[1].ret == HCOMM_ERR_INVALID_ARGUMENT, "%s", args[1].text);
	CHECK(strstr(args[0].text, "4 ranks") && strstr(args[0].text, "said 3"),
	      "%s", args[0].text);
}

static void test_twice(void)
{
	struct hcomm_meeting m;

	new_meeting(&m, false);
	CHECK(!hcomm_hub_start(&m, false, 5000), "%s", hcomm_error_text());
	prepare(&m, 3, 1, 16, 5000);
	args[1].rank = 0;
	start(0);
	start(1);
	finish(0);
	finish(1);
	CHECK(args[0].ret == HCOMM_ERR_INVALID_ARGUMENT, "%s", args[0].text);
	CHECK(strstr(args[1].text, "rank 0 came twice"), "%s", args[1].text);
}

static void test_death(void)
{
	struct hcomm_meeting m;
	uint32_t i;

	new_meeting(&m, false);
	CHECK(!hcomm_hub_start(&m, false, 700), "%s", hcomm_error_text());
	prepare(&m, 4, 2, 16, 5000);
	args[2].drop = true;
	for (i = 0; i < 4; i++)
		start(i);
	for (i = 0; i < 4; i++) {
		finish(i);
		if (i == 2)
			continue;
		CHECK(args[i].ret == HCOMM_ERR_TIMEOUT, "%d", args[i].ret);
		CHECK(strstr(args[i].text, "rank 2"), "%s", args[i].text);
	}
}

/* ------------------------------------------------------------------ strangers */

static int stranger_connect(const struct hcomm_meeting *m)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (connect(fd, (const struct sockaddr *)&m->addrs[0],
		    hcomm_addr_len(&m->addrs[0])))
		abort();
	return fd;
}

/*
 * Silent ones, a slow one, noise, a replay: the ranks meet all the same, and
 * before the strangers' time is over.
 */
static void test_strangers(void)
{
	static int fds[600];
	struct hcomm_meeting m;
	uint8_t noise[4096];
	uint32_t i;
	int64_t t;

	new_meeting(&m, false);
	CHECK(!hcomm_hub_start(&m, false, 20000), "%s", hcomm_error_text());
	for (i = 0; i < 600; i++) {
		fds[i] = stranger_connect(&m);
		hcomm_random(noise, 256);
		if (i % 3 == 1 && send(fds[i], noise, 256, MSG_NOSIGNAL) < 0)
			continue;
		if (i % 3 == 2 && send(fds[i], "H", 1, MSG_NOSIGNAL) < 0)
			continue;
	}
	t = hcomm_now_ms();
	prepare(&m, 16, 2, 100, 20000);
	for (i = 0; i < 16; i++)
		start(i);
	for (i = 0; i < 16; i++) {
		finish(i);
		CHECK(!args[i].ret && !args[i].wrong, "%s", args[i].text);
	}
	printf("# 16 ranks behind 600 strangers: %lld ms\n",
	       (long long)(hcomm_now_ms() - t));
	CHECK(hcomm_now_ms() - t < 5000, "strangers slowed the job");
	for (i = 0; i < 600; i++)
		close(fds[i]);
}

/* one that sends a byte now and then is dropped in time */
static void test_slow_loris(void)
{
	struct hcomm_meeting m;
	int64_t t = hcomm_now_ms();
	bool dropped = false;
	uint8_t buf[64];
	int fd;

	new_meeting(&m, false);
	CHECK(!hcomm_hub_start(&m, false, 1000), "%s", hcomm_error_text());
	fd = stranger_connect(&m);
	while (!dropped && hcomm_now_ms() - t < 9000) {
		usleep(100000);
		if (send(fd, "x", 1, MSG_NOSIGNAL) < 0)
			dropped = true;
		if (recv(fd, buf, sizeof(buf), MSG_DONTWAIT) == 0)
			dropped = true;
	}
	CHECK(dropped, "still connected");
	CHECK(hcomm_now_ms() - t > 3000, "dropped too early to be by time");
	close(fd);
}

/* a proof that was recorded is of no use on another connection */
static void test_replay(void)
{
	struct hcomm_meeting m;
	struct bs_hello hello;
	struct bs_join join = { .magic = BS_MAGIC };
	uint8_t answer[HCOMM_MAC_SIZE];
	struct bs_proof proof = { .meeting = &m, .hub_nonce = hello.nonce,
				  .rank_nonce = join.nonce, .rank = 0,
				  .nranks = 2 };
	int a, b;

	new_meeting(&m, false);
	CHECK(!hcomm_hub_start(&m, false, 1000), "%s", hcomm_error_text());
	a = stranger_connect(&m);
	CHECK(recv(a, &hello, sizeof(hello), MSG_WAITALL) == sizeof(hello), "short");
	join.nranks = 2;
	bs_proof_mac(&proof, BS_RANK, join.mac);
	b = stranger_connect(&m);
	CHECK(recv(b, &hello, sizeof(hello), MSG_WAITALL) == sizeof(hello), "short");
	/* a's proof on b's connection */
	CHECK(send(b, &join, sizeof(join), 0) == sizeof(join), "short");
	CHECK(recv(b, answer, sizeof(answer), MSG_WAITALL) == sizeof(answer), "short");
	CHECK(!memcmp(answer, bs_refused, sizeof(answer)), "replay was accepted");
	CHECK(send(a, &join, sizeof(join), 0) == sizeof(join), "short");
	CHECK(recv(a, answer, sizeof(answer), MSG_WAITALL) == sizeof(answer), "short");
	CHECK(memcmp(answer, bs_refused, sizeof(answer)), "proof was refused");
	close(a);
	close(b);
}

/* a process that listens but is no hub that knows the secret */
static void *impostor(void *p)
{
	struct bs_hello hello = { .magic = BS_MAGIC };
	struct bs_join join;
	uint8_t mac[HCOMM_MAC_SIZE] = { 1 };
	int fd = accept(*(int *)p, NULL, NULL);

	if (send(fd, &hello, sizeof(hello), MSG_NOSIGNAL) > 0 &&
	    recv(fd, &join, sizeof(join), MSG_WAITALL) > 0)
		/* reflecting the rank's own proof must not do */
		if (send(fd, join.mac, sizeof(mac), MSG_NOSIGNAL) < 0)
			printf("# impostor: send failed\n");
	close(fd);
	return NULL;
}

static void test_impostor(void)
{
	struct hcomm_meeting m;
	socklen_t len = sizeof(m.addrs[0]);
	pthread_t thread;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	new_meeting(&m, false);
	CHECK(!bind(fd, (struct sockaddr *)&m.addrs[0], sizeof(struct sockaddr_in)),
	      "bind");
	CHECK(!listen(fd, 4), "listen");
	getsockname(fd, (struct sockaddr *)&m.addrs[0], &len);
	pthread_create(&thread, NULL, impostor, &fd);
	prepare(&m, 2, 1, 16, 3000);
	start(0);
	finish(0);
	pthread_join(thread, NULL);
	close(fd);
	CHECK(args[0].ret == HCOMM_ERR_AUTH, "%d: %s", args[0].ret, args[0].text);
}

/* ------------------------------------------------------------------ unique id */

static void test_uid(void)
{
	struct sockaddr_storage v6[HCOMM_BS_MAX_ADDRS];
	struct hcomm_meeting m, back;
	hcommUniqueId id;

	new_meeting(&m, false);
	hcomm_addr_resolve("::1", 0, v6, &m.naddrs);
	m.addrs[1] = v6[0];
	m.naddrs = 2;
	hcomm_addr_set_port(&m.addrs[0], 4711);
	hcomm_addr_set_port(&m.addrs[1], 4711);
	hcomm_uid_pack(&m, &id);
	CHECK(!hcomm_uid_unpack(&id, &back), "%s", hcomm_error_text());
	CHECK(back.naddrs == 2, "%u", back.naddrs);
	CHECK(!memcmp(back.secret, m.secret, 32), "secret");
	CHECK(!memcmp(back.uuid, m.uuid, 16), "uuid");
	CHECK(!strcmp(hcomm_addr_text(&back.addrs[0]), "127.0.0.1:4711"), "%s",
	      hcomm_addr_text(&back.addrs[0]));
	CHECK(!strcmp(hcomm_addr_text(&back.addrs[1]), "[::1]:4711"), "%s",
	      hcomm_addr_text(&back.addrs[1]));
	memset(&id, 0, sizeof(id));
	CHECK(hcomm_uid_unpack(&id, &back) == HCOMM_ERR_INVALID_ARGUMENT, "zero id");
	hcomm_uid_pack(&m, &id);
	id.internal[5] = 9;
	CHECK(hcomm_uid_unpack(&id, &back) == HCOMM_ERR_INVALID_ARGUMENT, "count");
}

static void test_names(void)
{
	struct sockaddr_storage addrs[HCOMM_BS_MAX_ADDRS];
	uint32_t n;

	CHECK(hcomm_name_listed(NULL, "eth0"), "all");
	CHECK(hcomm_name_listed("eth0,eth1", "eth1"), "in");
	CHECK(!hcomm_name_listed("eth0,eth1", "eth"), "prefix is not enough");
	CHECK(!hcomm_name_listed("^eth0,eth1", "eth1"), "excluded");
	CHECK(hcomm_name_listed("^eth0", "eth1"), "not excluded");
	CHECK(!hcomm_addr_local(NULL, addrs, &n) && n >= 1, "local");
	CHECK(!hcomm_addr_local("lo", addrs, &n) && n >= 1, "lo");
	CHECK(!strncmp(hcomm_addr_text(&addrs[0]), "127.", 4), "%s",
	      hcomm_addr_text(&addrs[0]));
	CHECK(hcomm_addr_local("nosuch0", addrs, &n) == HCOMM_ERR_ENVIRONMENT, "no");
	CHECK(strstr(hcomm_error_text(), "nosuch0"), "%s", hcomm_error_text());
}

int main(void)
{
	RUN(test_uid(), "unique ids are packed and unpacked");
	RUN(test_names(), "interfaces are selected by name");
	RUN(meet(1, 1, 1, false), "one rank meets itself");
	RUN(meet(2, 3, 100, true), "two ranks meet over IPv6");
	RUN(meet(64, 2, 1000, false), "64 ranks meet");
	RUN(meet(5, 2, HCOMM_BS_MAX_BLOB, false), "large blobs");
	RUN(test_missing(), "missing ranks are named on all that are there");
	RUN(test_nobody(), "nobody listens");
	RUN(test_foreign_address(), "an address of another host fails at once");
	RUN(test_wrong_secret(), "a wrong secret is refused, the others go on");
	RUN(test_size_differs(), "different sizes are named");
	RUN(test_twice(), "a rank that comes twice is named");
	RUN(test_death(), "a rank that leaves early is named");
	RUN(test_replay(), "a recorded proof is refused");
	RUN(test_impostor(), "a hub without the secret is refused");
	RUN(test_strangers(), "600 strangers do not disturb");
	RUN(test_slow_loris(), "a slow stranger is dropped in time");
	RUN(test_meet_1024(), "1024 ranks meet");
	return tap_end();
}
