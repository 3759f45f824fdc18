// SPDX-License-Identifier: GPL-2.0-only
/*
 * Bounds: what no algorithm can be faster than on the modelled machine, whatever
 * it does.  The largest of
 *
 *  - news: every rank (or the root) has to hear of all others (or of the root);
 *    who knows may tell one more each event, and who is told knows a latency
 *    later.  The best that can be done is a greedy tree (Karp, Sahay, Santos and
 *    Schauser, "Optimal broadcast and summation in the LogP model", 1993);
 *  - volume, for each level of the machine: the bytes that must leave or enter a
 *    node (a group of nodes) over the rate at which they can;
 *  - work: the bytes that must be reduced over the rate of all CPUs.
 */
#include <hcomm/sched.h>
#include "coll.h"
#include "cost.h"

/* Until @n know, when whoever knows tells another one every @gap. */
static u64 news_time(u64 n, u64 gap, u64 latency)
{
	/* Times only grow, so two queues are in order: of who told, of who was told. */
	u64 *again = calloc(n + 1, sizeof(u64)), *fresh = calloc(n + 1, sizeof(u64));
	u64 agains = 1, freshs = 0, ahead = 0, fhead = 0, known, at, t = 0;

	if (!again || !fresh)
		sim_die(NULL, "out of memory");
	for (known = 1; known < n; known++) {
		if (ahead < agains && (fhead == freshs || again[ahead] <= fresh[fhead]))
			at = again[ahead++];
		else
			at = fresh[fhead++];
		t = at + gap + latency;
		again[agains++] = at + gap;
		fresh[freshs++] = t;
	}
	free(again);
	free(fresh);
	return t;
}

/*
 * Bytes that the busiest of @units, or one like @any other, must let in or out;
 * @m ranks are in each.
 */
static double volume(const struct coll_spec *s, double n, double units, bool any)
{
	double bytes = (double)s->count * ref_dtype_size(s->dtype), m = n / units;

	if (units <= 1 || s->vector)
		return 0;
	switch (s->coll) {
	case HCOMM_COLL_ALLREDUCE:
		/* In the mean of all units, not of each one. */
		return any ? bytes : 2 * bytes * (units - 1) / units;
	case HCOMM_COLL_GATHER:
	case HCOMM_COLL_SCATTER:
		return any ? m * bytes : (n - m) * bytes;
	case HCOMM_COLL_REDUCE_SCATTER:
	case HCOMM_COLL_ALLGATHER:
		return (n - m) * bytes;
	case HCOMM_COLL_ALLTOALL:
		return m * (n - m) * bytes;
	case HCOMM_COLL_P2P:
		return any ? 0 : bytes;
	case HCOMM_COLL_BARRIER:
		return 0;
	default:
		return bytes;
	}
}

/* Bytes that are reduced, in all. */
static double reduced(const struct coll_spec *s, double n)
{
	double bytes = (double)s->count * ref_dtype_size(s->dtype);

	if (!coll_reduces(s->coll) || s->vector)
		return 0;
	return (n - 1) * (s->coll == HCOMM_COLL_REDUCE_SCATTER ? n * bytes : bytes);
}

u64 bound_time(const struct sim_cfg *cfg, const struct coll_spec *spec)
{
	u32 nodes = DIV_ROUND_UP(cfg->nranks, cfg->ranks_per_node), slow = cfg->slow_factor;
	const struct net_cfg *nc = &cfg->net;
	double ns, rate = (double)nc->bandwidth / 1000;	/* bytes per ns */
	u64 gap = cfg->event_cost / cfg->ranks_per_node, t = 0;
	struct net net;

	if (spec->coll == HCOMM_COLL_P2P)
		t = cfg->local_latency + 2 * cfg->event_cost;
	else if (spec->count || spec->coll == HCOMM_COLL_BARRIER)
		t = nodes > 1 ? news_time(nodes, gap, nc->latency + cfg->event_cost) :
			news_time(cfg->nranks, cfg->event_cost,
				  cfg->local_latency + cfg->event_cost);
	ns = reduced(spec, cfg->nranks) / cfg->nranks / ((double)cfg->reduce_rate / 1000);
	ns = max(ns, volume(spec, cfg->nranks, nodes, false) / rate);
	if (nc->slow_node < nodes)
		ns = max(ns, volume(spec, cfg->nranks, nodes, true) / rate * slow);
	if (!net_init(&net, nc, nodes))
		sim_die(NULL, "out of memory");
	if (nc->kind == NET_FAT_TREE)
		ns = max(ns, volume(spec, cfg->nranks, net.ngroups, false) / rate / net.uplinks);
	if (nc->kind == NET_DRAGONFLY && net.ngroups > 1)
		ns = max(ns, volume(spec, cfg->nranks, net.ngroups, false) / rate / nc->taper /
			     (net.ngroups - 1));
	net_exit(&net);
	return max(t, (u64)ns);
}
