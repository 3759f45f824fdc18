// SPDX-License-Identifier: LGPL-2.1-or-later
/* Loading and asking tuner plugins. */
#include <dlfcn.h>
#include <errno.h>
#include <hcomm/tuner.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "names.h"
#include "tuner.h"

/**
 * struct hcomm_tuner_plugin - a loaded plugin
 * @handle: of dlopen()
 * @ops: what it exports
 * @state: of the communicator
 * @opened: open() was called, or there is none and it began
 */
struct hcomm_tuner_plugin {
	void *handle;
	const struct hcommTuner *ops;
	void *state;
	bool opened;
};

/* who prints it names the file, too */
static const char *without_path(const char *text, const char *path)
{
	size_t len = strlen(path);

	return !strncmp(text, path, len) && !strncmp(text + len, ": ", 2) ?
	       text + len + 2 : text;
}

int hcomm_tuner_load(const char *path, struct hcomm_tuner_plugin **out, char *why,
		     size_t room)
{
	struct hcomm_tuner_plugin *p = calloc(1, sizeof(*p));
	int err = -ENOMEM;

	if (!p) {
		snprintf(why, room, "no memory");
		return err;
	}
	err = -ENOENT;
	p->handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!p->handle) {
		snprintf(why, room, "%s", without_path(dlerror(), path));
		goto fail;
	}
	p->ops = dlsym(p->handle, HCOMM_TUNER_SYMBOL);
	if (!p->ops) {
		snprintf(why, room, "it has no symbol %s", HCOMM_TUNER_SYMBOL);
		goto fail;
	}
	err = -EINVAL;
	if (p->ops->version != HCOMM_TUNER_VERSION) {
		snprintf(why, room, "it is for version %u of the interface, not %u",
			 p->ops->version, HCOMM_TUNER_VERSION);
		goto fail;
	}
	if (!p->ops->name || !p->ops->choose) {
		snprintf(why, room, "it lacks a name or choose()");
		goto fail;
	}
	*out = p;
	return 0;
fail:
	hcomm_tuner_close(p);
	return err;
}

int hcomm_tuner_open(struct hcomm_tuner_plugin *p, const struct hcomm_shape *shape,
		     const struct hcomm_limits *lim)
{
	struct hcommTunerComm comm = {
		.size = sizeof(comm),
		.nranks = shape->nranks,
		.nnodes = shape->nnodes,
		.ngroups = shape->ngroups,
		.max_local = shape->max_local,
		.chunk_size = lim->chunk_size,
		.eager_size = lim->eager_size,
	};
	int err = p->ops->open ? p->ops->open(&comm, &p->state) : 0;

	p->opened = !err;
	return err > 0 ? -err : err;
}

bool hcomm_tuner_ask(struct hcomm_tuner_plugin *p, const struct hcomm_shape *shape,
		     const struct hcomm_limits *lim,
		     const struct hcomm_call_shape *call,
		     struct hcomm_candidate *cand)
{
	struct hcommTunerCall ask = {
		.size = sizeof(ask),
		.coll = hcomm_coll_name(call->coll),
		.bytes = call->bytes,
		.element_size = call->esize,
	};
	struct hcommTunerChoice choice = { .size = sizeof(choice) };
	uint32_t last;
	int algo;

	if (shape->nranks < 2 || !p->opened ||
	    p->ops->choose(p->state, &ask, &choice) || !choice.algo)
		return false;
	algo = hcomm_algo_by_word(choice.algo, strlen(choice.algo), &last);
	if (algo < 0 || !hcomm_word_supports(algo, last, call->coll))
		return false;
	if (last != HCOMM_LAST_ANY)
		choice.radix = hcomm_last_radix(last);
	*cand = (struct hcomm_candidate){
		.algo = (uint32_t)algo,
		.grain = choice.grain ? choice.grain : lim->chunk_size,
		.channels = choice.channels ? choice.channels : 1,
		.radix = choice.radix,
	};
	return true;
}

uint64_t hcomm_tuner_hash(const struct hcomm_tuner_plugin *p)
{
	uint64_t hash = 14695981039346656037ull ^ p->ops->revision;
	const char *c;

	for (c = p->ops->name; *c; c++)
		hash = (hash ^ (unsigned char)*c) * 1099511628211ull;
	return hash;
}

const char *hcomm_tuner_name(const struct hcomm_tuner_plugin *p)
{
	return p->ops->name;
}

void hcomm_tuner_close(struct hcomm_tuner_plugin *p)
{
	if (!p)
		return;
	if (p->opened && p->ops->close)
		p->ops->close(p->state);
	if (p->handle)
		dlclose(p->handle);
	free(p);
}
