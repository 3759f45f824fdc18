// SPDX-License-Identifier: GPL-2.0-only
/*
 * Transport "local": large transfers, which two ranks do together.
 *
 * The receiver copies or reduces from the sender's pinned pages.  Meanwhile the
 * sender often has nothing to do but to spin until it is told, on a processor of
 * its own.  So the receiver offers the transfer to it, and both take pieces until
 * none is left.  One that does not spin does not help, and is not waited for.
 *
 * All that is touched stays until the receiver returns from here: its run, which holds
 * the destination, is in flight, and its message holds the source.  It takes the offer back and
 * waits for a piece that is still being done.  The helper is not preempted
 * there, so that takes no longer than a piece does.
 */
#include <linux/preempt.h>
#include <linux/processor.h>

#include "core/reduce.h"
#include "local.h"

/*
 * Of what is taken at once: multiples of every element size.  Reductions without
 * vector units are slow, and a helper is not preempted in a piece.
 */
#define HCOMM_PULL_PIECE	8192u
#define HCOMM_PULL_SLOW_PIECE	1024u

/* Below this it is done before another processor has seen it. */
#define HCOMM_PULL_TOGETHER	(4 * HCOMM_PULL_PIECE)

/* Pieces for which a helper does not look at what came for itself. */
#define HCOMM_PULL_TURN		8

/* The next piece; 0: none is left. */
static u64 job_take(struct local_job *job, u64 *off)
{
	u32 piece = job->t->reduce && !hcomm_reduce_simd() ? HCOMM_PULL_SLOW_PIECE :
							     HCOMM_PULL_PIECE;
	u64 len = min_t(u64, job->t->len - job->next, piece);

	*off = job->next;
	job->next += len;
	return len;
}

static bool job_offer(struct local_comm *lc, struct local_job *job)
{
	bool free;

	spin_lock(&lc->lock);
	free = !lc->job;
	if (free) {
		WRITE_ONCE(lc->job, job);
		if (lc->comm)
			hcomm_comm_nudge(lc->comm);
	}
	spin_unlock(&lc->lock);
	return free;
}

/* Do all that nobody else takes, then wait for who took the last piece. */
static void job_do(struct local_comm *lc, struct local_job *job)
{
	u64 off, len;

	for (;;) {
		spin_lock(&lc->lock);
		len = job_take(job, &off);
		if (!len)
			WRITE_ONCE(lc->job, NULL);
		spin_unlock(&lc->lock);
		if (!len)
			break;
		hcomm_mem_transfer(job->t, off, len);
	}
	/* Nobody can begin now.  Pairs with the helper's release: what it wrote is seen. */
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

static bool help_with_piece(struct hcomm_comm *comm, struct local_comm *lc)
{
	struct local_job *job;
	u64 off, len = 0;

	spin_lock(&lc->lock);
	job = lc->job;
	if (job)
		len = job_take(job, &off);
	if (len) {
		WRITE_ONCE(job->helping, true);
		/* Not before: taking the lock may sleep with PREEMPT_RT. */
		preempt_disable();
	}
	spin_unlock(&lc->lock);
	if (!len)
		return false;
	hcomm_mem_transfer(job->t, off, len);
	WRITE_ONCE(comm->bytes_helped, comm->bytes_helped + len);
	/* Whose job it is may be gone after this. */
	smp_store_release(&job->helping, false);
	preempt_enable();
	return true;
}

/**
 * hcomm_local_help - do some of what a peer brings in from our memory
 * @comm: communicator, whose context's waiter calls
 *
 * Return: true if there was something.
 */
bool hcomm_local_help(struct hcomm_comm *comm)
{
	struct local_comm *lc = local_comm_of(comm);
	u32 n = 0;

	while (n < HCOMM_PULL_TURN && READ_ONCE(lc->job) && !atomic_read(&comm->kicks) &&
	       help_with_piece(comm, lc))
		n++;
	return n;
}
