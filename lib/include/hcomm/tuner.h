/* SPDX-License-Identifier: MIT */
/*
 * hcomm: tuner plugins - decide how collectives are done
 *
 * HCOMM_TUNER=/path/to/plugin.so names a shared object that exports
 *
 *	const struct hcommTuner hcommTunerPlugin;
 *
 * The library asks it once for each kind of call and remembers the answer.  All
 * ranks must load the same plugin (they compare its name and version), and it must
 * give the same answer to the same question on all ranks, or the call ends in
 * HCOMM_ERR_MISMATCH.  Functions may be called by several threads, for different
 * communicators.
 */
#ifndef HCOMM_TUNER_H
#define HCOMM_TUNER_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HCOMM_TUNER_VERSION	1u
#define HCOMM_TUNER_SYMBOL	"hcommTunerPlugin"

/**
 * struct hcommTunerComm - a communicator
 * @size: sizeof(struct hcommTunerComm), may grow
 * @nranks: ranks
 * @nnodes: nodes
 * @ngroups: groups of nodes
 * @max_local: ranks of the node with the most
 * @chunk_size: bytes of a chunk
 * @eager_size: messages up to it are sent eagerly
 */
struct hcommTunerComm {
	size_t size;
	uint32_t nranks;
	uint32_t nnodes;
	uint32_t ngroups;
	uint32_t max_local;
	uint32_t chunk_size;
	uint32_t eager_size;
};

/**
 * struct hcommTunerCall - a kind of call
 * @size: sizeof(struct hcommTunerCall), may grow
 * @coll: name of the collective: "allreduce", "broadcast", ...
 * @bytes: of the whole vector (allreduce, broadcast, reduce, scan, exscan), of
 *	one rank's block (all others)
 * @element_size: bytes of an element
 */
struct hcommTunerCall {
	size_t size;
	const char *coll;
	uint64_t bytes;
	uint32_t element_size;
	uint32_t reserved;
};

/**
 * struct hcommTunerChoice - the answer
 * @size: sizeof(struct hcommTunerChoice), may grow
 * @algo: name of an algorithm as HCOMM_ALGO knows it, or hierarchical/ALGORITHM; NULL: no
 *	opinion, and so are a name that is not known, an algorithm that can't do the
 *	call or that HCOMM_ALGO excludes, and numbers out of their range.  It must stay
 *	valid until the next call of the same thread
 * @grain: bytes of a slice, 0: the chunk size
 * @channels: 1 to 64, 0: 1
 * @radix: of trees that have one, 2 to 64, 0: their default
 */
struct hcommTunerChoice {
	size_t size;
	const char *algo;
	uint32_t grain;
	uint32_t channels;
	uint32_t radix;
	uint32_t reserved;
};

/**
 * struct hcommTuner - a plugin
 * @version: HCOMM_TUNER_VERSION
 * @name: of the plugin, for comparison between ranks and for messages
 * @revision: of the plugin, for comparison between ranks
 * @open: optional: a communicator begins; *@state is given to the others.  0 or
 *	an errno, which ends the creation of the communicator
 * @choose: fill in @choice; returning anything but 0 is no opinion
 * @close: optional: the communicator ends
 */
struct hcommTuner {
	uint32_t version;
	uint32_t revision;
	const char *name;
	int (*open)(const struct hcommTunerComm *comm, void **state);
	int (*choose)(void *state, const struct hcommTunerCall *call,
		      struct hcommTunerChoice *choice);
	void (*close)(void *state);
};

#ifdef __cplusplus
}
#endif

#endif /* HCOMM_TUNER_H */
