// SPDX-License-Identifier: LGPL-2.1-or-later
/* A rank's end of the bootstrap: plain blocking calls with deadlines. */
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../base/base.h"
#include "wire.h"

#define CONNECT_MS	2000	/* for one try at one address */
#define HANDSHAKE_MS	10000	/* for the hub to answer */
#define RETRY_MS	50	/* between tries */
#define GRACE_MS	5000	/* the hub's reason is better than ours */

/**
 * struct hcomm_bootstrap - a rank's connection
 * @fd: socket, non-blocking
 * @rank: this rank
 * @nranks: number of ranks
 * @timeout_ms: of a round
 * @key: session key
 * @sent: frames sent
 * @received: frames received
 * @peer: the hub's address, for messages
 */
struct hcomm_bootstrap {
	int fd;
	uint32_t rank;
	uint32_t nranks;
	uint64_t timeout_ms;
	uint8_t key[HCOMM_MAC_SIZE];
	uint64_t sent;
	uint64_t received;
	char peer[80];
};

/* 0, or a positive errno: ETIMEDOUT at the deadline */
static int wait_fd(int fd, short events, int64_t deadline)
{
	struct pollfd p = { .fd = fd, .events = events };
	int64_t left;
	int n;

	for (;;) {
		left = deadline - hcomm_now_ms();
		if (left <= 0)
			return ETIMEDOUT;
		n = poll(&p, 1, left > 1000000 ? 1000000 : (int)left);
		if (n > 0)
			return 0;
		if (n < 0 && errno != EINTR)
			return errno;
	}
}

/* 0 or a positive errno; ECONNRESET at the end of the stream */
static int read_all(int fd, void *buf, size_t len, int64_t deadline)
{
	uint8_t *p = buf;
	ssize_t n;
	int err;

	while (len) {
		n = recv(fd, p, len, 0);
		if (n > 0) {
			p += n;
			len -= (size_t)n;
			continue;
		}
		if (!n)
			return ECONNRESET;
		if (errno == EINTR)
			continue;
		if (errno != EAGAIN && errno != EWOULDBLOCK)
			return errno;
		err = wait_fd(fd, POLLIN, deadline);
		if (err)
			return err;
	}
	return 0;
}

static int write_all(int fd, const void *buf, size_t len, int64_t deadline)
{
	const uint8_t *p = buf;
	ssize_t n;
	int err;

	while (len) {
		n = send(fd, p, len, MSG_NOSIGNAL);
		if (n >= 0) {
			p += n;
			len -= (size_t)n;
			continue;
		}
		if (errno == EINTR)
			continue;
		if (errno != EAGAIN && errno != EWOULDBLOCK)
			return errno;
		err = wait_fd(fd, POLLOUT, deadline);
		if (err)
			return err;
	}
	return 0;
}

static int connect_one(const struct sockaddr_storage *addr, int64_t deadline,
		       int *out)
{
	int64_t limit = hcomm_now_ms() + CONNECT_MS;
	socklen_t len = sizeof(int);
	int one = 1, err = 0, fd;

	fd = socket(addr->ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return errno;
	if (connect(fd, (const struct sockaddr *)addr, hcomm_addr_len(addr))) {
		err = errno;
		if (err == EINPROGRESS)
			err = wait_fd(fd, POLLOUT, limit < deadline ? limit : deadline);
		if (!err && getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &len))
			err = errno;
	}
	if (err) {
		close(fd);
		return err;
	}
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	*out = fd;
	return 0;
}

/*
 * Prove and be proven.  Return: 0; EACCES: the hub has another secret;
 * EPROTO: this is no hub; else what broke, worth another try.
 */
static int handshake(struct hcomm_bootstrap *bs,
		     const struct hcomm_meeting *meeting, int64_t deadline)
{
	int64_t limit = hcomm_now_ms() + HANDSHAKE_MS;
	uint8_t answer[HCOMM_MAC_SIZE], want[HCOMM_MAC_SIZE];
	struct bs_join join = { .magic = "" };
	struct bs_hello hello;
	struct bs_proof proof = {
		.meeting = meeting,
		.hub_nonce = hello.nonce,
		.rank_nonce = join.nonce,
		.rank = bs->rank,
		.nranks = bs->nranks,
	};
	int err;

	if (limit > deadline)
		limit = deadline;
	err = read_all(bs->fd, &hello, sizeof(hello), limit);
	if (err)
		return err;
	if (memcmp(hello.magic, BS_MAGIC, BS_MAGIC_SIZE))
		return EPROTO;
	memcpy(join.magic, BS_MAGIC, BS_MAGIC_SIZE);
	if (hcomm_random(join.nonce, sizeof(join.nonce)))
		return EIO;
	join.rank = htole32(bs->rank);
	join.nranks = htole32(bs->nranks);
	bs_proof_mac(&proof, BS_RANK, join.mac);
	err = write_all(bs->fd, &join, sizeof(join), limit);
	if (!err)
		err = read_all(bs->fd, answer, sizeof(answer), limit);
	if (err)
		return err;
	bs_proof_mac(&proof, BS_HUB, want);
	if (!hcomm_mac_equal(answer, want))
		return EACCES;
	bs_session_key(&proof, bs->key);
	return 0;
}

static hcommResult_t join_failed(const struct hcomm_bootstrap *bs, int err,
				 uint64_t timeout_ms)
{
	if (err == EACCES)
		return hcomm_fail(HCOMM_ERR_AUTH,
				  "rank %u: the process at %s does not know this job's secret: another job uses this port, or HCOMM_SECRET differs between the ranks",
				  bs->rank, bs->peer);
	if (err == EPROTO)
		return hcomm_fail(HCOMM_ERR_BOOTSTRAP,
				  "rank %u: something else than hcomm listens on %s; choose another port (HCOMM_PORT or HCOMM_ROOT)",
				  bs->rank, bs->peer);
	return hcomm_fail(HCOMM_ERR_TIMEOUT,
			  "rank %u could not reach the meeting point of the ranks at %s within %llu.%llu s (%s); is the process that runs it (rank 0) alive, and is the port reachable? HCOMM_SOCKET_IFNAME and HCOMM_BOOTSTRAP_TIMEOUT may help",
			  bs->rank, bs->peer, (unsigned long long)timeout_ms / 1000,
			  (unsigned long long)timeout_ms % 1000 / 100,
			  hcomm_strerror(err));
}

hcommResult_t hcomm_bootstrap_join(const struct hcomm_meeting *meeting,
				   uint32_t rank, uint32_t nranks,
				   uint64_t timeout_ms,
				   struct hcomm_bootstrap **out)
{
	int64_t deadline = hcomm_now_ms() + (int64_t)timeout_ms;
	struct hcomm_bootstrap *bs = calloc(1, sizeof(*bs));
	bool refused = false;
	hcommResult_t ret;
	uint32_t i = 0;
	int err;

	if (!bs)
		return hcomm_fail_nomem("the bootstrap");
	bs->rank = rank;
	bs->nranks = nranks;
	bs->timeout_ms = timeout_ms;
	for (;;) {
		const struct sockaddr_storage *addr = &meeting->addrs[i];

		strcpy(bs->peer, hcomm_addr_text(addr));
		err = connect_one(addr, deadline, &bs->fd);
		if (!err) {
			err = handshake(bs, meeting, deadline);
			if (!err)
				break;
			close(bs->fd);
			refused |= err == EACCES;
		}
		i = (i + 1) % meeting->naddrs;
		if (!i) {
			struct timespec ts = { .tv_nsec = RETRY_MS * 1000000 };

			if (refused)
				err = EACCES;
			if (refused || hcomm_now_ms() + RETRY_MS >= deadline)
				goto failed;
			nanosleep(&ts, NULL);
		}
	}
	hcomm_log(HCOMM_LOG_DEBUG, "rank %u of %u joined at %s", rank, nranks,
		  bs->peer);
	*out = bs;
	return HCOMM_SUCCESS;
failed:
	ret = join_failed(bs, err, timeout_ms);
	free(bs);
	return ret;
}

static int send_frame(struct hcomm_bootstrap *bs, enum bs_frame type,
		      const void *payload, uint32_t len, int64_t deadline)
{
	struct bs_header header = { htole32(len), htole32(type) };
	uint8_t mac[HCOMM_MAC_SIZE];
	int err;

	bs_frame_mac(bs->key, BS_RANK, bs->sent++, &header, payload, len, mac);
	err = write_all(bs->fd, &header, sizeof(header), deadline);
	if (!err)
		err = write_all(bs->fd, payload, len, deadline);
	if (!err)
		err = write_all(bs->fd, mac, sizeof(mac), deadline);
	return err;
}

static hcommResult_t round_failed(struct hcomm_bootstrap *bs, int err)
{
	if (err == ETIMEDOUT)
		return hcomm_fail(HCOMM_ERR_TIMEOUT,
				  "rank %u: no answer from the meeting point of the ranks at %s",
				  bs->rank, bs->peer);
	return hcomm_fail(HCOMM_ERR_BOOTSTRAP,
			  "rank %u: the process with the meeting point of the ranks at %s is gone (%s)",
			  bs->rank, bs->peer, hcomm_strerror(err));
}

/* the hub says why there will be no communicator */
static hcommResult_t hub_error(struct hcomm_bootstrap *bs, struct bs_header *header,
			       int64_t deadline)
{
	uint8_t payload[4 + HCOMM_ERROR_TEXT] = { 0 };
	uint8_t mac[HCOMM_MAC_SIZE], want[HCOMM_MAC_SIZE];
	uint32_t len = le32toh(header->len), code;
	int err;

	if (len < 4 || len >= sizeof(payload))
		return round_failed(bs, EPROTO);
	err = read_all(bs->fd, payload, len, deadline);
	if (!err)
		err = read_all(bs->fd, mac, sizeof(mac), deadline);
	if (err)
		return round_failed(bs, err);
	bs_frame_mac(bs->key, BS_HUB, bs->received++, header, payload, len, want);
	if (!hcomm_mac_equal(mac, want))
		return round_failed(bs, EBADMSG);
	memcpy(&code, payload, 4);
	code = le32toh(code);
	if (code == HCOMM_SUCCESS || code > HCOMM_ERR_INTERNAL)
		code = HCOMM_ERR_BOOTSTRAP;
	return hcomm_fail((hcommResult_t)code, "%s", (char *)payload + 4);
}

hcommResult_t hcomm_bootstrap_gather(struct hcomm_bootstrap *bs,
				     const void *blob, uint32_t len, void *all)
{
	int64_t deadline = hcomm_now_ms() + (int64_t)bs->timeout_ms + GRACE_MS;
	uint64_t total = (uint64_t)len * bs->nranks;
	uint8_t mac[HCOMM_MAC_SIZE], want[HCOMM_MAC_SIZE];
	struct bs_header header;
	int err;

	if (!len || len > HCOMM_BS_MAX_BLOB || total > HCOMM_BS_MAX_TOTAL)
		return hcomm_fail(HCOMM_ERR_INTERNAL,
				  "bootstrap: a blob of %u bytes", len);
	/* a failed send may still have an answer: the reason of the failure */
	(void)send_frame(bs, BS_GATHER, blob, len, deadline);
	err = read_all(bs->fd, &header, sizeof(header), deadline);
	if (err)
		return round_failed(bs, err);
	if (le32toh(header.type) == BS_ERROR)
		return hub_error(bs, &header, deadline);
	if (le32toh(header.type) != BS_DATA || le32toh(header.len) != total)
		return round_failed(bs, EPROTO);
	err = read_all(bs->fd, all, total, deadline);
	if (!err)
		err = read_all(bs->fd, mac, sizeof(mac), deadline);
	if (err)
		return round_failed(bs, err);
	bs_frame_mac(bs->key, BS_HUB, bs->received++, &header, all,
		     (uint32_t)total, want);
	if (!hcomm_mac_equal(mac, want))
		return round_failed(bs, EBADMSG);
	return HCOMM_SUCCESS;
}

void hcomm_bootstrap_leave(struct hcomm_bootstrap *bs)
{
	if (!bs)
		return;
	(void)send_frame(bs, BS_BYE, "", 0, hcomm_now_ms() + 1000);
	close(bs->fd);
	explicit_bzero(bs, sizeof(*bs));
	free(bs);
}
