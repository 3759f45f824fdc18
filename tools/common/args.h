/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The command line of a tool: a table says which options there are and which member
 * of its struct options each of them sets.
 */
#ifndef HCOMM_TOOLS_ARGS_H
#define HCOMM_TOOLS_ARGS_H

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* most ranks that a tool starts by itself */
#define MAX_LOCAL_RANKS	1024

enum arg_kind { ARGS_TITLE, ARGS_FLAG, ARGS_TEXT, ARGS_NUMBER, ARGS_SIZE, ARGS_REAL, ARGS_CALL };

/* What an option does that is more than a value; argp_error() for what is wrong. */
typedef void arg_call(struct argp_state *state, const char *text, void *options);

/**
 * struct arg - an option
 * @kind: what it sets: a bool, a const char *, an uint64_t (number or size), a double
 *	from 0 to @max, or what @call does
 * @key: its letter, or a number above 255
 * @name: its long name
 * @value: what the help calls its value
 * @doc: help
 * @at: offset of the member
 * @min: least value
 * @max: largest value
 * @multiple: of a size: what divides it, or 0
 * @call: for ARGS_CALL
 * @optional: the value may be missing; @call gets NULL then
 */
struct arg {
	enum arg_kind kind;
	int key;
	const char *name, *value, *doc;
	size_t at;
	uint64_t min, max, multiple;
	arg_call *call;
	bool optional;
};

#define ARG_FLAG(key, name, member, doc)				\
	{ .kind = ARGS_FLAG, key, name, NULL, doc, .at = offsetof(struct options, member) }
#define ARG_TEXT(key, name, value, member, doc)				\
	{ .kind = ARGS_TEXT, key, name, value, doc, .at = offsetof(struct options, member) }
#define ARG_NUMBER(key, name, value, member, least, most, doc)		\
	{ .kind = ARGS_NUMBER, key, name, value, doc, .min = least, .max = most, \
	  .at = offsetof(struct options, member) }
#define ARG_SIZE(key, name, member, least, most, doc)			\
	{ .kind = ARGS_SIZE, key, name, "SIZE", doc, .min = least, .max = most, \
	  .at = offsetof(struct options, member) }
#define ARG_MULTIPLE(key, name, member, step, most, doc)			\
	{ .kind = ARGS_SIZE, key, name, "SIZE", doc, .min = step, .max = most, \
	  .multiple = step, .at = offsetof(struct options, member) }
#define ARG_REAL(key, name, value, member, most, doc)			\
	{ .kind = ARGS_REAL, key, name, value, doc, .max = most,	\
	  .at = offsetof(struct options, member) }
#define ARG_CALL(key, name, value, function, doc)			\
	{ .kind = ARGS_CALL, key, name, value, doc, .call = function }
/* a heading of the help; what follows belongs to it */
#define ARG_TITLE(doc)	{ .kind = ARGS_TITLE, 0, NULL, NULL, doc }

/* what nearly all have */
#define ARG_JSON(key)							\
	ARG_TEXT(key, "json", "FILE", json, "Write the results there, too")
#define ARG_LOCAL(key)							\
	ARG_NUMBER(key, "local", "RANKS", local, 1, MAX_LOCAL_RANKS,	\
		   "Without a launcher: start so many ranks on this node (default: 2)")

/**
 * struct command_line - what a tool takes
 * @args: its options
 * @count: how many
 * @doc: what it is for; after a \v, what comes behind the options
 * @words: what the help calls the argument that is no option, or NULL
 * @word: takes it
 * @end: looks at all together, or NULL; its text is NULL
 */
struct command_line {
	const struct arg *args;
	size_t count;
	const char *doc;
	const char *words;
	arg_call *word;
	arg_call *end;
};

/* Fills @options, or ends the process with what is wrong. */
void parse_args(int argc, char **argv, const struct command_line *line, void *options);

/* for an arg_call: a number, or a usage error */
uint64_t number_arg(struct argp_state *state, const char *name, const char *text,
		    uint64_t min, uint64_t max);

/* the same for a word that is none of those known */
void unknown_arg(struct argp_state *state, const char *text, const char *kind,
		 const char *const *known, size_t count);

#endif /* HCOMM_TOOLS_ARGS_H */
