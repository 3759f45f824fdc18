// SPDX-License-Identifier: GPL-2.0-only
/*
 * The nodes meet over TCP: node 0 listens, all others connect to it, and every
 * exchange goes through it.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <time.h>
#include "multi.h"

struct boot boot;

double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}

static bool io_all(int fd, void *buf, size_t len, bool out)
{
	char *p = buf;

	while (len) {
		ssize_t n = out ? send(fd, p, len, MSG_NOSIGNAL) : recv(fd, p, len, 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		p += n;
		len -= n;
	}
	return true;
}

static int boot_accept(int port, struct boot *b, uint32_t n)
{
	struct sockaddr_in sa = { .sin_family = AF_INET, .sin_port = htons(port) };
	int one = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(fd, (void *)&sa, sizeof(sa)) || listen(fd, 16))
		return -errno;
	for (uint32_t i = 1; i < n; i++) {
		uint32_t who;
		int c = accept(fd, NULL, NULL);

		if (c < 0)
			return -errno;
		if (!io_all(c, &who, sizeof(who), false) || who >= n)
			return -EPROTO;
		b->peer[who] = c;
	}
	close(fd);
	return 0;
}

static int boot_connect(int port, struct boot *b)
{
	struct sockaddr_in sa = {
		.sin_family = AF_INET, .sin_port = htons(port), .sin_addr = addrs[0],
	};
	double end = now() + SCENARIO_LIMIT + 30;

	while (now() < end) {
		int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		struct timeval limit = { .tv_sec = 3 };

		setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
		if (!connect(fd, (void *)&sa, sizeof(sa))) {
			if (!io_all(fd, &me, sizeof(me), true))
				return -EPROTO;
			b->peer[0] = fd;
			return 0;
		}
		close(fd);
		usleep(100000);
	}
	return -ETIMEDOUT;
}

int boot_open(struct boot *b, int port, uint32_t n)
{
	memset(b, -1, sizeof(*b));
	return me ? boot_connect(port, b) : boot_accept(port, b, n);
}

void boot_gather(struct boot *b, void *all, size_t size, uint32_t n)
{
	char *p = all;

	if (me) {
		NEED(io_all(b->peer[0], p + me * size, size, true), "%m");
		NEED(io_all(b->peer[0], p, n * size, false), "%m");
		return;
	}
	for (uint32_t i = 1; i < n; i++)
		NEED(io_all(b->peer[i], p + i * size, size, false), "rank %u: %m", i);
	for (uint32_t i = 1; i < n; i++)
		NEED(io_all(b->peer[i], p, n * size, true), "rank %u: %m", i);
}

void meet(uint32_t n)
{
	uint8_t all[MAX_NODES] = {};

	boot_gather(&boot, all, 1, n);
}
