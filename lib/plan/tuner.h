/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The library's side of tuner plugins, see hcomm/tuner.h. */
#ifndef HCOMM_PLAN_TUNER_H
#define HCOMM_PLAN_TUNER_H

#include "predict.h"

struct hcomm_tuner_plugin;

/**
 * hcomm_tuner_load - load a plugin
 * @path: shared object
 * @out: out: to be given to hcomm_tuner_close()
 * @why: out on error: what is wrong
 * @room: size of @why
 *
 * Return: 0, -ENOENT (no such object or symbol), -EINVAL (another version, or
 * members are missing), -ENOMEM.
 */
int hcomm_tuner_load(const char *path, struct hcomm_tuner_plugin **out, char *why,
		     size_t room);

/* a communicator begins: 0 or a negative errno */
int hcomm_tuner_open(struct hcomm_tuner_plugin *plugin,
		     const struct hcomm_shape *shape,
		     const struct hcomm_limits *lim);

/* ask; false: no opinion, or one that names no algorithm */
bool hcomm_tuner_ask(struct hcomm_tuner_plugin *plugin,
		     const struct hcomm_shape *shape,
		     const struct hcomm_limits *lim,
		     const struct hcomm_call_shape *call,
		     struct hcomm_candidate *cand);

/* of its name and revision */
uint64_t hcomm_tuner_hash(const struct hcomm_tuner_plugin *plugin);

const char *hcomm_tuner_name(const struct hcomm_tuner_plugin *plugin);

/* the communicator ends; NULL is ignored */
void hcomm_tuner_close(struct hcomm_tuner_plugin *plugin);

#endif /* HCOMM_PLAN_TUNER_H */
