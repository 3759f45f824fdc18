/* SPDX-License-Identifier: GPL-2.0-only */
/* Ways to damage right programs. */
#ifndef HCOMM_TEST_CHECK_DAMAGE_H
#define HCOMM_TEST_CHECK_DAMAGE_H

#include "check_exec.h"

static struct hcomm_step *pick(struct set *set, uint32_t *r, uint32_t *i)
{
	*r = rnd(set->args.nranks);
	*i = rnd(set->prog[*r].nsteps);
	return &set->steps[*r][*i];
}

/* number messages again and turn streaming dependencies of unequal steps plain */
static void mend(struct set *set, uint32_t r)
{
	uint32_t snd[MAX_RANKS] = { 0 }, rcv[MAX_RANKS] = { 0 }, i, j, k;

	for (i = 0; i < set->prog[r].nsteps; i++) {
		struct hcomm_step *s = &set->steps[r][i];
		uint32_t *dep = &set->deps[r][s->dep_first];

		if (has_peer(s))
			s->msg = receives(s) ? rcv[s->peer]++ : snd[s->peer]++;
		for (j = 0; j < s->dep_count; j++) {
			if (set->steps[r][HCOMM_DEP_INDEX(dep[j])].len != s->len)
				dep[j] = HCOMM_DEP_INDEX(dep[j]);
		}
		for (j = 0, k = 0; j < s->dep_count; j++) {
			uint32_t t = dep[j];

			if (!(t & HCOMM_DEP_STREAM))
				continue;
			dep[j] = dep[k];
			dep[k++] = t;
		}
	}
}

static void make_nop(struct set *set, uint32_t r, uint32_t i)
{
	struct hcomm_step *s = &set->steps[r][i];

	*s = (struct hcomm_step){
		.op = HCOMM_STEP_NOP,
		.dep_first = s->dep_first, .dep_count = s->dep_count,
	};
	mend(set, r);
}

static void remove_dep(struct set *set, uint32_t r, uint32_t i, uint32_t k)
{
	struct hcomm_check_prog *p = &set->prog[r];
	uint32_t at = set->steps[r][i].dep_first + k, j;

	memmove(&set->deps[r][at], &set->deps[r][at + 1],
		(p->ndeps - at - 1) * sizeof(uint32_t));
	p->ndeps--;
	set->steps[r][i].dep_count--;
	for (j = i + 1; j < p->nsteps; j++)
		set->steps[r][j].dep_first--;
}

/*
 * Each returns what happened: it could not be done here, it may or may not
 * matter, it surely breaks the programs.
 */
enum effect { NOTHING, PERHAPS, SURELY };

static enum effect drop_step(struct set *set)
{
	uint32_t r, i;
	struct hcomm_step *s = pick(set, &r, &i);

	if (s->op == HCOMM_STEP_NOP)
		return NOTHING;
	make_nop(set, r, i);
	return SURELY;
}

static enum effect drop_message(struct set *set)
{
	uint32_t r, i, j;
	struct hcomm_step *s = pick(set, &r, &i);
	uint32_t peer = s->peer;

	if (s->op != HCOMM_STEP_SEND)
		return NOTHING;
	for (j = 0; j < set->prog[peer].nsteps; j++) {
		struct hcomm_step *t = &set->steps[peer][j];

		if (receives(t) && t->peer == r && t->msg == s->msg) {
			make_nop(set, peer, j);
			break;
		}
	}
	make_nop(set, r, i);
	/* a barrier may hear of a rank in another way */
	return set->args.coll == HCOMM_COLL_BARRIER ? PERHAPS : SURELY;
}

/* does @t write what @s reads? */
static bool overlap(const struct hcomm_step *s, const struct hcomm_step *t)
{
	return s->src_slot == t->dst_slot && s->src_off < t->dst_off + t->len &&
	       t->dst_off < s->src_off + s->len;
}

static enum effect drop_dep(struct set *set)
{
	uint32_t r, i, k, dep;
	struct hcomm_step *s = pick(set, &r, &i);
	enum effect e = PERHAPS;

	if (!s->dep_count)
		return NOTHING;
	k = rnd(s->dep_count);
	dep = HCOMM_DEP_INDEX(set->deps[r][s->dep_first + k]);
	/* it sends what that one made, and nothing else holds it back */
	if (s->op == HCOMM_STEP_SEND && receives(&set->steps[r][dep]) && s->len &&
	    s->dep_count == 1 && overlap(s, &set->steps[r][dep]))
		e = SURELY;
	remove_dep(set, r, i, k);
	return e;
}

static enum effect swap_offsets(struct set *set)
{
	uint32_t r, i, j, n;
	struct hcomm_step *s = pick(set, &r, &i), *t;
	uint64_t off;

	n = set->prog[r].nsteps;
	for (j = (i + 1) % n; j != i; j = (j + 1) % n) {
		t = &set->steps[r][j];
		if (t->op == s->op && t->len == s->len && t->src_slot == s->src_slot &&
		    t->dst_slot == s->dst_slot && s->op != HCOMM_STEP_NOP &&
		    (t->src_off != s->src_off || t->dst_off != s->dst_off)) {
			off = s->src_off;
			s->src_off = t->src_off;
			t->src_off = off;
			if (rnd(2)) {
				off = s->dst_off;
				s->dst_off = t->dst_off;
				t->dst_off = off;
			}
			return PERHAPS;
		}
	}
	return NOTHING;
}

static enum effect shift_offset(struct set *set)
{
	uint32_t r, i;
	struct hcomm_step *s = pick(set, &r, &i);
	__u64 *off = s->op != HCOMM_STEP_RECV && (s->op == HCOMM_STEP_SEND || rnd(2)) ?
			&s->src_off : &s->dst_off;

	if (!s->len)
		return NOTHING;
	if (*off && rnd(2))
		*off -= SIZE;
	else
		*off += SIZE;
	return PERHAPS;
}

static enum effect change_op(struct set *set)
{
	uint32_t r, i;
	struct hcomm_step *s = pick(set, &r, &i);

	if (s->op != HCOMM_STEP_RECV_REDUCE && s->op != HCOMM_STEP_REDUCE)
		return NOTHING;
	if (rnd(2))
		s->redop = (s->redop + 1) % HCOMM_OP_COUNT;
	else
		s->dtype = HCOMM_DT_INT32;
	return SURELY;
}

static enum effect lose_own(struct set *set)
{
	uint32_t r, i;
	struct hcomm_step *s = pick(set, &r, &i);

	if (s->op != HCOMM_STEP_RECV_REDUCE)
		return NOTHING;
	s->op = HCOMM_STEP_RECV;
	s->dtype = 0;
	s->redop = 0;
	s->src_slot = 0;
	s->src_off = 0;
	return SURELY;
}

/* reduce the first element of the input once more, after all else */
static enum effect repeat_contribution(struct set *set)
{
	uint32_t r = rnd(set->args.nranks), i;
	struct hcomm_check_prog *p = &set->prog[r];

	if (!slot_size(set, r, 0) || !slot_size(set, r, 1))
		return NOTHING;
	set->steps[r][p->nsteps] = (struct hcomm_step){
		.op = HCOMM_STEP_REDUCE, .dtype = set->args.dtype,
		.redop = set->args.redop, .dst_slot = 1, .len = SIZE,
		.dep_first = p->ndeps, .dep_count = p->nsteps,
	};
	for (i = 0; i < p->nsteps; i++)
		set->deps[r][p->ndeps++] = i;
	p->nsteps++;
	return SURELY;
}

static enum effect shrink_scratch(struct set *set)
{
	uint32_t r = rnd(set->args.nranks), i;
	uint64_t used = 0;

	for (i = 0; i < set->prog[r].nsteps; i++) {
		const struct hcomm_step *s = &set->steps[r][i];

		if (s->dst_slot == 2 && s->dst_off + s->len > used)
			used = s->dst_off + s->len;
	}
	if (!used)
		return NOTHING;
	set->prog[r].scratch_size = used - 1;
	return SURELY;
}

/* exchange two messages of a pair at one end */
static enum effect swap_messages(struct set *set)
{
	uint32_t r, i, j;
	struct hcomm_step *s = pick(set, &r, &i), *t;
	struct hcomm_step u;

	if (s->op != HCOMM_STEP_SEND || !s->len)
		return NOTHING;
	for (j = i + 1; j < set->prog[r].nsteps; j++) {
		t = &set->steps[r][j];
		if (t->op != HCOMM_STEP_SEND || t->peer != s->peer)
			continue;
		if (s->src_slot == t->src_slot && s->src_off == t->src_off)
			return NOTHING;
		u = *s;
		s->src_slot = t->src_slot;
		s->src_off = t->src_off;
		s->len = t->len;
		t->src_slot = u.src_slot;
		t->src_off = u.src_off;
		t->len = u.len;
		mend(set, r);
		return PERHAPS;
	}
	return NOTHING;
}

static enum effect wrong_peer(struct set *set)
{
	uint32_t r, i;
	struct hcomm_step *s = pick(set, &r, &i);

	if (!has_peer(s) || set->args.nranks < 3)
		return NOTHING;
	do {
		s->peer = (s->peer + 1) % set->args.nranks;
	} while (s->peer == r);
	mend(set, r);
	return SURELY;
}

#endif /* HCOMM_TEST_CHECK_DAMAGE_H */
