// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Launching calls together.  Each becomes a request as if it were alone; then all
 * are launched by one system call (one per HCOMM_MAX_BATCH), and none waits for
 * another.
 *
 * A rank's messages to itself never reach the kernel: a send and a receive of the
 * same group are a copy.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../base/base.h"
#include "group.h"
#include "request.h"

/* -------------------------------------------------------------------- members */

/* arrays of a V form belong to the caller, who may change them after the call */
static bool copy_arrays(struct hcomm_member *m)
{
	uint32_t n = m->comm->nranks, have = 0, i;
	uint64_t *at;

	for (i = 0; i < HCOMM_ARRAYS; i++)
		have += m->call.arrays.list[i] != NULL;
	if (!have)
		return true;
	m->arrays = calloc((size_t)have * n, sizeof(*m->arrays));
	if (!m->arrays)
		return false;
	for (i = 0, at = m->arrays; i < HCOMM_ARRAYS; i++) {
		if (!m->call.arrays.list[i])
			continue;
		memcpy(at, m->call.arrays.list[i], n * sizeof(*at));
		m->call.arrays.list[i] = at;
		at += n;
	}
	return true;
}

hcommResult_t hcomm_group_add(struct hcomm_group *g, struct hcomm_comm *comm,
			      const struct hcomm_call_args *call)
{
	uint32_t room = g->room ? 2 * g->room : 16;
	struct hcomm_member *m = g->members;

	if (g->count == g->room) {
		m = realloc(m, room * sizeof(*m));
		if (!m)
			return hcomm_fail_nomem("a group");
		g->members = m;
		g->room = room;
	}
	m += g->count;
	*m = (struct hcomm_member){ .comm = comm, .call = *call };
	if (!copy_arrays(m))
		return hcomm_fail_nomem("a group");
	hcomm_comm_get(comm);
	g->count++;
	return HCOMM_SUCCESS;
}

void hcomm_group_clear(struct hcomm_group *g)
{
	while (g->count) {
		struct hcomm_member *m = &g->members[--g->count];

		hcomm_comm_put(m->comm);
		free(m->arrays);
	}
	free(g->members);
	memset(g, 0, sizeof(*g));
}

/* ---------------------------------------------------------- messages to itself */

static bool to_itself(const struct hcomm_member *m)
{
	return m->call.coll == HCOMM_COLL_P2P && m->call.root == m->call.peer;
}

static hcommResult_t no_other_end(const struct hcomm_member *m)
{
	return hcomm_fail(HCOMM_ERR_INVALID_USAGE,
			  "%s: rank %u %s itself with tag %u, but the other end is not in the group",
			  m->call.name, m->comm->rank,
			  m->call.sends ? "sends to" : "receives from", m->call.tag);
}

/* pair each send with the first receive of its tag that has none */
static hcommResult_t pair_up(struct hcomm_group *g)
{
	struct hcomm_member *s, *r, *end = g->members + g->count;

	for (s = g->members; s < end; s++) {
		if (!to_itself(s) || !s->call.sends)
			continue;
		for (r = g->members; r < end; r++) {
			if (to_itself(r) && !r->call.sends && !r->paired &&
			    r->comm == s->comm && r->call.tag == s->call.tag)
				break;
		}
		if (r == end)
			return no_other_end(s);
		if (r->call.count != s->call.count)
			return hcomm_fail(HCOMM_ERR_MISMATCH,
					  "rank %u sends %llu bytes to itself with tag %u, and receives %llu",
					  s->comm->rank, (unsigned long long)s->call.count,
					  s->call.tag, (unsigned long long)r->call.count);
		r->paired = s;
		s->paired = r;
	}
	for (r = g->members; r < end; r++) {
		if (to_itself(r) && !r->paired)
			return no_other_end(r);
	}
	return HCOMM_SUCCESS;
}

static void copy_pairs(struct hcomm_group *g)
{
	uint32_t i;

	for (i = 0; i < g->count; i++) {
		struct hcomm_member *m = &g->members[i];

		if (m->paired && m->call.sends && m->call.count)
			memmove(m->paired->call.recv, m->call.send, m->call.count);
	}
}

/* --------------------------------------------------------------------- launch */

/**
 * struct flight - calls of a group on their way
 * @members: by number
 * @reqs: their requests
 * @args: what the kernel is told
 * @numbers: to give them back
 * @count: how many are numbered
 * @launched: how many are launched
 * @failed: first error of one that could not be launched
 */
struct flight {
	struct hcomm_member **members;
	struct hcomm_request **reqs;
	struct hcomm_launch *args;
	struct hcomm_number *numbers;
	uint32_t count;
	uint32_t launched;
	struct hcomm_first_error failed;
};

static void flight_free(struct flight *f)
{
	free(f->members);
	free(f->reqs);
	free(f->args);
	free(f->numbers);
}

static hcommResult_t flight_init(struct flight *f, struct hcomm_group *g)
{
	memset(f, 0, sizeof(*f));
	f->members = calloc(g->count + 1, sizeof(*f->members));
	f->reqs = calloc(g->count + 1, sizeof(*f->reqs));
	f->args = calloc(g->count + 1, sizeof(*f->args));
	f->numbers = calloc(g->count + 1, sizeof(*f->numbers));
	if (f->members && f->reqs && f->args && f->numbers)
		return HCOMM_SUCCESS;
	flight_free(f);
	return hcomm_fail_nomem("a group");
}

/*
 * Of the calls from number @from on, those of @comm did not happen (NULL: none did);
 * the last one first, for the numbers.
 */
static void take_back(struct flight *f, const struct hcomm_comm *comm, uint32_t from)
{
	uint32_t i, n;

	for (i = f->count; i-- > from;) {
		if (comm && f->members[i]->comm != comm)
			continue;
		hcomm_request_unnumber(f->reqs[i], &f->members[i]->call, &f->numbers[i]);
		hcomm_request_undo(f->reqs[i]);
		free(f->reqs[i]);
		f->reqs[i] = NULL;
		hcomm_comm_put(f->members[i]->comm);
	}
	for (i = from, n = from; i < f->count; i++) {
		if (!f->reqs[i])
			continue;
		f->members[n] = f->members[i];
		f->reqs[n] = f->reqs[i];
		f->args[n] = f->args[i];
		f->numbers[n++] = f->numbers[i];
	}
	f->count = n;
}

static hcommResult_t prepare_one(struct flight *f, struct hcomm_member *m)
{
	struct hcomm_request *r = malloc(sizeof(*r));
	uint32_t i = f->count;
	hcommResult_t ret;

	if (!r)
		return hcomm_fail_nomem("a request");
	ret = hcomm_request_prepare(m->comm, r, &m->call, false);
	if (ret)
		goto fail;
	ret = hcomm_request_number(r, &m->call, &f->args[i], &f->numbers[i]);
	if (ret) {
		hcomm_request_undo(r);
		goto fail;
	}
	f->args[i].user_data = (uintptr_t)&r->run;
	f->members[i] = m;
	f->reqs[i] = r;
	f->count++;
	hcomm_comm_get(m->comm);
	return HCOMM_SUCCESS;
fail:
	free(r);
	return ret;
}

/* they must fit: waiting for room would wait for calls that may wait for these */
static hcommResult_t check_room(const struct hcomm_group *g)
{
	uint32_t i, j, n, flying;

	for (i = 0; i < g->count; i++) {
		const struct hcomm_comm *comm = g->members[i].comm;

		for (j = 0, n = 0; j < g->count; j++)
			n += g->members[j].comm == comm && !to_itself(&g->members[j]);
		flying = __atomic_load_n(&comm->inflight, __ATOMIC_ACQUIRE);
		if (n + flying <= comm->opts.max_runs)
			continue;
		return hcomm_fail(HCOMM_ERR_BUSY,
				  "the group has %u calls on one communicator, and %u are in flight, but it allows %u; use smaller groups, or raise HCOMM_MAX_RUNS (to %u at most)",
				  n, flying, comm->opts.max_runs, HCOMM_MAX_COMM_RUNS);
	}
	return HCOMM_SUCCESS;
}

/*
 * A fault of one communicator is that of its calls: other ranks may have launched
 * the rest and wait for this one.  Any other error is the group's.
 */
static hcommResult_t prepare_all(struct flight *f, struct hcomm_group *g)
{
	struct hcomm_member *m, *end = g->members + g->count;
	hcommResult_t ret;

	for (m = g->members; m < end; m++) {
		if (to_itself(m))
			continue;
		ret = prepare_one(f, m);
		if (!ret)
			continue;
		hcomm_error_keep(&f->failed, ret);
		if (!hcomm_comm_query(m->comm)) {
			take_back(f, NULL, 0);
			return hcomm_error_restore(&f->failed);
		}
		take_back(f, m->comm, 0);
	}
	return HCOMM_SUCCESS;
}

static void launch_all(struct flight *f, bool wait)
{
	uint32_t done;
	int err;

	do {
		err = hcomm_dev_launch_many(f->args + f->launched, f->count - f->launched,
					    wait, &done);
		f->launched += done;
		if (err) {
			struct hcomm_member *m = f->members[f->launched];

			hcomm_error_keep(&f->failed,
					 hcomm_comm_error(m->comm, err, m->call.name));
			take_back(f, m->comm, f->launched);
		}
	} while (err);
}

static hcommRequest_t chain(const struct flight *f)
{
	uint32_t i;

	for (i = 1; i < f->count; i++)
		f->reqs[i - 1]->more = f->reqs[i];
	return f->count ? f->reqs[0] : NULL;
}

static hcommResult_t check_comms(const struct hcomm_group *g)
{
	uint32_t i;

	for (i = 0; i < g->count; i++) {
		if (g->members[i].comm->magic != HCOMM_COMM_MAGIC)
			return hcomm_fail(HCOMM_ERR_INVALID_USAGE,
					  "%s: the communicator was destroyed before the group's end",
					  g->members[i].call.name);
	}
	return HCOMM_SUCCESS;
}

hcommResult_t hcomm_group_launch(struct hcomm_group *g, hcommRequest_t *req)
{
	struct flight f;
	hcommResult_t ret;

	ret = check_comms(g);
	if (!ret)
		ret = pair_up(g);
	hcomm_dev_drain();
	if (!ret)
		ret = check_room(g);
	if (!ret)
		ret = flight_init(&f, g);
	if (ret)
		return ret;
	ret = prepare_all(&f, g);
	if (!ret) {
		launch_all(&f, !req);
		copy_pairs(g);
		if (!req || f.failed.result)
			ret = hcomm_op_wait(chain(&f));
		else
			*req = chain(&f);
		if (f.failed.result)
			ret = hcomm_error_restore(&f.failed);
	}
	flight_free(&f);
	return ret;
}
