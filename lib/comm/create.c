// SPDX-License-Identifier: LGPL-2.1-or-later
/* How a communicator begins: the ranks agree, then tell their kernels. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../base/base.h"
#include "../base/hmac.h"
#include "agree.h"
#include "create.h"
#include "nic.h"
#include "probe.h"

/*
 * Up to so many ranks, all links are made now: a bad one is an error here, not of
 * some later call, a fault reaches everybody at once, and no rank's link waits for
 * a peer that computes.  With more, links are made when a call first needs them.
 */
#define ALL_LINKS_RANKS		32u

/* words of the largest set of processors: as many as kernels are built for */
#define CPU_WORDS		(8192 / 8 / sizeof(long))

static void read_boot_id(uint8_t id[16])
{
	char text[64];
	unsigned int byte, n = 0;
	const char *p = text;

	memset(id, 0, 16);
	if (!hcomm_read_line("/proc/sys/kernel/random/boot_id", text, sizeof(text)))
		return;
	while (n < 16 && *p) {
		if (*p == '-') {
			p++;
			continue;
		}
		if (sscanf(p, "%2x", &byte) != 1)
			break;
		id[n++] = (uint8_t)byte;
		p += 2;
	}
}

static void read_cpus(struct hcomm_card *card)
{
	unsigned long set[CPU_WORDS];
	long bytes, i;

	bytes = syscall(SYS_sched_getaffinity, getpid(), sizeof(set), set);
	for (i = 0; i < bytes / (long)sizeof(*set); i++) {
		card->cpus += (uint32_t)__builtin_popcountl(set[i]);
		card->cpu_set = (card->cpu_set ^ set[i]) * 0x9e3779b97f4a7c15ull;
	}
}

static void card_fail(struct hcomm_card *card, hcommResult_t ret)
{
	card->status = ret;
	snprintf(card->text, sizeof(card->text), "%s", hcomm_error_text());
}

static hcommResult_t load_tuner(struct hcomm_comm *comm, struct hcomm_card *card)
{
	struct hcomm_planner *p = &comm->chooser.planner;
	const char *path = comm->opts.tuner, *env = getenv("HCOMM_TUNER");
	bool by_env = path && env && !strcmp(path, env);
	char why[256];

	if (!path)
		return HCOMM_SUCCESS;
	if (hcomm_tuner_load(path, &p->tuner, why, sizeof(why)))
		return hcomm_fail(by_env ? HCOMM_ERR_ENVIRONMENT : HCOMM_ERR_INVALID_ARGUMENT,
				  "%s=%s: %s", by_env ? "HCOMM_TUNER" : "tuner", path, why);
	card->tuner = hcomm_tuner_hash(p->tuner);
	/* for communicators that are made of this one */
	comm->tuner_path = strdup(path);
	return comm->tuner_path ? HCOMM_SUCCESS : hcomm_fail_nomem("a path");
}

/*
 * What this rank has to say.  A failure goes into the card, so that the others
 * learn of it at once.
 */
static hcommResult_t fill_card(struct hcomm_comm *comm, struct hcomm_card *card,
			       struct hcomm_nic *nic)
{
	const struct hcomm_options *opts = &comm->opts;
	hcommResult_t ret;

	memset(card, 0, sizeof(*card));
	memset(nic, 0, sizeof(*nic));
	card->abi = HCOMM_ABI_VERSION;
	card->chunk_size = opts->chunk_size;
	card->eager_size = opts->eager_size;
	card->max_runs = opts->max_runs;
	card->transports = opts->transports;
	memcpy(card->algo, opts->algo_text, sizeof(card->algo));
	card->group = opts->group;
	card->probe = opts->probe;
	card->tune = opts->tune;
	read_cpus(card);
	card->policy = hcomm_policy_hash(&opts->policy);
	card->model = hcomm_model_hash(&opts->model);
	gethostname(card->host, sizeof(card->host) - 1);
	read_boot_id(card->boot_id);
	ret = hcomm_random(card->nonce, sizeof(card->nonce));
	if (!ret)
		ret = load_tuner(comm, card);
	if (!ret)
		ret = hcomm_dev_get();
	if (ret) {
		card_fail(card, ret);
		return ret;
	}
	memcpy(card->node_id, hcomm_dev_info()->node_id, sizeof(card->node_id));
	if ((opts->transports & HCOMM_TRANSPORT_RDMA) &&
	    (hcomm_dev_info()->transports & HCOMM_TRANSPORT_RDMA))
		ret = hcomm_nic_choose("/sys", opts->nic, nic);
	if (ret) {
		card_fail(card, ret);
		hcomm_dev_put();
		return ret;
	}
	snprintf(card->nic, sizeof(card->nic), "%s", nic->device);
	return HCOMM_SUCCESS;
}

/* the ranks of this node, and this rank's number among them */
static void count_local(struct hcomm_comm *comm, const struct hcomm_card *cards)
{
	uint32_t i;

	for (i = 0; i < comm->nranks; i++) {
		if (!hcomm_same_node(&cards[i], &cards[comm->rank]))
			continue;
		comm->local_rank += i < comm->rank;
		comm->nlocal++;
	}
}

static hcommResult_t comm_ioctl(struct hcomm_comm *comm,
				const struct hcomm_card *cards,
				const uint8_t secret[32],
				const struct hcomm_nic *nic,
				struct hcomm_ready *ready)
{
	struct hcomm_comm_create arg = {
		.size = sizeof(arg),
		.rank = comm->rank,
		.nranks = comm->nranks,
		.transports = comm->opts.transports,
		.chunk_size = comm->opts.chunk_size,
		.eager_size = comm->opts.eager_size,
		.max_runs = comm->opts.max_runs,
		.connect_timeout_ms = comm->opts.connect_timeout_ms,
	};
	struct hcomm_piece label[] = { { "hcomm comm", 10 },
				       { cards[0].nonce, sizeof(cards[0].nonce) } };
	struct hcomm_piece split[] = { { "hcomm split", 11 },
				       { cards[0].nonce, sizeof(cards[0].nonce) } };
	int err;

	/* another secret for each communicator, which nobody ever sends */
	memcpy(arg.uuid, cards[0].nonce, sizeof(arg.uuid));
	hcomm_hmac(secret, 32, label, ARRAY_SIZE(label), arg.secret);
	hcomm_hmac(secret, 32, split, ARRAY_SIZE(split), comm->split_secret);
	/* no RDMA resources where they are not needed */
	if (comm->nlocal == comm->nranks &&
	    (arg.transports & HCOMM_TRANSPORT_LOCAL))
		arg.transports = HCOMM_TRANSPORT_LOCAL;
	else
		arg.listen = nic->addr;
	err = hcomm_dev_ioctl(HCOMM_COMM_CREATE, &arg);
	explicit_bzero(arg.secret, sizeof(arg.secret));
	if (err == ENODEV || err == EADDRNOTAVAIL)
		return hcomm_fail(HCOMM_ERR_NO_DEVICE,
				  "the kernel can't listen on RDMA device %s (%s): %s",
				  nic->device, nic->netdev, hcomm_strerror(err));
	if (err)
		return hcomm_fail_errno(err, "creating the communicator");
	comm->id = arg.out_comm_id;
	ready->addr = arg.listen;
	return HCOMM_SUCCESS;
}

static hcommResult_t tell_peers(struct hcomm_comm *comm,
				const struct hcomm_card *cards,
				const struct hcomm_ready *ready)
{
	struct hcomm_peer *peers = calloc(comm->nranks, sizeof(*peers));
	struct hcomm_comm_peers arg = {
		.size = sizeof(arg),
		.comm_id = comm->id,
		.peers = (uintptr_t)peers,
		.count = comm->nranks,
	};
	uint32_t i;
	int err;

	if (!peers)
		return hcomm_fail_nomem("the table of ranks");
	for (i = 0; i < comm->nranks; i++) {
		memcpy(peers[i].node_id, cards[i].node_id, sizeof(peers[i].node_id));
		peers[i].addr = ready[i].addr;
	}
	err = hcomm_dev_ioctl(HCOMM_COMM_PEERS, &arg);
	free(peers);
	return err ? hcomm_fail_errno(err, "telling the kernel about the ranks") :
		     HCOMM_SUCCESS;
}

static hcommResult_t make_links(struct hcomm_comm *comm,
				const struct hcomm_card *cards)
{
	struct hcomm_link_open arg = {
		.size = sizeof(arg),
		.comm_id = comm->id,
	};
	uint32_t i, pass;
	int err;

	if (comm->nranks > ALL_LINKS_RANKS)
		return HCOMM_SUCCESS;
	/* begin them all, then wait for each */
	for (pass = 0; pass < 2; pass++) {
		for (i = 0; i < comm->nranks; i++) {
			if (i == comm->rank)
				continue;
			arg.peer = i;
			arg.timeout_ms = pass ? 0 : 1;
			err = hcomm_dev_ioctl(HCOMM_LINK_OPEN, &arg);
			if (!err || (!pass && err == ETIMEDOUT))
				continue;
			if (err == ETIMEDOUT)
				return hcomm_fail(HCOMM_ERR_LINK,
						  "no link to rank %u (%s) within %u ms (HCOMM_CONNECT_TIMEOUT); check the network between the two nodes, HCOMM_NIC and HCOMM_TRANSPORT",
						  i, cards[i].host,
						  comm->opts.connect_timeout_ms);
			return hcomm_comm_error(comm, err, "making the links");
		}
	}
	return HCOMM_SUCCESS;
}

static void show(const struct hcomm_comm *comm, const struct hcomm_card *cards)
{
	const struct hcomm_options *o = &comm->opts;
	uint32_t i;

	if (comm->rank || !hcomm_log_decisions)
		return;
	hcomm_decision("communicator %u: %u ranks, chunk %u, eager %u, runs %u, transports %s%s, algorithm %s",
		       comm->id, comm->nranks, o->chunk_size, o->eager_size,
		       o->max_runs,
		       o->transports & HCOMM_TRANSPORT_LOCAL ? "local " : "",
		       o->transports & HCOMM_TRANSPORT_RDMA ? "rdma" : "",
		       *o->algo_text ? o->algo_text : "by size");
	for (i = 0; i < comm->nranks; i++)
		hcomm_decision("rank %u: host %s, %s, NIC %s", i, cards[i].host,
			       hcomm_same_node(&cards[i], &cards[0]) ?
			       "node of rank 0" : "other node",
			       *cards[i].nic ? cards[i].nic : "none");
}

/* rounds 2 to 4: this rank's part was done, with result @mine; all well? */
static hcommResult_t round_ready(struct hcomm_newcomer *n, struct hcomm_exchange *ex,
				 struct hcomm_ready *mine, hcommResult_t result)
{
	hcommResult_t ret;

	mine->status = result;
	if (result)
		snprintf(mine->text, sizeof(mine->text), "%s", hcomm_error_text());
	if (!ex) {
		n->ready[0] = *mine;
		return result;
	}
	ret = ex->gather(ex, mine, sizeof(*mine), n->ready);
	return ret ? ret : hcomm_agree_ready(n->cards, n->ready, n->comm->nranks);
}

/* everything that needs the other ranks; the device is open */
static hcommResult_t establish(struct hcomm_newcomer *n, struct hcomm_exchange *ex,
			       const struct hcomm_nic *nic, const uint8_t secret[32])
{
	struct hcomm_ready mine = { .status = 0 };
	struct hcomm_comm *comm = n->comm;
	hcommResult_t ret;

	count_local(comm, n->cards);
	ret = hcomm_choose_init(comm, n->cards);
	if (!ret)
		ret = comm_ioctl(comm, n->cards, secret, nic, &mine);
	ret = round_ready(n, ex, &mine, ret);
	if (!ret) {
		ret = tell_peers(comm, n->cards, n->ready);
		ret = round_ready(n, ex, &mine, ret);
	}
	if (!ret) {
		ret = make_links(comm, n->cards);
		ret = round_ready(n, ex, &mine, ret);
	}
	if (!ret && ex && comm->opts.probe)
		ret = hcomm_probe_links(comm, ex);
	if (!ret)
		show(comm, n->cards);
	return ret;
}

hcommResult_t hcomm_newcomer_init(struct hcomm_newcomer *n, uint32_t max_ranks)
{
	n->comm = calloc(1, sizeof(*n->comm));
	n->cards = calloc(max_ranks, sizeof(*n->cards));
	n->ready = calloc(max_ranks, sizeof(*n->ready));
	if (n->comm && n->cards && n->ready) {
		n->comm->refs = 1;
		pthread_mutex_init(&n->comm->lock, NULL);
		return HCOMM_SUCCESS;
	}
	free(n->comm);
	n->comm = NULL;
	hcomm_newcomer_exit(n);
	return hcomm_fail_nomem("a communicator");
}

void hcomm_newcomer_exit(struct hcomm_newcomer *n)
{
	if (n->comm)
		hcomm_comm_put(n->comm);
	free(n->cards);
	free(n->ready);
	memset(n, 0, sizeof(*n));
}

hcommResult_t hcomm_newcomer_join(struct hcomm_newcomer *n, uint32_t rank, uint32_t nranks,
				  const struct hcomm_options *opts,
				  struct hcomm_exchange *ex, const uint8_t secret[32],
				  struct hcomm_comm **out)
{
	struct hcomm_comm *comm = n->comm;
	struct hcomm_card mine;
	struct hcomm_nic nic;
	hcommResult_t ret, own;

	comm->rank = rank;
	comm->nranks = nranks;
	comm->opts = *opts;
	comm->stats.size = sizeof(comm->stats);
	own = fill_card(comm, &mine, &nic);
	ret = own;
	if (ex) {
		ret = ex->gather(ex, &mine, sizeof(mine), n->cards);
		if (!ret)
			ret = hcomm_agree_cards(n->cards, nranks);
	} else {
		n->cards[0] = mine;
	}
	if (!ret)
		ret = establish(n, ex, &nic, secret);
	if (!ret) {
		comm->magic = HCOMM_COMM_MAGIC;
		*out = comm;
		n->comm = NULL;
		return HCOMM_SUCCESS;
	}
	hcomm_dev_destroy(comm->id);
	if (!own)
		hcomm_dev_put();
	comm->id = 0;
	return ret;
}

/**
 * struct meeting_exchange - rounds over the bootstrap
 * @ex: for the newcomer
 * @bs: connection
 */
struct meeting_exchange {
	struct hcomm_exchange ex;
	struct hcomm_bootstrap *bs;
};

static hcommResult_t meeting_gather(struct hcomm_exchange *ex, const void *blob,
				    uint32_t len, void *all)
{
	struct meeting_exchange *m = (struct meeting_exchange *)ex;

	return hcomm_bootstrap_gather(m->bs, blob, len, all);
}

hcommResult_t hcomm_comm_create(const struct hcomm_meeting *meeting,
				uint32_t rank, uint32_t nranks,
				const struct hcomm_options *opts,
				struct hcomm_comm **out)
{
	struct meeting_exchange m = { .ex.gather = meeting_gather };
	struct hcomm_newcomer n;
	uint8_t secret[32];
	hcommResult_t ret;

	ret = hcomm_newcomer_init(&n, nranks);
	if (ret)
		return ret;
	if (nranks > 1) {
		memcpy(secret, meeting->secret, sizeof(secret));
		ret = hcomm_bootstrap_join(meeting, rank, nranks,
					   opts->bootstrap_timeout_ms, &m.bs);
	} else {
		ret = hcomm_random(secret, sizeof(secret));
	}
	if (!ret)
		ret = hcomm_newcomer_join(&n, rank, nranks, opts, m.bs ? &m.ex : NULL,
					  secret, out);
	hcomm_bootstrap_leave(m.bs);
	explicit_bzero(secret, sizeof(secret));
	hcomm_newcomer_exit(&n);
	return ret;
}
