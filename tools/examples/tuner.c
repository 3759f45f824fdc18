// SPDX-License-Identifier: GPL-2.0-only
/*
 * A tuner plugin, to be copied: small sums by recursive doubling, large ones by
 * ring; for everything else the library decides.
 *
 *	cc -shared -fPIC tuner.c -o tuner.so
 *	HCOMM_TUNER=$PWD/tuner.so ./program
 */
#include <errno.h>
#include <hcomm/tuner.h>
#include <stdlib.h>
#include <string.h>

/* what the plugin keeps for a communicator */
struct state {
	uint64_t limit;
};

static int tuner_open(const struct hcommTunerComm *comm, void **out)
{
	struct state *state = malloc(sizeof(*state));

	if (!state)
		return ENOMEM;
	/* from there on bandwidth counts more than latency */
	state->limit = 4096ull * comm->nranks;
	*out = state;
	return 0;
}

static int tuner_choose(void *opaque, const struct hcommTunerCall *call,
			struct hcommTunerChoice *choice)
{
	const struct state *state = opaque;

	if (strcmp(call->coll, "allreduce"))
		return 1;	/* no opinion */
	choice->algo = call->bytes < state->limit ? "rd" : "ring";
	/* two messages at a time per neighbour */
	choice->channels = call->bytes < state->limit ? 1 : 2;
	return 0;
}

static void tuner_close(void *state)
{
	free(state);
}

const struct hcommTuner hcommTunerPlugin = {
	.version = HCOMM_TUNER_VERSION,
	.revision = 1,
	.name = "example",
	.open = tuner_open,
	.choose = tuner_choose,
	.close = tuner_close,
};
