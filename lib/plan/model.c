// SPDX-License-Identifier: LGPL-2.1-or-later
/* The cost model: built-in numbers, text form, files. */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model.h"

#define MAX_FILE	65536

/*
 * A kernel engine on one node and over RDMA.  What follows from them is what was
 * measured with this engine: two ranks of a node are best with direct to about
 * 32 KiB, with ring above; more ranks with recursive doubling to about 32 KiB.
 */
void hcomm_model_default(struct hcomm_model *model)
{
	*model = (struct hcomm_model){
		.link = {
			[HCOMM_LINK_LOCAL] = { 3e-6, 3e-6, 8e9 },
			[HCOMM_LINK_NODE] = { 5e-6, 3e-6, 10e9 },
			[HCOMM_LINK_GROUP] = { 8e-6, 3e-6, 5e9 },
		},
		.copy_rate = 8e9,
		.reduce_rate = 2e9,
	};
}

/* every number of the model, in the order of the file */
static const struct key {
	const char *name;
	size_t offset;
} keys[] = {
#define LINK(n, c) \
	{ n ".latency", offsetof(struct hcomm_model, link[c].latency) }, \
	{ n ".overhead", offsetof(struct hcomm_model, link[c].overhead) }, \
	{ n ".bandwidth", offsetof(struct hcomm_model, link[c].bandwidth) }
	LINK("local", HCOMM_LINK_LOCAL),
	LINK("node", HCOMM_LINK_NODE),
	LINK("group", HCOMM_LINK_GROUP),
	{ "copy_rate", offsetof(struct hcomm_model, copy_rate) },
	{ "reduce_rate", offsetof(struct hcomm_model, reduce_rate) },
#undef LINK
};

#define NKEYS	(sizeof(keys) / sizeof(keys[0]))

static double *number(struct hcomm_model *model, size_t i)
{
	return (double *)((char *)model + keys[i].offset);
}

/* times: 0 to 1000 s; rates: 1 B/s to 1 EB/s */
static int sane(size_t i, double value)
{
	const char *dot = strchr(keys[i].name, '.');

	if (!isfinite(value))
		return 0;
	if (dot && strcmp(dot, ".bandwidth"))
		return value >= 0 && value <= 1000;
	return value >= 1 && value <= 1e18;
}

int hcomm_model_check(const struct hcomm_model *model)
{
	struct hcomm_model copy = *model;
	size_t i;

	for (i = 0; i < NKEYS; i++) {
		if (!sane(i, *number(&copy, i)))
			return -EINVAL;
	}
	return 0;
}

uint64_t hcomm_model_hash(const struct hcomm_model *model)
{
	struct hcomm_model copy = *model;
	uint64_t hash = 14695981039346656037ull;
	unsigned char bytes[sizeof(double)];
	size_t i, j;

	for (i = 0; i < NKEYS; i++) {
		memcpy(bytes, number(&copy, i), sizeof(bytes));
		for (j = 0; j < sizeof(bytes); j++)
			hash = (hash ^ bytes[j]) * 1099511628211ull;
	}
	return hash;
}

static void known_keys(char *text, size_t room)
{
	size_t len = 0, i;

	for (i = 0; i < NKEYS && len < room; i++)
		len += (size_t)snprintf(text + len, room - len, "%s%s",
					i ? ", " : "", keys[i].name);
}

/* one line without comment and outer space */
static int parse_line(const char *line, struct hcomm_model *model, char *why,
		      size_t room)
{
	const char *eq = strchr(line, '=');
	size_t len = eq ? (size_t)(eq - line) : 0, i;
	char names[400], *end;
	double value;

	while (len && isspace((unsigned char)line[len - 1]))
		len--;
	if (!len) {
		snprintf(why, room, "\"%s\": use key = number", line);
		return -EINVAL;
	}
	for (i = 0; i < NKEYS; i++) {
		if (strlen(keys[i].name) == len && !memcmp(keys[i].name, line, len))
			break;
	}
	if (i == NKEYS) {
		known_keys(names, sizeof(names));
		snprintf(why, room, "\"%.*s\" is not known; known are %s",
			 (int)len, line, names);
		return -EINVAL;
	}
	value = strtod(eq + 1, &end);
	while (isspace((unsigned char)*end))
		end++;
	if (end == eq + 1 || *end || !sane(i, value)) {
		snprintf(why, room,
			 "%s = %s: use seconds from 0 to 1000 for latency and overhead, bytes per second from 1 for rates",
			 keys[i].name, eq + 1);
		return -EINVAL;
	}
	*number(model, i) = value;
	return 0;
}

int hcomm_model_parse(const char *text, struct hcomm_model *model, char *why,
		      size_t room)
{
	unsigned int at = 1;
	char line[200], what[600];
	const char *end;
	size_t len;

	for (; *text; text = *end ? end + 1 : end, at++) {
		end = text + strcspn(text, "\n");
		len = strcspn(text, "#\n");
		while (len && isspace((unsigned char)*text)) {
			text++;
			len--;
		}
		while (len && isspace((unsigned char)text[len - 1]))
			len--;
		if (!len)
			continue;
		if (len >= sizeof(line)) {
			snprintf(why, room, "line %u is too long", at);
			return -EINVAL;
		}
		memcpy(line, text, len);
		line[len] = 0;
		if (parse_line(line, model, what, sizeof(what))) {
			snprintf(why, room, "line %u: %s", at, what);
			return -EINVAL;
		}
	}
	return 0;
}

int hcomm_model_load(const char *path, struct hcomm_model *model, char *why,
		     size_t room)
{
	FILE *f = fopen(path, "re");
	int err = 0;
	size_t len;
	char *text;

	if (!f) {
		err = -errno;
		snprintf(why, room, "%s", strerror(-err));
		return err;
	}
	text = malloc(MAX_FILE + 1);
	if (!text) {
		snprintf(why, room, "no memory");
		err = -ENOMEM;
		goto out;
	}
	len = fread(text, 1, MAX_FILE + 1, f);
	if (ferror(f) || len > MAX_FILE || memchr(text, 0, len)) {
		snprintf(why, room, "no text of up to %d bytes", MAX_FILE);
		err = -EINVAL;
		goto out;
	}
	text[len] = 0;
	if (!strchr(text, '=')) {
		snprintf(why, room, "no value in it");
		err = -EINVAL;
		goto out;
	}
	err = hcomm_model_parse(text, model, why, room);
out:
	free(text);
	fclose(f);
	return err;
}

/* with as few digits as it takes to read the same bits back */
static int format(char *text, size_t room, const char *name, double value)
{
	char digits[32];
	int n;

	for (n = 6; n <= 17; n++) {
		snprintf(digits, sizeof(digits), "%.*g", n, value);
		if (!(strtod(digits, NULL) < value || strtod(digits, NULL) > value))
			break;
	}
	return snprintf(text, room, "%s = %s\n", name, digits);
}

int hcomm_model_print(const struct hcomm_model *model, char *text, size_t room)
{
	struct hcomm_model copy = *model;
	size_t i, len = 0;
	int n;

	for (i = 0; i < NKEYS; i++) {
		n = format(len < room ? text + len : NULL, len < room ? room - len : 0,
			   keys[i].name, *number(&copy, i));
		if (n < 0)
			return n;
		len += (size_t)n;
	}
	return (int)len;
}
