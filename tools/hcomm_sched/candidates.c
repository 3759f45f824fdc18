// SPDX-License-Identifier: GPL-2.0-only
/* Why a schedule won: the candidates with their predicted and simulated times. */
#include <string.h>

#include "../common/util.h"
#include "sched.h"
#include "simulate.h"

static const char *protocol(const struct job *job, const struct hcomm_decision *d)
{
	if (d->largest <= job->planner.lim.eager_size)
		return "eager";
	return job->planner.shape.nnodes > 1 ? "write" : "direct";
}

static double simulated(const struct job *job, const struct hcomm_decision *d)
{
	struct hcomm_sched_args args = job->args;
	struct sim_result result;

	hcomm_decision_apply(d, &args);
	if (simulate(&args, &job->planner.model, &job->planner.lim,
		     (uint32_t)job->per_node, &result))
		return -1;
	return result.seconds;
}

static void print_one(const struct job *job, const struct hcomm_decision *d,
		      const char *mark, bool with_sim)
{
	char grain[24], largest[24], word[64];
	double time;

	printf("%s %-19s %7s %8u %5u %8s %-6s %12.2f", mark,
	       hcomm_algo_word(d->cand.algo, job->args.coll, d->cand.radix, word, sizeof(word)),
	       format_size(d->cand.grain, grain),
	       d->cand.channels, d->cand.radix, format_size(d->largest, largest),
	       protocol(job, d), d->seconds * 1e6);
	if (with_sim) {
		time = simulated(job, d);
		if (time >= 0)
			printf(" %12.2f", time * 1e6);
	}
	printf("\n");
}

void none_can(const struct job *job, const char *who)
{
	struct hcomm_sched_args args = job->args;
	const char *coll = hcomm_coll_name(args.coll);
	char known[512] = "";
	size_t len = 0;

	for (args.algo = HCOMM_ALGO_NONE + 1; args.algo < HCOMM_ALGO_COUNT; args.algo++) {
		if (!hcomm_sched_check(&args) && len < sizeof(known))
			len += (size_t)snprintf(known + len, sizeof(known) - len, "%s%s",
						len ? ", " : "", hcomm_algo_name(args.algo));
	}
	if (!len)
		fatal("%s of so many elements on so many ranks is too large", coll);
	fatal("%s%s can't be done by %s; it can be by %s", coll,
	      args.fixed_order ? " in fixed order" : "", who, known);
}

void print_candidates(const struct job *job, const struct hcomm_decision *chosen,
		      uint64_t count)
{
	struct hcomm_decision list[HCOMM_MAX_CANDIDATES];
	char word[64];
	uint32_t n, i;

	n = hcomm_planner_candidates(&job->planner, &job->args, list);
	printf("candidates, cheapest first (times in us)\n");
	printf("  %-19s %7s %8s %5s %8s %-6s %12s%s\n", "algorithm", "grain",
	       "channels", "radix", "message", "by", "predicted",
	       count ? "    simulated" : "");
	for (i = 0; i < n; i++)
		print_one(job, &list[i],
			  memcmp(&list[i].cand, &chosen->cand, sizeof(chosen->cand)) ?
			  " " : "*", i < count);
	printf("chosen: %s, because of the %s\n",
	       hcomm_algo_word(chosen->cand.algo, job->args.coll, chosen->cand.radix, word,
			       sizeof(word)),
	       hcomm_reason_text(chosen->why));
}

void print_simulation(const struct job *job)
{
	struct sim_result r;

	if (simulate(&job->args, &job->planner.model, &job->planner.lim,
		     (uint32_t)job->per_node, &r))
		fatal("it can't be planned");
	printf("simulated: %.2f us, %llu messages, %llu writes, %llu bytes of payload\n",
	       r.seconds * 1e6, (unsigned long long)r.messages,
	       (unsigned long long)r.writes, (unsigned long long)r.bytes);
}
