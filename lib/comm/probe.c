// SPDX-License-Identifier: LGPL-2.1-or-later
/* Ping-pongs between few ranks, for the cost model. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/base.h"
#include "../mem/mem.h"
#include "create.h"
#include "probe.h"

/* the lower rank of a pair is one of the first: to look at all pairs takes long */
#define LOWER_RANKS	64u

#define ROUNDS		5u	/* the first one makes plans and warms up */

static const uint32_t sizes[] = { 64, 16 << 10, 256 << 10 };

#define MAX_POINTS	(ARRAY_SIZE(sizes) * HCOMM_LINK_CLASSES)

/**
 * struct report - what a rank measured
 * @status: hcommResult_t
 * @count: points
 * @points: measured times
 * @copy: bytes per second of copies, 0: not known
 * @reduce: bytes per second of reductions, 0: not known
 * @text: what failed
 */
struct report {
	int32_t status;
	uint32_t count;
	struct hcomm_probe points[MAX_POINTS];
	double copy;
	double reduce;
	char text[256];
};

_Static_assert(sizeof(struct report) <= HCOMM_EXCHANGE_BLOB &&
	       sizeof(struct hcomm_model) <= HCOMM_EXCHANGE_BLOB, "a round carries both");

bool hcomm_probe_pair(const uint32_t *node, const uint32_t *group, uint32_t nranks,
		      uint32_t cls, uint32_t *a, uint32_t *b)
{
	uint32_t i, j, found;

	/* ranks of one node are most often neighbours; far ones are far from rank 0 */
	for (i = 0; i < nranks && i < LOWER_RANKS; i++) {
		for (j = i + 1; j < nranks; j++) {
			found = node[i] == node[j] ? HCOMM_LINK_LOCAL :
				group[i] == group[j] ? HCOMM_LINK_NODE :
						       HCOMM_LINK_GROUP;
			if (found != cls)
				continue;
			*a = i;
			*b = j;
			return true;
		}
	}
	return false;
}

static hcommResult_t message(struct hcomm_comm *comm, uint32_t from, uint32_t to,
			     void *buf, uint32_t bytes)
{
	struct hcomm_call_args call = {
		.name = "probe",
		.coll = HCOMM_COLL_P2P,
		.dtype = HCOMM_DT_UINT8,
		.root = from,
		.peer = to,
		.count = bytes,
		.send = buf,
		.recv = buf,
		.internal = true,
	};

	return hcomm_op_run(comm, &call);
}

/* one size: there and back, some times; the best counts */
static hcommResult_t ping_pong(struct hcomm_comm *comm, uint32_t a, uint32_t b,
			       void *buf, uint32_t bytes, double *best)
{
	hcommResult_t ret = HCOMM_SUCCESS;
	double took;
	int64_t begin;
	uint32_t i;

	*best = 0;
	for (i = 0; i < ROUNDS && !ret; i++) {
		begin = hcomm_now_ns();
		ret = message(comm, a, b, buf, bytes);
		if (!ret)
			ret = message(comm, b, a, buf, bytes);
		took = (double)(hcomm_now_ns() - begin) * 1e-9 / 2;
		if (i && (!*best || took < *best))
			*best = took;
	}
	return ret;
}

static hcommResult_t measure(struct hcomm_comm *comm, const uint32_t *group,
			     struct report *mine)
{
	const uint32_t *node = comm->chooser.node;
	hcommResult_t ret;
	uint32_t cls, a, b, i;
	double best;
	void *buf;

	ret = hcomm_mem_alloc(sizes[ARRAY_SIZE(sizes) - 1], &buf);
	if (ret)
		return ret;
	for (cls = 0; cls < HCOMM_LINK_CLASSES && !ret; cls++) {
		if (!hcomm_probe_pair(node, group, comm->nranks, cls, &a, &b) ||
		    (comm->rank != a && comm->rank != b))
			continue;
		for (i = 0; i < ARRAY_SIZE(sizes) && !ret; i++) {
			ret = ping_pong(comm, a, b, buf, sizes[i], &best);
			if (ret || comm->rank != a)
				continue;
			mine->points[mine->count++] = (struct hcomm_probe){
				.cls = cls,
				.bytes = sizes[i],
				.seconds = best,
			};
		}
	}
	hcomm_mem_free(buf);
	return ret ? ret : hcomm_probe_memory(comm, &mine->copy, &mine->reduce);
}

/* a collective is as fast as its slowest rank */
static void slowest(double *rate, const struct report *all, uint32_t nranks,
		    bool reduce)
{
	double least = 0, one;
	uint32_t i;

	for (i = 0; i < nranks; i++) {
		one = reduce ? all[i].reduce : all[i].copy;
		if (one >= 1 && (!least || one < least))
			least = one;
	}
	if (least)
		*rate = least;
}

/* all points, in the order of ranks; the same model on all of them */
static hcommResult_t fit(struct hcomm_comm *comm, struct hcomm_exchange *ex,
			 const struct report *all, bool *fitted)
{
	struct hcomm_model *models = calloc(comm->nranks, sizeof(*models));
	struct hcomm_probe points[MAX_POINTS];
	struct hcomm_model model = comm->opts.model;
	size_t count = 0, i;
	hcommResult_t ret;
	uint32_t rank;

	if (!models)
		return hcomm_fail_nomem("the table of ranks");
	for (rank = 0; rank < comm->nranks; rank++) {
		for (i = 0; i < all[rank].count && i < MAX_POINTS &&
		     count < MAX_POINTS; i++)
			points[count++] = all[rank].points[i];
	}
	*fitted = hcomm_model_fit(&model, points, count);
	slowest(&model.copy_rate, all, comm->nranks, false);
	slowest(&model.reduce_rate, all, comm->nranks, true);
	ret = ex->gather(ex, &model, sizeof(model), models);
	if (!ret && hcomm_model_check(&models[0]))
		ret = hcomm_fail(HCOMM_ERR_INTERNAL, "rank 0 fitted a senseless model");
	if (!ret)
		comm->chooser.planner.model = models[0];
	free(models);
	return ret;
}

/* what was measured, not what is only derived from it */
static bool was_measured(const struct report *all, uint32_t nranks, uint32_t cls)
{
	uint32_t rank, i;

	for (rank = 0; rank < nranks; rank++) {
		for (i = 0; i < all[rank].count && i < MAX_POINTS; i++) {
			if (all[rank].points[i].cls == cls)
				return true;
		}
	}
	return false;
}

static void show_rate(const struct report *all, uint32_t nranks, bool reduce)
{
	const char *what = reduce ? "reductions" : "copies";
	double rate = 0;

	slowest(&rate, all, nranks, reduce);
	if (rate > 0)
		hcomm_decision("probed: %s at %.1f MB/s", what, rate / 1e6);
	else
		hcomm_decision("probed: %s: not measured", what);
}

static void show(const struct hcomm_comm *comm, const struct report *all, bool fitted)
{
	static const char * const names[HCOMM_LINK_CLASSES] = {
		"node-local", "between nodes", "between groups",
	};
	uint32_t i;

	if (comm->rank || !hcomm_log_decisions)
		return;
	for (i = 0; i < HCOMM_LINK_CLASSES; i++) {
		const struct hcomm_link_model *l = &comm->chooser.planner.model.link[i];

		if (!fitted || !was_measured(all, comm->nranks, i)) {
			hcomm_decision("probed: %s: not measured%s", names[i],
				       fitted ? " (no such link)" : "");
			continue;
		}
		hcomm_decision("probed: %s: latency %.2f us, overhead %.2f us, %.1f MB/s",
			       names[i], l->latency * 1e6, l->overhead * 1e6,
			       l->bandwidth / 1e6);
	}
	show_rate(all, comm->nranks, false);
	show_rate(all, comm->nranks, true);
}

hcommResult_t hcomm_probe_links(struct hcomm_comm *comm, struct hcomm_exchange *ex)
{
	struct report *all = calloc(comm->nranks, sizeof(*all)), mine;
	bool fitted = false;
	hcommResult_t ret;
	uint32_t i;

	if (!all)
		return hcomm_fail_nomem("the table of ranks");
	memset(&mine, 0, sizeof(mine));
	mine.status = measure(comm, comm->chooser.group, &mine);
	if (mine.status)
		snprintf(mine.text, sizeof(mine.text), "%s", hcomm_error_text());
	ret = ex->gather(ex, &mine, sizeof(mine), all);
	for (i = 0; i < comm->nranks && !ret; i++) {
		all[i].text[sizeof(all[i].text) - 1] = 0;
		if (all[i].status)
			ret = hcomm_fail(HCOMM_ERR_LINK, "probing the links: rank %u: %s",
					 i, all[i].text);
	}
	if (!ret)
		ret = fit(comm, ex, all, &fitted);
	/* as if nothing had happened */
	hcomm_cache_clear(comm);
	if (ret)
		goto out;
	memset(&comm->stats, 0, sizeof(comm->stats));
	comm->stats.size = sizeof(comm->stats);
	hcomm_choose_again(comm);
	show(comm, all, fitted);
out:
	free(all);
	return ret;
}
