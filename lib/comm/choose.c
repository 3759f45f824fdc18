// SPDX-License-Identifier: LGPL-2.1-or-later
/* Asking the planner, and what it must know about the ranks. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../base/base.h"
#include "agree.h"

/* chunks in flight per pair: the kernel's default */
#define WINDOW		4u

/* --------------------------------------------------------------------- nodes */

static uint32_t card_hash(const struct hcomm_card *c)
{
	uint32_t hash = 2166136261u;
	size_t i;

	for (i = 0; i < sizeof(c->boot_id); i++)
		hash = (hash ^ c->boot_id[i]) * 16777619u;
	for (i = 0; i < sizeof(c->node_id); i++)
		hash = (hash ^ c->node_id[i]) * 16777619u;
	return hash ^ hash >> 16;
}

/*
 * Number the nodes in the order of their first ranks.  @first: by node, that rank.
 * Return: number of nodes, 0 without memory.
 */
static uint32_t number_nodes(const struct hcomm_card *cards, uint32_t nranks,
			     uint32_t *node, uint32_t *first)
{
	uint32_t room = 4, i, at, n = 0, *table;

	while (room < 2 * nranks)
		room *= 2;
	table = calloc(room, sizeof(*table));
	if (!table)
		return 0;
	for (i = 0; i < nranks; i++) {
		at = card_hash(&cards[i]) & (room - 1);
		while (table[at] &&
		       !hcomm_same_node(&cards[first[table[at] - 1]], &cards[i]))
			at = (at + 1) & (room - 1);
		if (!table[at]) {
			first[n] = i;
			table[at] = ++n;
		}
		node[i] = table[at] - 1;
	}
	free(table);
	return n;
}

/* groups, numbered without gaps: by node */
static hcommResult_t number_groups(const struct hcomm_card *cards, uint32_t nranks,
				   const uint32_t *node, const uint32_t *first,
				   uint32_t nnodes, uint32_t *group)
{
	uint32_t i, j, n = 0;

	for (i = 0; i < nranks; i++) {
		if (cards[i].group != cards[first[node[i]]].group)
			return hcomm_fail(HCOMM_ERR_OPTIONS,
					  "HCOMM_GROUP differs on one node (%s): %u on rank %u, %u on rank %u",
					  cards[i].host, cards[first[node[i]]].group,
					  first[node[i]], cards[i].group, i);
	}
	/* most often all are in one, or neighbours are */
	for (i = 0; i < nnodes; i++) {
		for (j = i; j-- > 0;) {
			if (cards[first[j]].group == cards[first[i]].group)
				break;
		}
		group[i] = j == UINT32_MAX ? n++ : group[j];
	}
	return HCOMM_SUCCESS;
}

/* 0: as many as ranks, or some rank does not know */
static uint32_t shared_cpus(const struct hcomm_card *cards, uint32_t nranks)
{
	uint32_t i, j, cpus = 0;

	for (i = 0; i < nranks && cpus < nranks; i++) {
		if (!cards[i].cpus)
			return 0;
		for (j = 0; j < i && cards[j].cpu_set != cards[i].cpu_set;)
			j++;
		/* sets that are not equal are taken to have nothing in common */
		if (j == i)
			cpus += cards[i].cpus;
	}
	return cpus < nranks ? cpus : 0;
}

static hcommResult_t look_at_nodes(struct hcomm_comm *comm,
				   const struct hcomm_card *cards)
{
	struct hcomm_chooser *ch = &comm->chooser;
	uint32_t n = comm->nranks, nnodes, i;
	uint32_t *first = calloc(n, sizeof(*first));
	uint32_t *group = calloc(n, sizeof(*group));
	hcommResult_t ret = HCOMM_SUCCESS;
	int err = -ENOMEM;

	ch->node = calloc(n, sizeof(*ch->node));
	ch->group = calloc(n, sizeof(*ch->group));
	if (!first || !group || !ch->group || !ch->node)
		goto out;
	nnodes = number_nodes(cards, n, ch->node, first);
	if (!nnodes)
		goto out;
	ret = number_groups(cards, n, ch->node, first, nnodes, group);
	if (ret)
		goto out_ret;
	for (i = 0; i < n; i++)
		ch->group[i] = group[ch->node[i]];
	err = hcomm_shape_make(&ch->planner.shape, n, ch->node, group);
	if (!err && nnodes == 1)
		ch->planner.shape.cpus = shared_cpus(cards, n);
	if (!err)
		err = hcomm_sched_topo_create(n, ch->node, ch->group, &ch->topo);
out:
	if (err)
		ret = hcomm_fail_errno(-err, "the table of nodes");
out_ret:
	free(first);
	free(group);
	return ret;
}

/* ------------------------------------------------------------- begin and end */

hcommResult_t hcomm_choose_init(struct hcomm_comm *comm,
				const struct hcomm_card *cards)
{
	struct hcomm_planner *p = &comm->chooser.planner;
	hcommResult_t ret;
	int err;

	p->model = comm->opts.model;
	p->policy = comm->opts.policy;
	p->lim = (struct hcomm_limits){
		.chunk_size = comm->opts.chunk_size,
		.eager_size = comm->opts.eager_size,
		.window = WINDOW,
	};
	ret = look_at_nodes(comm, cards);
	if (ret || !p->tuner)
		return ret;
	err = hcomm_tuner_open(p->tuner, &p->shape, &p->lim);
	return err ? hcomm_fail(HCOMM_ERR_INVALID_USAGE,
				"tuner plugin %s can't begin: %s",
				hcomm_tuner_name(p->tuner), hcomm_strerror(-err)) :
		     HCOMM_SUCCESS;
}

void hcomm_choose_exit(struct hcomm_comm *comm)
{
	hcomm_planner_exit(&comm->chooser.planner);
	hcomm_sched_topo_free(comm->chooser.topo);
	free(comm->chooser.node);
	free(comm->chooser.group);
	comm->chooser.topo = NULL;
	comm->chooser.node = NULL;
	comm->chooser.group = NULL;
}

/* -------------------------------------------------------------------- choice */

static struct hcomm_choice *slot(struct hcomm_chooser *ch,
				 const struct hcomm_choice *key)
{
	uint64_t hash = key->bytes * 0x9e3779b97f4a7c15ull;

	hash = (hash ^ key->coll ^ key->form << 8 ^ key->esize << 16) *
	       0x9e3779b97f4a7c15ull;
	return &ch->choices[hash >> 32 & (HCOMM_CHOICES - 1)];
}

static void show(const struct hcomm_comm *comm, const struct hcomm_choice *c)
{
	const struct hcomm_decision *d = &c->decision;

	if (comm->rank || !hcomm_log_decisions)
		return;
	hcomm_decision("planned: %s of %llu bytes: %s, grain %u, channels %u, radix %u, because of the %s, predicted %.1f us",
		       hcomm_coll_name(c->coll), (unsigned long long)c->bytes,
		       hcomm_algo_name(d->cand.algo), d->cand.grain, d->cand.channels,
		       d->cand.radix, hcomm_reason_text(d->why), d->seconds * 1e6);
}

/* it is not for want of an algorithm that the call can't be done */
static bool too_large(const struct hcomm_comm *comm, const struct hcomm_sched_args *args)
{
	struct hcomm_sched_args a = *args;

	a.chunk_size = comm->opts.chunk_size;
	for (a.algo = HCOMM_ALGO_NONE + 1; a.algo < HCOMM_ALGO_COUNT; a.algo++) {
		if (hcomm_sched_check(&a) == -EOVERFLOW)
			return true;
	}
	return false;
}

static hcommResult_t none_does(const struct hcomm_comm *comm,
			       const struct hcomm_sched_args *args)
{
	const char *name = hcomm_call_name(args->coll, args->vector);
	bool large = too_large(comm, args);

	if (large && args->vector)
		return hcomm_fail(HCOMM_ERR_INVALID_ARGUMENT,
				  "%s: all blocks of %s are more than can be addressed", name,
				  hcomm_dtype_text(args->dtype));
	if (large)
		return hcomm_fail(HCOMM_ERR_INVALID_ARGUMENT,
				  "%s: %llu elements of %s are more than can be addressed", name,
				  (unsigned long long)args->count, hcomm_dtype_text(args->dtype));
	return hcomm_fail(HCOMM_ERR_UNSUPPORTED,
			  "no algorithm that HCOMM_ALGO leaves does %s%s%s",
			  hcomm_coll_name(args->coll),
			  args->vector || args->counts ? " with unequal counts" : "",
			  args->fixed_order ? " in fixed order" : "");
}

hcommResult_t hcomm_choose_lasting(struct hcomm_comm *comm,
				   const struct hcomm_sched_args *args,
				   struct hcomm_decision *out)
{
	struct hcomm_planner p = comm->chooser.planner;

	p.scale = NULL;
	return hcomm_planner_decide(&p, args, out) ? none_does(comm, args) : HCOMM_SUCCESS;
}

hcommResult_t hcomm_choose(struct hcomm_comm *comm,
			   const struct hcomm_sched_args *args,
			   struct hcomm_decision *out)
{
	struct hcomm_chooser *ch = &comm->chooser;
	bool vector = args->vector || args->counts;
	struct hcomm_call_shape call;
	struct hcomm_choice key, *c;

	hcomm_call_shape(args, &call);
	key = (struct hcomm_choice){
		.coll = args->coll,
		.form = (uint32_t)vector << 1 | args->fixed_order,
		.esize = call.esize,
		.bytes = call.bytes,
	};
	c = slot(ch, &key);
	if (c->coll == key.coll && c->form == key.form && c->esize == key.esize &&
	    c->bytes == key.bytes) {
		*out = c->decision;
		return HCOMM_SUCCESS;
	}
	ch->decided++;
	if (hcomm_planner_decide(&ch->planner, args, &key.decision))
		return none_does(comm, args);
	show(comm, &key);
	*c = key;
	*out = key.decision;
	return HCOMM_SUCCESS;
}

void hcomm_choose_again(struct hcomm_comm *comm)
{
	memset(comm->chooser.choices, 0, sizeof(comm->chooser.choices));
}
