// SPDX-License-Identifier: LGPL-2.1-or-later
/* What the planner is told: by the caller, by the environment. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/base.h"
#include "../env/env.h"
#include "options.h"

#define MIN_EAGER_SIZE	64u

/**
 * struct wish - a text, and where it comes from
 * @text: NULL: nothing was asked for
 * @name: of the variable or the field
 * @error: code of a bad one
 */
struct wish {
	const char *text;
	const char *name;
	hcommResult_t error;
};

/* the environment has the last word */
static struct wish find(const char *variable, const char *field, const char *given)
{
	const char *text = getenv(variable);

	if (text)
		return (struct wish){ text, variable, HCOMM_ERR_ENVIRONMENT };
	return (struct wish){ given, field, HCOMM_ERR_INVALID_ARGUMENT };
}

static hcommResult_t bad(const struct wish *w, const char *why)
{
	return hcomm_fail(w->error, "%s=%s: %s", w->name, w->text, why);
}

static hcommResult_t read_flag(const char *variable, const char *field,
			       uint32_t given, uint32_t *out)
{
	uint64_t value = given;
	hcommResult_t ret;

	if (given > 1)
		return hcomm_fail(HCOMM_ERR_INVALID_ARGUMENT, "%s is %u, must be 0 or 1",
				  field, given);
	ret = hcomm_env_number(variable, 0, 1, &value);
	*out = (uint32_t)value;
	return ret;
}

/* messages that are to be written are not eager, and the reverse */
static void apply_proto(const hcommConfig_t *c, struct hcomm_options *o)
{
	if (getenv("HCOMM_EAGER_SIZE") || (c && c->eagerSize))
		return;
	if (o->policy.proto == HCOMM_PROTO_WRITE)
		o->eager_size = MIN_EAGER_SIZE;
	if (o->policy.proto == HCOMM_PROTO_EAGER)
		o->eager_size = o->chunk_size < HCOMM_MAX_EAGER_SIZE ?
				o->chunk_size : HCOMM_MAX_EAGER_SIZE;
}

static hcommResult_t read_policy(const hcommConfig_t *c, struct hcomm_options *o)
{
	struct wish algo = find("HCOMM_ALGO", "algo", c ? c->algo : NULL);
	struct wish table = find("HCOMM_ALGO_TABLE", "algoTable", c ? c->algoTable : NULL);
	struct wish proto = find("HCOMM_PROTO", "proto", c ? c->proto : NULL);
	char why[700];

	if (algo.text && hcomm_policy_algo(&o->policy, algo.text, why, sizeof(why)))
		return bad(&algo, why);
	if (table.text && hcomm_policy_table(&o->policy, table.text, why, sizeof(why)))
		return bad(&table, why);
	if (proto.text && hcomm_policy_proto(&o->policy, proto.text, why, sizeof(why)))
		return bad(&proto, why);
	snprintf(o->algo_text, sizeof(o->algo_text), "%s", algo.text ? algo.text : "");
	apply_proto(c, o);
	return HCOMM_SUCCESS;
}

hcommResult_t hcomm_options_plan(const hcommConfig_t *c, struct hcomm_options *o)
{
	struct wish model = find("HCOMM_MODEL", "model", c ? c->model : NULL);
	struct wish tuner = find("HCOMM_TUNER", "tuner", c ? c->tuner : NULL);
	uint64_t group = 0;
	hcommResult_t ret;
	char why[700];

	hcomm_model_default(&o->model);
	if (model.text && hcomm_model_load(model.text, &o->model, why, sizeof(why)))
		return bad(&model, why);
	if (tuner.text && !*tuner.text)
		return bad(&tuner, "use the path of a shared object");
	o->tuner = tuner.text;
	ret = read_policy(c, o);
	if (!ret)
		ret = hcomm_env_number("HCOMM_GROUP", 0, UINT32_MAX, &group);
	if (!ret)
		ret = read_flag("HCOMM_PROBE", "probe", c ? c->probe : 0, &o->probe);
	if (!ret)
		ret = read_flag("HCOMM_TUNE", "tune", c ? c->tune : 0, &o->tune);
	o->group = (uint32_t)group;
	return ret;
}
