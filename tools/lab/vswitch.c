// SPDX-License-Identifier: GPL-2.0-only
/*
 * A learning Ethernet switch between the NICs of several QEMU processes.
 *
 *	vswitch FD...
 *
 * Each descriptor is one end of a stream socket whose other end is a QEMU
 * "-netdev socket": frames with a be32 length in front. A port that cannot
 * take a frame within a moment loses it, as on a real switch; a port whose
 * node is gone is dropped, and the others go on. Ends when all are gone.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define MAX_PORTS	64
#define MAX_FRAME	(68 * 1024)
#define MAX_STATIONS	512
#define SEND_WAIT_MS	200

struct port {
	int fd;
	size_t have;
	unsigned char buf[2 * (4 + MAX_FRAME)];
};

struct station {
	unsigned char mac[6];
	int port;
};

static struct port ports[MAX_PORTS];
static int nr_ports;
static struct station stations[MAX_STATIONS];
static int nr_stations;

static void learn(const unsigned char *mac, int port)
{
	if (mac[0] & 1)
		return;
	for (int i = 0; i < nr_stations; i++) {
		if (!memcmp(stations[i].mac, mac, 6)) {
			stations[i].port = port;
			return;
		}
	}
	if (nr_stations == MAX_STATIONS)
		return;
	memcpy(stations[nr_stations].mac, mac, 6);
	stations[nr_stations++].port = port;
}

/* Port of an address, -1 when it has to go everywhere. */
static int lookup(const unsigned char *mac)
{
	for (int i = 0; i < nr_stations; i++)
		if (!memcmp(stations[i].mac, mac, 6))
			return stations[i].port;
	return -1;
}

static void drop_port(struct port *p)
{
	close(p->fd);
	p->fd = -1;
}

/* A frame that was begun has to be finished, or the stream loses its place. */
static void send_frame(struct port *p, const unsigned char *data, size_t len)
{
	size_t done = 0;

	while (p->fd >= 0 && done < len) {
		ssize_t n = send(p->fd, data + done, len - done,
				 MSG_DONTWAIT | MSG_NOSIGNAL);
		struct pollfd pfd = { .fd = p->fd, .events = POLLOUT };

		if (n > 0) {
			done += n;
			continue;
		}
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno != EAGAIN) {
			drop_port(p);
			return;
		}
		if (!poll(&pfd, 1, SEND_WAIT_MS) && !done)
			return;
	}
}

static void forward(int from, const unsigned char *data, size_t len)
{
	const unsigned char *eth = data + 4;
	int to;

	learn(eth + 6, from);
	to = lookup(eth);
	if (to >= 0 && ports[to].fd >= 0) {
		if (to != from)
			send_frame(&ports[to], data, len);
		return;
	}
	for (int i = 0; i < nr_ports; i++)
		if (i != from && ports[i].fd >= 0)
			send_frame(&ports[i], data, len);
}

static void receive(int index)
{
	struct port *p = &ports[index];
	size_t pos = 0;
	ssize_t n;

	n = recv(p->fd, p->buf + p->have, sizeof(p->buf) - p->have,
		 MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		drop_port(p);
		return;
	}
	p->have += n;
	while (p->have - pos >= 4) {
		uint32_t len;

		memcpy(&len, p->buf + pos, 4);
		len = ntohl(len);
		if (len > MAX_FRAME) {
			fprintf(stderr, "vswitch: port %d: frame of %u bytes\n",
				index, len);
			drop_port(p);
			return;
		}
		if (p->have - pos < 4 + len)
			break;
		if (len >= 14)
			forward(index, p->buf + pos, 4 + len);
		pos += 4 + len;
	}
	p->have -= pos;
	memmove(p->buf, p->buf + pos, p->have);
}

int main(int argc, char **argv)
{
	struct pollfd pfd[MAX_PORTS];
	int alive;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	nr_ports = argc - 1;
	if (nr_ports < 1 || nr_ports > MAX_PORTS) {
		fprintf(stderr, "usage: vswitch FD... (up to %d)\n", MAX_PORTS);
		return 2;
	}
	for (int i = 0; i < nr_ports; i++)
		ports[i].fd = atoi(argv[i + 1]);
	do {
		alive = 0;
		for (int i = 0; i < nr_ports; i++) {
			pfd[i] = (struct pollfd){ .fd = ports[i].fd,
						  .events = POLLIN };
			alive += ports[i].fd >= 0;
		}
		if (!alive)
			break;
		if (poll(pfd, nr_ports, -1) < 0 && errno != EINTR)
			return 1;
		for (int i = 0; i < nr_ports; i++)
			if (ports[i].fd >= 0 && pfd[i].revents)
				receive(i);
	} while (1);
	return 0;
}
