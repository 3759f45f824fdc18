// SPDX-License-Identifier: GPL-2.0-only
/*
 * Transport "local": large transfers, which two ranks do together.
 *
 * The receiver copies or reduces from the sender's pinned pages.  Meanwhile the
 * sender often has nothing to do but to spin until it is told, on a processor of
 * its own.  So the receiver offers the transfer to it, and both take pieces until
 * none is left.  One that does not spin does not help, and is not waited for.
 *
 * All that is touched is the receiver's: its run is in flight and its message
 * holds the source, until it returns from here.  It takes the offer back and
 * waits for a piece that is still being done.  The helper is not preempted
 * there, so that takes no longer than a piece does.
 */
#include <linux/preempt.h>
#include <linux/processor.h>

#include "local.h"

/* Of what is taken at once: a multiple of every element size. */
#define HCOMM_PULL_PIECE	8192u

/* Below this it is done before another processor has seen it. */
#define HCOMM_PULL_TOGETHER	(4 * HCOMM_PULL_PIECE)

/* The next piece; 0: none is left. */
static u64 job_take(struct local_job *job, u64 *off)
{
	u64 len = min_t(u64, job->t->len - job->next, HCOMM_PULL_PIECE);

	*off = job->next;
	job->next += len;
	return len;
}

static bool job_offer(struct local_comm *lc, struct local_job *job)
{
	bool free;

	spin_lock(&lc->lock);
	free = !lc->job;
	if (free)
		WRITE_ONCE(lc->job, job);
	spin_unlock(&lc->lock);
	return free;
}

/* Do all that nobody else takes, then wait for who took the last piece. */
static void job_do(struct local_comm *lc, struct local_job *job)
{
	bool helping;
	u64 off, len;

	for (;;) {
		spin_lock(&lc->lock);
		len = job_take(job, &off);
		if (!len)
			WRITE_ONCE(lc->job, NULL);
		helping = job->helping;
		spin_unlock(&lc->lock);
		if (!len)
			break;
		hcomm_mem_transfer(job->t, off, len);
	}
	if (!helping)
		return;
	/* Pairs with the release of the helper: what it wrote is seen. */
	while (smp_load_acquire(&job->helping))
		cpu_relax();
}

/**
 * hcomm_local_pull - do a transfer from the peer's memory
 * @l: link to that peer
 * @t: transfer
 */
void hcomm_local_pull(struct hcomm_elink *l, const struct hcomm_transfer *t)
{
	struct local_link *ll = container_of(l, struct local_link, link.el);
	struct local_job job = { .t = t };

	if (t->len >= HCOMM_PULL_TOGETHER && job_offer(ll->far->lc, &job))
		job_do(ll->far->lc, &job);
	else
		hcomm_mem_transfer(t, 0, t->len);
}

/**
 * hcomm_local_help - do a piece of what a peer brings in from our memory
 * @comm: communicator, whose context's waiter calls
 *
 * Return: true if there was one.
 */
bool hcomm_local_help(struct hcomm_comm *comm)
{
	struct local_comm *lc = local_comm_of(comm);
	struct local_job *job;
	u64 off, len = 0;

	if (!READ_ONCE(lc->job))
		return false;
	preempt_disable();
	spin_lock(&lc->lock);
	job = lc->job;
	if (job)
		len = job_take(job, &off);
	if (len)
		job->helping = true;
	spin_unlock(&lc->lock);
	if (len) {
		hcomm_mem_transfer(job->t, off, len);
		comm->bytes_helped += len;
		/* Whose job it is may be gone after this. */
		smp_store_release(&job->helping, false);
	}
	preempt_enable();
	return len;
}
