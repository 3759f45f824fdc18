// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "args.h"
#include "util.h"

/**
 * struct parsing - while argp is at work
 * @line: what the tool takes
 * @options: of the tool
 */
struct parsing {
	const struct command_line *line;
	void *options;
};

uint64_t number_arg(struct argp_state *state, const char *name, const char *text,
		    uint64_t min, uint64_t max)
{
	uint64_t value = 0;

	if (!parse_number(text, max, &value) || value < min)
		argp_error(state, "--%s %s: use a number from %llu to %llu", name, text,
			   (unsigned long long)min, (unsigned long long)max);
	return value;
}

static uint64_t size_arg(struct argp_state *state, const struct arg *arg, const char *text)
{
	char least[24], most[24], unit[24];
	uint64_t value = 0;
	bool ok = parse_size(text, &value) && value >= arg->min && value <= arg->max;

	if (arg->multiple && (!ok || value % arg->multiple))
		argp_error(state, "--%s %s: use a multiple of %s, from %s to %s", arg->name,
			   text, format_size(arg->multiple, unit),
			   format_size(arg->min, least), format_size(arg->max, most));
	if (!ok)
		argp_error(state, "--%s %s: use a size like 4096, 64K, 4M or 1G, from %s to %s",
			   arg->name, text, format_size(arg->min, least),
			   format_size(arg->max, most));
	return value;
}

void unknown_arg(struct argp_state *state, const char *text, const char *kind,
		 const char *const *known, size_t count)
{
	char list[400] = "";
	size_t len = 0, i;

	for (i = 0; i < count && len < sizeof(list); i++)
		len += (size_t)snprintf(list + len, sizeof(list) - len, "%s%s",
					i ? ", " : "", known[i]);
	argp_error(state, "'%s' is no %s; known are %s", text, kind, list);
}

static double real_arg(struct argp_state *state, const struct arg *arg, const char *text)
{
	char *end;
	double value = strtod(text, &end);

	if (end == text || *end || !(value >= 0 && value <= (double)arg->max))
		argp_error(state, "--%s %s: use a number from 0 to %llu", arg->name, text,
			   (unsigned long long)arg->max);
	return value;
}

static void take(struct argp_state *state, const struct arg *arg, const char *text,
		 void *options)
{
	void *member = (char *)options + arg->at;

	switch (arg->kind) {
	case ARGS_FLAG:
		*(bool *)member = true;
		break;
	case ARGS_TEXT:
		*(const char **)member = text;
		break;
	case ARGS_NUMBER:
		*(uint64_t *)member = number_arg(state, arg->name, text, arg->min, arg->max);
		break;
	case ARGS_SIZE:
		*(uint64_t *)member = size_arg(state, arg, text);
		break;
	case ARGS_REAL:
		*(double *)member = real_arg(state, arg, text);
		break;
	case ARGS_CALL:
		arg->call(state, text, options);
		break;
	case ARGS_TITLE:
		break;
	}
}

static error_t parse_one(int key, char *text, struct argp_state *state)
{
	const struct parsing *p = state->input;
	size_t i;

	if (key == ARGP_KEY_ARG && p->line->word && !state->arg_num) {
		p->line->word(state, text, p->options);
		return 0;
	}
	if (key == ARGP_KEY_ARG)
		argp_error(state, "'%s' is one argument too many", text);
	if (key == ARGP_KEY_END && p->line->end)
		p->line->end(state, NULL, p->options);
	for (i = 0; i < p->line->count; i++) {
		if (p->line->args[i].kind != ARGS_TITLE && p->line->args[i].key == key) {
			take(state, &p->line->args[i], text, p->options);
			return 0;
		}
	}
	return ARGP_ERR_UNKNOWN;
}

void parse_args(int argc, char **argv, const struct command_line *line, void *options)
{
	struct argp_option *table = calloc(line->count + 1, sizeof(*table));
	struct parsing parsing = { .line = line, .options = options };
	struct argp argp = {
		.options = table, .parser = parse_one, .args_doc = line->words,
		.doc = line->doc,
	};
	static char version[64];
	int group = 0;
	size_t i;

	if (!table)
		fatal("no memory");
	for (i = 0; i < line->count; i++) {
		const struct arg *arg = &line->args[i];

		if (arg->kind == ARGS_TITLE)
			group++;
		table[i] = (struct argp_option){
			.name = arg->name, .key = arg->key, .arg = arg->value,
			.flags = arg->optional ? OPTION_ARG_OPTIONAL : 0,
			.doc = arg->doc, .group = group,
		};
	}
	snprintf(version, sizeof(version), "%s (hcomm) 0.1", program_invocation_short_name);
	argp_program_version = version;
	argp_parse(&argp, argc, argv, 0, NULL, &parsing);
	free(table);
}
