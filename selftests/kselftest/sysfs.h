/* SPDX-License-Identifier: GPL-2.0-only */
/* What sysfs says of the communicators of a test. */
#ifndef HCOMM_SELFTEST_SYSFS_H
#define HCOMM_SELFTEST_SYSFS_H

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include "util.h"

#define CLASS "/sys/class/hcomm"

/* The value without its newline; -errno, or its length. */
static inline int get(const char *dir, const char *name, char *value, size_t size)
{
	char path[PATH_MAX + 256];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	n = read(fd, value, size - 1);
	if (n < 0)
		n = -errno;
	close(fd);
	value[n > 0 ? n : 0] = 0;
	if (n > 0 && value[n - 1] == '\n')
		value[--n] = 0;
	else if (n >= 0)
		n = -EBADMSG;
	return n;
}

static inline long long number(const char *dir, const char *name)
{
	char value[256], *end;
	long long n;

	if (get(dir, name, value, sizeof(value)) <= 0)
		return LLONG_MIN;
	n = strtoll(value, &end, 10);
	return *end ? LLONG_MIN : n;
}

static inline bool is(const char *dir, const char *name, const char *want)
{
	char value[256];

	return get(dir, name, value, sizeof(value)) >= 0 && !strcmp(value, want);
}

static inline void uuid_text(const uint8_t *u, char *text)
{
	for (int i = 0; i < 16; i++)
		text += sprintf(text, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
				u[i]);
}

/* The directory of a rank of this test. */
static inline bool find_comm(const struct rank *r, char *dir, size_t size)
{
	char uuid[40], path[PATH_MAX];
	struct dirent *d;
	DIR *class = opendir(CLASS);
	bool found = false;

	uuid_text(r->create.uuid, uuid);
	while (class && !found && (d = readdir(class))) {
		snprintf(path, sizeof(path), CLASS "/%s", d->d_name);
		found = is(path, "uuid", uuid) && number(path, "rank") == r->create.rank;
	}
	if (class)
		closedir(class);
	if (found && strlen(path) < size)
		strcpy(dir, path);
	return found && strlen(path) < size;
}

#endif /* HCOMM_SELFTEST_SYSFS_H */
