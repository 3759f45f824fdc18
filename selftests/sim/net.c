// SPDX-License-Identifier: GPL-2.0-only
/* The model of a network. */
#include "net.h"
#include "rng.h"

const char *net_kind_name(u32 kind)
{
	static const char * const names[] = {
		[NET_FLAT] = "flat", [NET_FAT_TREE] = "fat-tree", [NET_DRAGONFLY] = "dragonfly",
	};

	return kind < ARRAY_SIZE(names) ? names[kind] : NULL;
}

bool net_init(struct net *net, const struct net_cfg *cfg, u32 nnodes)
{
	u64 n;

	*net = (struct net){ .cfg = *cfg, .nnodes = nnodes };
	net->group = cfg->nodes_per_group;
	while (!cfg->nodes_per_group && (u64)net->group * net->group < nnodes)
		net->group++;
	net->group = min(net->group, nnodes);
	net->ngroups = DIV_ROUND_UP(nnodes, net->group);
	net->uplinks = max(net->group / cfg->taper, 1u);
	net->tx = calloc(nnodes, sizeof(u64));
	net->rx = calloc(nnodes, sizeof(u64));
	net->tx_packet = calloc(nnodes, sizeof(u64));
	net->rx_packet = calloc(nnodes, sizeof(u64));
	if (!net->tx || !net->rx || !net->tx_packet || !net->rx_packet)
		return false;
	if (cfg->kind == NET_FLAT)
		return true;
	n = (u64)net->ngroups * (cfg->kind == NET_FAT_TREE ? net->uplinks : net->ngroups);
	net->up = calloc(n, sizeof(u64));
	if (cfg->kind == NET_FAT_TREE)
		net->down = calloc(n, sizeof(u64));
	return net->up && (net->down || cfg->kind != NET_FAT_TREE);
}

void net_exit(struct net *net)
{
	free(net->tx);
	free(net->rx);
	free(net->tx_packet);
	free(net->rx_packet);
	free(net->up);
	free(net->down);
	*net = (struct net){};
}

static u64 link_time(const struct net *net, u32 node, u64 bytes)
{
	u64 ns = bytes * 1000 / net->cfg.bandwidth;

	return node == net->cfg.slow_node ? ns * net->cfg.slow_factor : ns;
}

/* The first byte takes a link at @t or when it is free; when was that? */
static u64 take(u64 *busy, u64 t, u64 ns)
{
	t = max(t, *busy);
	*busy = t + ns;
	return t;
}

/*
 * Adapters and switches take turns among connections packet by packet, so what is one
 * packet waits for other such ones, not for all of the large messages before it.  These
 * wait for it.
 */
static u64 transmit_packet(struct net *net, u32 src, u32 dst, u64 now, u64 out, u64 in)
{
	u64 t = take(&net->tx_packet[src], now, out) + net->cfg.latency;

	if (net->cfg.kind != NET_FLAT && src / net->group != dst / net->group)
		t += net->cfg.group_latency;
	take(&net->tx[src], now, out);
	take(&net->rx[dst], t, in);
	t = max(t, net->rx_packet[dst]) + max(out, in);
	net->rx_packet[dst] = t;
	return t;
}

u64 net_transmit(struct net *net, u32 src, u32 dst, u64 now, u64 bytes)
{
	u64 out = link_time(net, src, bytes), in = link_time(net, dst, bytes);
	u64 between = bytes * 1000 / net->cfg.bandwidth, ns = max(out, in), t;
	u64 g = src / net->group, h = dst / net->group, way;

	if (bytes <= net->cfg.packet)
		return transmit_packet(net, src, dst, now, out, in);
	t = take(&net->tx[src], now, out);
	if (net->cfg.kind != NET_FLAT && g != h) {
		if (net->cfg.kind == NET_FAT_TREE) {
			way = rng_mix((u64)src << 32 | dst) % net->uplinks;
			t = take(&net->up[g * net->uplinks + way], t, between);
			t = take(&net->down[h * net->uplinks + way], t, between);
		} else {
			between /= net->cfg.taper;
			t = take(&net->up[g * net->ngroups + h], t, between);
		}
		t += net->cfg.group_latency;
		ns = max(ns, between);
	}
	t = max(t + net->cfg.latency, net->rx[dst]) + ns;
	net->rx[dst] = t;
	return t;
}
