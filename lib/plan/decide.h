/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The decision: which schedule a call gets.
 *
 * It depends only on what is equal on all ranks: the call, the shape, the options,
 * the policy and the model (compared by hash when the communicator is made), and
 * the corrections that the ranks agreed on since.  So all ranks decide alike
 * without talking.  First that applies:
 *
 *  1. the table of sizes
 *  2. a tuner plugin, if the policy allows what it says
 *  3. the cheapest candidate by the model, of those that the policy allows;
 *     measured times correct the model where there are any
 */
#ifndef HCOMM_PLAN_DECIDE_H
#define HCOMM_PLAN_DECIDE_H

#include "policy.h"
#include "predict.h"
#include "tuner.h"

#define HCOMM_SIZE_BUCKETS	48u	/* powers of two of bytes */
#define HCOMM_MAX_CANDIDATES	96u

/**
 * enum hcomm_reason - why a decision is what it is
 * @HCOMM_WHY_TABLE: the table of sizes says so
 * @HCOMM_WHY_TUNER: the plugin says so
 * @HCOMM_WHY_MODEL: it is predicted to be fastest
 * @HCOMM_WHY_MEASURED: it was measured to be fastest
 * @HCOMM_WHY_TRIAL: it is being measured
 */
enum hcomm_reason {
	HCOMM_WHY_TABLE,
	HCOMM_WHY_TUNER,
	HCOMM_WHY_MODEL,
	HCOMM_WHY_MEASURED,
	HCOMM_WHY_TRIAL,
};

/**
 * struct hcomm_decision - a decision, or a candidate for one
 * @cand: how
 * @seconds: predicted, corrected; negative: not predicted
 * @largest: bytes of the largest message
 * @why: enum hcomm_reason
 */
struct hcomm_decision {
	struct hcomm_candidate cand;
	double seconds;
	uint64_t largest;
	uint32_t why;
};

/**
 * struct hcomm_planner - everything a decision depends on but the call
 * @model: cost model
 * @shape: communicator
 * @lim: options
 * @policy: wishes of the user
 * @tuner: plugin, NULL: none
 * @scale: by collective, algorithm, size: measured over predicted time, 0: not
 *	measured; NULL: nothing is.  Owned.
 */
struct hcomm_planner {
	struct hcomm_model model;
	struct hcomm_shape shape;
	struct hcomm_limits lim;
	struct hcomm_policy policy;
	struct hcomm_tuner_plugin *tuner;
	float *scale;
};

/* the call's size as formulas and tables see it; V forms: what all ranks know */
void hcomm_call_shape(const struct hcomm_sched_args *args,
		      struct hcomm_call_shape *call);

/**
 * hcomm_planner_candidates - all ways to do a call, cheapest first
 * @planner: planner
 * @args: the call; algo, chunk_size, channels and radix are not looked at
 * @out: out: HCOMM_MAX_CANDIDATES decisions
 *
 * Return: how many; 0: nothing does it (as the policy is).
 */
uint32_t hcomm_planner_candidates(const struct hcomm_planner *planner,
				  const struct hcomm_sched_args *args,
				  struct hcomm_decision *out);

/**
 * hcomm_planner_decide - choose
 * @planner: planner
 * @args: the call
 * @out: out: decision
 *
 * Return: 0; -EOPNOTSUPP: no algorithm that is allowed does this call.
 */
int hcomm_planner_decide(const struct hcomm_planner *planner,
			 const struct hcomm_sched_args *args,
			 struct hcomm_decision *out);

/* fill in what a decision says about how to build */
void hcomm_decision_apply(const struct hcomm_decision *decision,
			  struct hcomm_sched_args *args);

/* identity of a decision among all of a call, never 0 */
uint32_t hcomm_candidate_id(const struct hcomm_candidate *cand);

/**
 * hcomm_planner_measured - a candidate took so long: correct the model
 * @planner: planner
 * @args: the call
 * @cand: how it was done
 * @seconds: agreed among all ranks
 *
 * Holds for sizes of the same power of two.  Return: 0 or -ENOMEM.
 */
int hcomm_planner_measured(struct hcomm_planner *planner,
			   const struct hcomm_sched_args *args,
			   const struct hcomm_candidate *cand, double seconds);

/* what a planner owns; not the planner itself */
void hcomm_planner_exit(struct hcomm_planner *planner);

/* "table", "tuner", "model", ... */
const char *hcomm_reason_text(uint32_t why);

#endif /* HCOMM_PLAN_DECIDE_H */
