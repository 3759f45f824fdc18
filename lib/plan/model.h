/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The cost model: what a message costs on each class of links, and what a byte
 * costs in memory.  Everything the planner predicts comes from these numbers, so
 * all ranks of a communicator must have the same: they compare hashes when it is
 * made.
 *
 * Arithmetic on them is limited to +, -, *, / and comparisons, and compiled
 * without contraction, so that equal numbers give equal decisions on every
 * machine.
 */
#ifndef HCOMM_PLAN_MODEL_H
#define HCOMM_PLAN_MODEL_H

#include <stddef.h>
#include <stdint.h>

/**
 * enum hcomm_link_class - how far apart two ranks are
 * @HCOMM_LINK_LOCAL: on one node
 * @HCOMM_LINK_NODE: on two nodes of one group
 * @HCOMM_LINK_GROUP: in two groups of nodes
 */
enum hcomm_link_class {
	HCOMM_LINK_LOCAL = 0,
	HCOMM_LINK_NODE = 1,
	HCOMM_LINK_GROUP = 2,
	HCOMM_LINK_CLASSES,
};

/**
 * struct hcomm_link_model - a class of links
 * @latency: seconds from a send to its arrival, of no bytes
 * @overhead: seconds of CPU time that each message costs its receiver
 * @bandwidth: bytes per second: LOCAL: of a copy out of the peer's memory; else:
 *	of a node's network adapter, shared by the ranks of the node
 */
struct hcomm_link_model {
	double latency;
	double overhead;
	double bandwidth;
};

/**
 * struct hcomm_model - the model
 * @link: by enum hcomm_link_class
 * @copy_rate: bytes per second that a rank copies in its own memory
 * @reduce_rate: bytes per second of operand that a rank reduces
 */
struct hcomm_model {
	struct hcomm_link_model link[HCOMM_LINK_CLASSES];
	double copy_rate;
	double reduce_rate;
};

/* the built-in model */
void hcomm_model_default(struct hcomm_model *model);

/* are all numbers there and sane? */
int hcomm_model_check(const struct hcomm_model *model);

/* of the bits of all numbers */
uint64_t hcomm_model_hash(const struct hcomm_model *model);

/**
 * hcomm_model_parse - read the text form
 * @text: lines "key = number"; # begins a comment
 * @model: in: values of keys that are not named; out: the rest
 * @why: out on error: what is wrong, and where
 * @room: size of @why
 *
 * Return: 0 or -EINVAL.
 */
int hcomm_model_parse(const char *text, struct hcomm_model *model, char *why,
		      size_t room);

/**
 * hcomm_model_load - read a file
 * @path: file, at most 64 KiB
 * @model: as hcomm_model_parse()
 * @why: out on error: what is wrong
 * @room: size of @why
 *
 * Return: 0 or a negative errno.
 */
int hcomm_model_load(const char *path, struct hcomm_model *model, char *why,
		     size_t room);

/* the text form; returns bytes needed, as snprintf() */
int hcomm_model_print(const struct hcomm_model *model, char *text, size_t room);

/**
 * struct hcomm_probe - a measured one-way time
 * @cls: enum hcomm_link_class
 * @bytes: size of the message
 * @seconds: half of the best round trip
 */
struct hcomm_probe {
	uint32_t cls;
	uint64_t bytes;
	double seconds;
};

/**
 * hcomm_model_fit - least squares
 * @model: in and out
 * @probes: measured times
 * @nprobes: how many
 *
 * A class with two or more sizes gets the line through its points that has the
 * smallest sum of squared relative errors: where it meets zero is latency and
 * overhead, in the proportion that they had, its slope the bandwidth.  One
 * size moves the former only.  A class without points scales with the one below
 * it.  Points that give a line that does not rise leave the bandwidth alone.
 *
 * Return: number of classes that were fitted.
 */
uint32_t hcomm_model_fit(struct hcomm_model *model,
			 const struct hcomm_probe *probes, size_t nprobes);

#endif /* HCOMM_PLAN_MODEL_H */
