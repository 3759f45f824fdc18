/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The planner of a communicator: made when the ranks know each other, asked by
 * each call, remembering its answers.
 */
#ifndef HCOMM_CHOOSE_H
#define HCOMM_CHOOSE_H

#include <hcomm/hcomm.h>
#include <hcomm/sched.h>

#include "../plan/decide.h"

struct hcomm_card;
struct hcomm_comm;

#define HCOMM_CHOICES	256u	/* a power of two */

/**
 * struct hcomm_choice - a decision that was made
 * @coll: enum hcomm_coll, 0: the entry is free
 * @form: V form and fixed order, as bits
 * @esize: bytes of an element
 * @bytes: see struct hcomm_call_shape
 * @decision: the answer
 */
struct hcomm_choice {
	uint32_t coll;
	uint32_t form;
	uint32_t esize;
	uint64_t bytes;
	struct hcomm_decision decision;
};

/**
 * struct hcomm_chooser - planner, nodes and answers
 * @planner: planner
 * @topo: nodes of the ranks, owned
 * @node: by rank: number of its node, owned
 * @group: by rank: number of its group of nodes, owned
 * @choices: answers by hash; a younger one takes the place of an older one.  An
 *	answer does not depend on whether it was found here: it is what the planner
 *	would say again
 * @decided: times that the planner was asked
 */
struct hcomm_chooser {
	struct hcomm_planner planner;
	struct hcomm_sched_topo *topo;
	uint32_t *node;
	uint32_t *group;
	struct hcomm_choice choices[HCOMM_CHOICES];
	uint64_t decided;
};

/**
 * hcomm_choose_init - make the planner of a communicator
 * @comm: communicator, not yet in use
 * @cards: of all ranks
 */
hcommResult_t hcomm_choose_init(struct hcomm_comm *comm,
				const struct hcomm_card *cards);
void hcomm_choose_exit(struct hcomm_comm *comm);

/**
 * hcomm_choose - how is a call to be done?
 * @comm: communicator, locked
 * @args: the call; algo and what goes with it is not looked at
 * @out: out: decision
 */
hcommResult_t hcomm_choose(struct hcomm_comm *comm,
			   const struct hcomm_sched_args *args,
			   struct hcomm_decision *out);

/* the same without what was measured since; for calls that are planned ahead */
hcommResult_t hcomm_choose_lasting(struct hcomm_comm *comm,
				   const struct hcomm_sched_args *args,
				   struct hcomm_decision *out);

/* what was decided is decided again: the model has changed; comm locked */
void hcomm_choose_again(struct hcomm_comm *comm);

#endif /* HCOMM_CHOOSE_H */
