// SPDX-License-Identifier: GPL-2.0-only
/*
 * What /sys/class/hcomm tells about the communicator under test.  The API does
 * not say which of the directories is ours: it is the one that has our rank and
 * size and was not there before.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../common/util.h"
#include "test.h"

#define CLASS		"/sys/class/hcomm"
#define MAX_COMMS	1024
#define LINE_BYTES	160
#define MAX_LINES	64

/**
 * struct comm_list - communicators of the node at one time
 * @count: how many
 * @names: "comm<N>"
 */
struct comm_list {
	unsigned int count;
	char names[MAX_COMMS][16];
};

static bool read_text(const char *dir, const char *name, char *out, size_t room)
{
	char path[512];
	FILE *file;
	bool ok;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	file = fopen(path, "re");
	if (!file)
		return false;
	ok = fgets(out, (int)room, file);
	fclose(file);
	if (ok)
		out[strcspn(out, "\n")] = 0;
	return ok;
}

static uint64_t read_u64(const char *dir, const char *name, uint64_t otherwise)
{
	char text[32];
	uint64_t value;

	if (!read_text(dir, name, text, sizeof(text)) ||
	    !parse_number(text, UINT64_MAX, &value))
		return otherwise;
	return value;
}

struct comm_list *facts_before(void)
{
	struct comm_list *list = must_malloc(sizeof(*list));
	DIR *dir = opendir(CLASS);
	struct dirent *entry;

	list->count = 0;
	if (!dir)
		return list;
	while ((entry = readdir(dir)) && list->count < MAX_COMMS) {
		if (strncmp(entry->d_name, "comm", 4) ||
		    strlen(entry->d_name) >= sizeof(list->names[0]))
			continue;
		strcpy(list->names[list->count++], entry->d_name);
	}
	closedir(dir);
	return list;
}

static bool is_listed(const struct comm_list *list, const char *name)
{
	unsigned int i;

	for (i = 0; i < list->count; i++) {
		if (!strcmp(list->names[i], name))
			return true;
	}
	return false;
}

void facts_find(struct facts *facts, struct comm_list *before, unsigned int rank,
		unsigned int size)
{
	struct comm_list *now = facts_before();
	char path[sizeof(facts->path)];
	unsigned int i;

	facts->path[0] = 0;
	for (i = 0; i < now->count; i++) {
		snprintf(path, sizeof(path), CLASS "/%s", now->names[i]);
		if (is_listed(before, now->names[i]) ||
		    read_u64(path, "rank", UINT64_MAX) != rank ||
		    read_u64(path, "size", UINT64_MAX) != size)
			continue;
		strcpy(facts->path, path);
	}
	free(before);
	free(now);
}

void facts_number(const struct facts *facts, const char *name, uint64_t *value)
{
	if (*facts->path)
		*value = read_u64(facts->path, name, *value);
}

static int by_peer(const struct dirent **a, const struct dirent **b)
{
	return strverscmp((*a)->d_name, (*b)->d_name);
}

static int is_link(const struct dirent *entry)
{
	return !strncmp(entry->d_name, "link", 4);
}

static void describe_link(const char *dir, unsigned int rank, char *line)
{
	char transport[32] = "?", device[64] = "", state[32] = "?", qp[32] = "";
	uint64_t rtt = read_u64(dir, "rtt_ns", 0);
	int len;

	read_text(dir, "transport", transport, sizeof(transport));
	read_text(dir, "device", device, sizeof(device));
	read_text(dir, "state", state, sizeof(state));
	read_text(dir, "qp_state", qp, sizeof(qp));
	len = snprintf(line, LINE_BYTES, "%4u -> %-4llu %-6s %-8.24s %-10s", rank,
		       (unsigned long long)read_u64(dir, "peer", 0), transport,
		       *device ? device : "-", state);
	snprintf(line + len, LINE_BYTES - (size_t)len,
		 " rtt %8.1f us  sent %11llu B  errors %llu  %.16s",
		 (double)rtt / 1000,
		 (unsigned long long)read_u64(dir, "tx_bytes", 0),
		 (unsigned long long)read_u64(dir, "errors", 0), qp);
}

/* fills up to MAX_LINES lines */
static void describe_links(const struct facts *facts, unsigned int rank,
			   char *lines)
{
	struct dirent **entries = NULL;
	char dir[512];
	int n, i;

	if (!*facts->path)
		return;
	n = scandir(facts->path, &entries, is_link, by_peer);
	for (i = 0; i < n; i++) {
		snprintf(dir, sizeof(dir), "%s/%.100s", facts->path,
			 entries[i]->d_name);
		if (i < MAX_LINES)
			describe_link(dir, rank, lines + i * LINE_BYTES);
		free(entries[i]);
	}
	free(entries);
}

void facts_print_links(const struct facts *facts, const struct test *t)
{
	unsigned int lines = t->size - 1 < MAX_LINES ? t->size - 1 : MAX_LINES;
	size_t block = (size_t)lines * LINE_BYTES, i;
	char *mine, *all;

	if (!lines)
		return;
	mine = must_malloc(MAX_LINES * LINE_BYTES);
	memset(mine, 0, MAX_LINES * LINE_BYTES);
	describe_links(facts, t->rank, mine);
	all = must_hcomm_malloc(block * t->size);
	must(hcommAllGather(mine, all, block, hcommUint8, COMM_WORLD),
	     "AllGather of the links");
	for (i = 0; !t->rank && i < (size_t)lines * t->size; i++) {
		if (all[i * LINE_BYTES])
			printf("link  %s\n", all + i * LINE_BYTES);
		else if (i % lines == 0)
			printf("link  rank %zu shows none in " CLASS "\n",
			       i / lines);
	}
	fflush(stdout);
	hcommFree(all);
	free(mine);
}
