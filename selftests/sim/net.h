/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The model of a network: which links the bytes between two nodes share with
 * others, and when they arrive.  The simulated engine and the evaluation of plans
 * alone (cost.c) use the same one.
 *
 * A message moves at the rate of its slowest link and holds each of its links
 * for as long as its bytes take; who comes later waits.  Links between switches
 * are chosen by a hash of the two nodes, as most networks do it, so that some
 * are crowded while others are idle.
 */
#ifndef HCOMM_SIM_NET_H
#define HCOMM_SIM_NET_H

#include "platform.h"

/**
 * enum net_kind - how nodes are joined
 * @NET_FLAT: a switch without limits
 * @NET_FAT_TREE: groups of nodes at a switch each, with fewer links up than
 *	nodes, and a switch without limits above
 * @NET_DRAGONFLY: groups of nodes, and one link between any two groups
 */
enum net_kind {
	NET_FLAT,
	NET_FAT_TREE,
	NET_DRAGONFLY,
	NET_KINDS,
};

/* Bytes of a packet: 4 KiB of data behind some headers. */
#define NET_PACKET	4352u

/**
 * struct net_cfg - a network
 * @kind: enum net_kind
 * @nodes_per_group: nodes of a group, 0: about the square root of all
 * @taper: FAT_TREE: nodes of a group per link up; DRAGONFLY: how many times the
 *	rate of a node a link between groups has
 * @latency: ns between nodes of a group
 * @group_latency: ns more between groups
 * @bandwidth: of a node and of a link, MB/s
 * @packet: bytes of the longest message that is one packet; 0: a message of any length
 *	waits for all that was sent before it
 * @slow_node: node whose links are @slow_factor times slower, ~0: none
 * @slow_factor: see above
 */
struct net_cfg {
	u32 kind;
	u32 nodes_per_group;
	u32 taper;
	u64 latency;
	u64 group_latency;
	u64 bandwidth;
	u32 packet;
	u32 slow_node;
	u32 slow_factor;
};

/**
 * struct net - its state
 * @cfg: configuration
 * @nnodes: nodes
 * @group: nodes of a group
 * @ngroups: groups
 * @uplinks: links up of a group
 * @tx: by node: busy until then
 * @rx: by node
 * @tx_packet: by node: busy with messages of one packet until then
 * @rx_packet: by node
 * @up: by group and link up, or by pair of groups
 * @down: by group and link down
 */
struct net {
	struct net_cfg cfg;
	u32 nnodes;
	u32 group;
	u32 ngroups;
	u32 uplinks;
	u64 *tx;
	u64 *rx;
	u64 *tx_packet;
	u64 *rx_packet;
	u64 *up;
	u64 *down;
};

const char *net_kind_name(u32 kind);
/* false without memory; net_exit() in every case */
bool net_init(struct net *net, const struct net_cfg *cfg, u32 nnodes);
void net_exit(struct net *net);
/* When do bytes that one node sends to another one at @now arrive? */
u64 net_transmit(struct net *net, u32 src, u32 dst, u64 now, u64 bytes);

#endif /* HCOMM_SIM_NET_H */
