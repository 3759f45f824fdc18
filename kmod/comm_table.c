// SPDX-License-Identifier: GPL-2.0-only
/*
 * The table of all communicators of this kernel, by identity and rank: how ranks of
 * one node find each other, who is told when one appears or ends, and what is
 * remembered of those that ended.
 */
#include <linux/cred.h>
#include <linux/slab.h>

#include "comm_priv.h"
#include "compat.h"

/* What is remembered of communicators that ended, at most of one user, and for how long. */
#define MAX_TOMBS		1024u
#define MAX_USER_TOMBS		512u
#define TOMB_JIFFIES		(120 * HZ)

/**
 * struct hcomm_tomb - a communicator that ended
 * @node: in tombs, oldest first
 * @uuid: identity
 * @secret: job secret
 * @rank: its rank
 * @owner: user who made it
 * @died: order of births and deaths
 * @until: jiffies when it may be forgotten
 * @fault: why it ended; error 0: in good order
 *
 * A rank that dies before a peer of this kernel has connected to it could only
 * be waited for in vain.  Only those born before its death ever waited for it.
 */
struct hcomm_tomb {
	struct list_head node;
	u8 uuid[16];
	u8 secret[32];
	u32 rank;
	kuid_t owner;
	u64 died;
	unsigned long until;
	struct hcomm_fault fault;
};

/* Protects the table, comm->visible, the watches and the tombs. */
static DEFINE_MUTEX(table_lock);
static LIST_HEAD(table);
static LIST_HEAD(watches);
static LIST_HEAD(tombs);
static u32 ntombs;
static u64 table_clock;

static bool comm_is(const struct hcomm_comm *comm, const u8 *uuid, u32 rank)
{
	return comm->par.rank == rank && !memcmp(comm->uuid, uuid, sizeof(comm->uuid));
}

static bool same_secret(const struct hcomm_comm *comm, const u8 *secret)
{
	return !crypto_memneq(comm->secret, secret, sizeof(comm->secret));
}

static void tomb_remove(struct hcomm_tomb *tomb)
{
	list_del(&tomb->node);
	ntombs--;
	kfree_sensitive(tomb);
}

static struct hcomm_tomb *tomb_find(const u8 *uuid, const u8 *secret, u32 rank)
{
	struct hcomm_tomb *tomb;

	list_for_each_entry(tomb, &tombs, node)
		if (tomb->rank == rank && !memcmp(tomb->uuid, uuid, sizeof(tomb->uuid)) &&
		    !crypto_memneq(tomb->secret, secret, sizeof(tomb->secret)))
			return tomb;
	return NULL;
}

/* One user's must not crowd out those of others. */
static void tombs_limit(kuid_t owner)
{
	struct hcomm_tomb *tomb, *next, *oldest = NULL;
	u32 n = 0;

	list_for_each_entry_safe(tomb, next, &tombs, node) {
		if (time_after(jiffies, tomb->until)) {
			tomb_remove(tomb);
		} else if (uid_eq(tomb->owner, owner)) {
			n++;
			oldest = oldest ?: tomb;
		}
	}
	if (n > MAX_USER_TOMBS)
		tomb_remove(oldest);
	if (ntombs > MAX_TOMBS)
		tomb_remove(list_first_entry(&tombs, struct hcomm_tomb, node));
}

static void watches_call(const struct hcomm_comm *comm)
{
	struct hcomm_comm_watch *watch;

	lockdep_assert_held(&table_lock);
	list_for_each_entry(watch, &watches, node)
		if (comm_is(comm, watch->uuid, watch->rank))
			watch->changed(watch);
}

/* The communicator leaves the table; its tomb takes its place. */
void hcomm_table_bury(struct hcomm_comm *comm)
{
	struct hcomm_tomb *tomb = comm->tomb;

	memcpy(tomb->uuid, comm->uuid, sizeof(tomb->uuid));
	memcpy(tomb->secret, comm->secret, sizeof(tomb->secret));
	tomb->rank = comm->par.rank;
	tomb->until = jiffies + TOMB_JIFFIES;
	tomb->fault = comm->engine.fault;
	comm->tomb = NULL;
	mutex_lock(&table_lock);
	list_del_init(&comm->node);
	list_add_tail(&tomb->node, &tombs);
	ntombs++;
	tomb->died = ++table_clock;
	watches_call(comm);
	tombs_limit(tomb->owner);
	mutex_unlock(&table_lock);
}

void hcomm_comms_exit(void)
{
	struct hcomm_tomb *tomb, *next;

	list_for_each_entry_safe(tomb, next, &tombs, node)
		tomb_remove(tomb);
}

struct hcomm_comm *hcomm_comm_find(const struct hcomm_comm *seeker, u32 rank,
				   struct hcomm_comm_absence *why)
{
	struct hcomm_comm *comm, *found = NULL;
	struct hcomm_tomb *tomb;

	memset(why, 0, sizeof(*why));
	mutex_lock(&table_lock);
	list_for_each_entry(comm, &table, node) {
		if (!comm->visible || !comm_is(comm, seeker->uuid, rank))
			continue;
		if (same_secret(comm, seeker->secret)) {
			kref_get(&comm->obj.ref);
			found = comm;
			break;
		}
		why->stranger = true;
	}
	tomb = found ? NULL : tomb_find(seeker->uuid, seeker->secret, rank);
	if (tomb && tomb->died > seeker->born) {
		why->gone = true;
		why->fault = tomb->fault;
	}
	mutex_unlock(&table_lock);
	return found;
}

void hcomm_comm_watch_add(struct hcomm_comm_watch *watch)
{
	mutex_lock(&table_lock);
	list_add_tail(&watch->node, &watches);
	mutex_unlock(&table_lock);
}

void hcomm_comm_watch_del(struct hcomm_comm_watch *watch)
{
	mutex_lock(&table_lock);
	list_del_init(&watch->node);
	mutex_unlock(&table_lock);
}

int hcomm_table_add(struct hcomm_comm *new)
{
	struct hcomm_comm *comm;
	struct hcomm_tomb *tomb;
	int ret = 0;

	mutex_lock(&table_lock);
	list_for_each_entry(comm, &table, node)
		if (comm_is(comm, new->uuid, new->par.rank) &&
		    same_secret(comm, new->secret))
			ret = -EEXIST;
	if (!ret) {
		tomb = tomb_find(new->uuid, new->secret, new->par.rank);
		if (tomb)
			tomb_remove(tomb);
		list_add_tail(&new->node, &table);
		new->born = ++table_clock;
	}
	mutex_unlock(&table_lock);
	return ret;
}

void hcomm_table_show(struct hcomm_comm *comm)
{
	mutex_lock(&table_lock);
	comm->visible = true;
	watches_call(comm);
	mutex_unlock(&table_lock);
}

void hcomm_table_hide(struct hcomm_comm *comm)
{
	mutex_lock(&table_lock);
	comm->visible = false;
	mutex_unlock(&table_lock);
}

struct hcomm_tomb *hcomm_tomb_alloc(void)
{
	struct hcomm_tomb *tomb = kzalloc(sizeof(*tomb), GFP_KERNEL_ACCOUNT);

	if (tomb)
		tomb->owner = current_uid();
	return tomb;
}
