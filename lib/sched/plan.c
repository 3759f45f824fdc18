// SPDX-License-Identifier: LGPL-2.1-or-later
/* Growing plans: storage, message numbers, dependency lists. */
#include <errno.h>
#include <stdlib.h>

#include "plan.h"

struct hcomm_plan *hcomm_plan_new(uint32_t dtype, uint32_t redop)
{
	struct hcomm_plan *plan = calloc(1, sizeof(*plan));

	if (plan) {
		plan->dtype = dtype;
		plan->redop = redop;
	}
	return plan;
}

void hcomm_plan_free(struct hcomm_plan *plan)
{
	if (!plan)
		return;
	free(plan->steps);
	free(plan->deps);
	free(plan->peers);
	free(plan);
}

void hcomm_plan_fail(struct hcomm_plan *plan, int err)
{
	if (!plan->err)
		plan->err = err;
}

int hcomm_plan_finish(struct hcomm_plan *plan)
{
	if (!plan->err && !plan->nsteps)
		hcomm_plan_nop(plan);
	return plan->err;
}

uint64_t hcomm_plan_scratch(struct hcomm_plan *plan, uint64_t size)
{
	uint64_t off = (plan->scratch_size + 63) & ~63ull;

	if (size > (1ull << 62) || off > (1ull << 62)) {
		hcomm_plan_fail(plan, -EOVERFLOW);
		return 0;
	}
	if (size)
		plan->scratch_size = off + size;
	return off;
}

static uint32_t peer_slot(const struct hcomm_plan *plan, uint32_t peer)
{
	uint32_t mask = plan->peer_room - 1;
	uint32_t i = (peer * 2654435761u) & mask;

	while (plan->peers[i].used && plan->peers[i].peer != peer)
		i = (i + 1) & mask;
	return i;
}

static int peers_grow(struct hcomm_plan *plan)
{
	struct hcomm_plan_peer *old = plan->peers;
	uint32_t room = plan->peer_room, i;

	plan->peers = calloc(room ? room * 2 : 8, sizeof(*plan->peers));
	if (!plan->peers) {
		plan->peers = old;
		return -ENOMEM;
	}
	plan->peer_room = room ? room * 2 : 8;
	for (i = 0; i < room; i++) {
		if (old[i].used)
			plan->peers[peer_slot(plan, old[i].peer)] = old[i];
	}
	free(old);
	return 0;
}

static struct hcomm_plan_peer *plan_peer(struct hcomm_plan *plan, uint32_t peer)
{
	struct hcomm_plan_peer *p;

	/* at most half full, so a search stays short */
	if (2 * (plan->npeers + 1) > plan->peer_room && peers_grow(plan)) {
		hcomm_plan_fail(plan, -ENOMEM);
		return NULL;
	}
	p = &plan->peers[peer_slot(plan, peer)];
	if (!p->used) {
		if (plan->npeers == HCOMM_MAX_PEERS) {
			hcomm_plan_fail(plan, -E2BIG);
			return NULL;
		}
		p->used = true;
		p->peer = peer;
		plan->npeers++;
	}
	return p;
}

static void *grow(void *mem, uint32_t *room, uint32_t limit, size_t size)
{
	uint32_t want = *room ? *room * 2 : 32;

	if (want > limit)
		want = limit;
	mem = realloc(mem, want * size);
	if (mem)
		*room = want;
	return mem;
}

static struct hcomm_step *plan_step(struct hcomm_plan *plan, uint32_t op,
				    uint64_t len)
{
	struct hcomm_step *s;

	if (plan->err)
		return NULL;
	if (len > HCOMM_MAX_STEP_LEN || plan->nsteps == HCOMM_MAX_STEPS) {
		hcomm_plan_fail(plan, -E2BIG);
		return NULL;
	}
	if (plan->nsteps == plan->step_room) {
		s = grow(plan->steps, &plan->step_room, HCOMM_MAX_STEPS,
			 sizeof(*s));
		if (!s) {
			hcomm_plan_fail(plan, -ENOMEM);
			return NULL;
		}
		plan->steps = s;
	}
	s = &plan->steps[plan->nsteps];
	*s = (struct hcomm_step){
		.op = op,
		.len = len,
		.dep_first = plan->ndeps,
	};
	return s;
}

static uint32_t plan_commit(struct hcomm_plan *plan)
{
	plan->last_streams = 0;
	return plan->nsteps++;
}

static void touch(struct hcomm_plan *plan, struct hcomm_loc loc, uint64_t len,
		  bool write)
{
	if (!len)
		return;
	if (plan->extent[loc.slot] < loc.off + len)
		plan->extent[loc.slot] = loc.off + len;
	plan->written[loc.slot] |= write;
}

static void set_src(struct hcomm_plan *plan, struct hcomm_step *s,
		    struct hcomm_loc src)
{
	s->src_slot = src.slot;
	s->src_off = src.off;
	touch(plan, src, s->len, false);
}

static void set_dst(struct hcomm_plan *plan, struct hcomm_step *s,
		    struct hcomm_loc dst)
{
	s->dst_slot = dst.slot;
	s->dst_off = dst.off;
	touch(plan, dst, s->len, true);
}

static void set_reduction(struct hcomm_plan *plan, struct hcomm_step *s)
{
	s->dtype = plan->dtype;
	s->redop = plan->redop;
}

uint32_t hcomm_plan_send(struct hcomm_plan *plan, uint32_t peer,
			 struct hcomm_loc src, uint64_t len)
{
	struct hcomm_step *s = plan_step(plan, HCOMM_STEP_SEND, len);
	struct hcomm_plan_peer *p = s ? plan_peer(plan, peer) : NULL;

	if (!p)
		return HCOMM_NO_STEP;
	s->peer = peer;
	s->msg = p->sends++;
	set_src(plan, s, src);
	return plan_commit(plan);
}

static struct hcomm_step *plan_receive(struct hcomm_plan *plan, uint32_t op,
				       uint32_t peer, struct hcomm_loc dst,
				       uint64_t len)
{
	struct hcomm_step *s = plan_step(plan, op, len);
	struct hcomm_plan_peer *p = s ? plan_peer(plan, peer) : NULL;

	if (!p)
		return NULL;
	s->peer = peer;
	s->msg = p->recvs++;
	set_dst(plan, s, dst);
	return s;
}

uint32_t hcomm_plan_recv(struct hcomm_plan *plan, uint32_t peer,
			 struct hcomm_loc dst, uint64_t len)
{
	if (!plan_receive(plan, HCOMM_STEP_RECV, peer, dst, len))
		return HCOMM_NO_STEP;
	return plan_commit(plan);
}

uint32_t hcomm_plan_recv_reduce(struct hcomm_plan *plan, uint32_t peer,
				struct hcomm_loc dst, struct hcomm_loc src,
				uint64_t len)
{
	struct hcomm_step *s;

	s = plan_receive(plan, HCOMM_STEP_RECV_REDUCE, peer, dst, len);
	if (!s)
		return HCOMM_NO_STEP;
	set_src(plan, s, src);
	set_reduction(plan, s);
	return plan_commit(plan);
}

uint32_t hcomm_plan_copy(struct hcomm_plan *plan, struct hcomm_loc dst,
			 struct hcomm_loc src, uint64_t len)
{
	struct hcomm_step *s = plan_step(plan, HCOMM_STEP_COPY, len);

	if (!s)
		return HCOMM_NO_STEP;
	set_src(plan, s, src);
	set_dst(plan, s, dst);
	return plan_commit(plan);
}

uint32_t hcomm_plan_reduce(struct hcomm_plan *plan, struct hcomm_loc dst,
			   struct hcomm_loc src, uint64_t len)
{
	struct hcomm_step *s = plan_step(plan, HCOMM_STEP_REDUCE, len);

	if (!s)
		return HCOMM_NO_STEP;
	set_src(plan, s, src);
	set_dst(plan, s, dst);
	set_reduction(plan, s);
	return plan_commit(plan);
}

uint32_t hcomm_plan_scale(struct hcomm_plan *plan, struct hcomm_loc dst,
			  struct hcomm_loc src, uint64_t len, uint32_t scale,
			  uint64_t operand)
{
	struct hcomm_step *s = plan_step(plan, HCOMM_STEP_SCALE, len);

	if (!s)
		return HCOMM_NO_STEP;
	set_src(plan, s, src);
	set_dst(plan, s, dst);
	s->dtype = plan->dtype;
	s->redop = scale;
	s->operand = operand;
	return plan_commit(plan);
}

uint32_t hcomm_plan_nop(struct hcomm_plan *plan)
{
	return plan_step(plan, HCOMM_STEP_NOP, 0) ? plan_commit(plan) :
						    HCOMM_NO_STEP;
}

/* room for one more dependency of the last step */
static bool dep_room(struct hcomm_plan *plan, uint32_t step)
{
	uint32_t *deps;

	if (plan->err || step == HCOMM_NO_STEP)
		return false;
	if (step + 1 >= plan->nsteps) {
		hcomm_plan_fail(plan, -EINVAL);
		return false;
	}
	if (plan->ndeps == HCOMM_MAX_DEPS) {
		hcomm_plan_fail(plan, -E2BIG);
		return false;
	}
	if (plan->ndeps < plan->dep_room)
		return true;
	deps = grow(plan->deps, &plan->dep_room, HCOMM_MAX_DEPS, sizeof(*deps));
	if (!deps) {
		hcomm_plan_fail(plan, -ENOMEM);
		return false;
	}
	plan->deps = deps;
	return true;
}

void hcomm_plan_after(struct hcomm_plan *plan, uint32_t step)
{
	if (!dep_room(plan, step))
		return;
	plan->deps[plan->ndeps++] = step;
	plan->steps[plan->nsteps - 1].dep_count++;
}

void hcomm_plan_stream(struct hcomm_plan *plan, uint32_t step)
{
	struct hcomm_step *last;
	uint32_t at;

	if (!dep_room(plan, step))
		return;
	last = &plan->steps[plan->nsteps - 1];
	if (plan->steps[step].len != last->len ||
	    plan->last_streams == HCOMM_MAX_STREAM_DEPS) {
		hcomm_plan_after(plan, step);
		return;
	}
	/* the streaming ones come first: the first plain one makes room */
	at = last->dep_first + plan->last_streams;
	if (at < plan->ndeps)
		plan->deps[plan->ndeps] = plan->deps[at];
	plan->deps[at] = step | HCOMM_DEP_STREAM;
	plan->ndeps++;
	plan->last_streams++;
	last->dep_count++;
}

static bool writes(const struct hcomm_step *s)
{
	return s->op != HCOMM_STEP_SEND && s->op != HCOMM_STEP_NOP;
}

static bool reads(const struct hcomm_step *s)
{
	return s->op != HCOMM_STEP_RECV && s->op != HCOMM_STEP_NOP;
}

static bool touches(const struct hcomm_step *s, uint32_t slot, uint64_t off)
{
	return (reads(s) && s->src_slot == slot && s->src_off == off) ||
	       (writes(s) && s->dst_slot == slot && s->dst_off == off);
}

void hcomm_plan_follow(struct hcomm_plan *plan, uint32_t step)
{
	const struct hcomm_step *s, *last;

	if (plan->err || step == HCOMM_NO_STEP)
		return;
	s = &plan->steps[step];
	last = &plan->steps[plan->nsteps - 1];
	if ((reads(last) && touches(s, last->src_slot, last->src_off)) ||
	    (writes(last) && touches(s, last->dst_slot, last->dst_off)))
		hcomm_plan_stream(plan, step);
	else
		hcomm_plan_after(plan, step);
}

const struct hcomm_step *hcomm_plan_steps(const struct hcomm_plan *plan,
					  uint32_t *nsteps)
{
	*nsteps = plan->nsteps;
	return plan->steps;
}

const uint32_t *hcomm_plan_deps(const struct hcomm_plan *plan, uint32_t *ndeps)
{
	*ndeps = plan->ndeps;
	return plan->deps;
}

uint32_t hcomm_plan_nslots(const struct hcomm_plan *plan)
{
	return plan->scratch_size ? 3 : 2;
}

uint64_t hcomm_plan_slot_extent(const struct hcomm_plan *plan, uint32_t slot,
				bool *written)
{
	if (slot >= HCOMM_MAX_SLOTS)
		return 0;
	if (written)
		*written = plan->written[slot];
	return plan->extent[slot];
}

uint64_t hcomm_plan_scratch_size(const struct hcomm_plan *plan)
{
	return plan->scratch_size;
}
