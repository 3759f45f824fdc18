// SPDX-License-Identifier: GPL-2.0-only
/*
 * /sys/class/hcomm: what Documentation/ABI says is there, has one value per
 * file, counts what was sent, and goes with the communicator.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <ctype.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/stat.h>
#include "sysfs.h"
#include "kselftest_harness.h"

#define ABI "Documentation/ABI/testing/sysfs-class-hcomm"
#define LEN 20000u

static FILE *open_abi(void)
{
	char exe[PATH_MAX], path[PATH_MAX + 64];
	const char *given = getenv("HCOMM_ABI_DOC");
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	char *slash;

	if (given)
		return fopen(given, "r");
	if (n < 0)
		return NULL;
	exe[n] = 0;
	/* Upwards from where this program is in the build directory. */
	while ((slash = strrchr(exe, '/'))) {
		FILE *f;

		*slash = 0;
		snprintf(path, sizeof(path), "%s/" ABI, exe);
		f = fopen(path, "r");
		if (f)
			return f;
	}
	return NULL;
}

FIXTURE(sysfs)
{
	struct rank r[2];
	char dir[2][128];
	char link[2][160];
	uint8_t *buf[2];
	uint32_t mem[2], prog[2];
};

FIXTURE_SETUP(sysfs)
{
	struct hcomm_comm_create opt;

	memset(self, 0, sizeof(*self));
	create_init(&opt, 0, 2);
	opt.chunk_size = 8192;
	opt.eager_size = 512;
	opt.eager_slots = 5;
	opt.window = 3;
	opt.max_runs = 6;
	ASSERT_EQ(0, ranks_open(self->r, 2, &opt));
	for (int i = 0; i < 2; i++) {
		struct hcomm_step steps[] = {
			{ .op = i ? HCOMM_STEP_RECV : HCOMM_STEP_SEND, .peer = !i, .len = LEN },
			{ .op = HCOMM_STEP_COPY, .dst_off = LEN, .len = 1000 },
			{ .op = HCOMM_STEP_REDUCE, .dst_off = 2 * LEN, .len = 3000 },
		};

		ASSERT_TRUE(find_comm(&self->r[i], self->dir[i], sizeof(self->dir[i])));
		snprintf(self->link[i], sizeof(self->link[i]), "%s/link%d", self->dir[i], !i);
		self->buf[i] = pages(3 * LEN);
		ASSERT_NE(NULL, self->buf[i]);
		ASSERT_EQ(0, mem_reg(self->r[i].fd, self->buf[i], 3 * LEN, 0, &self->mem[i]));
		ASSERT_EQ(0, prog_load(self->r[i].fd, self->r[i].comm, steps, 3, NULL, 0, 1,
				       &self->prog[i]));
	}
	for (int i = 0; i < 2; i++) {
		struct hcomm_link_open arg = {
			.size = sizeof(arg), .comm_id = self->r[i].comm, .peer = HCOMM_ALL_LINKS,
		};

		ASSERT_EQ(0, call(self->r[i].fd, HCOMM_LINK_OPEN, &arg));
	}
}

FIXTURE_TEARDOWN(sysfs)
{
	for (int i = 0; i < 2; i++) {
		rank_close(&self->r[i]);
		munmap(self->buf[i], 3 * LEN);
	}
}

static int run_pair(struct rank *r, const uint32_t *prog, const uint32_t *mem, uint64_t run)
{
	struct hcomm_slot slot = { .length = 3 * LEN };
	struct hcomm_cqe cqe;
	int ret = 0;

	for (int i = 0; i < 2 && !ret; i++) {
		slot.mem_id = mem[i];
		ret = launch(r[i].fd, prog[i], &slot, 1, run, 0, 0);
	}
	for (int i = 0; i < 2 && !ret; i++) {
		ret = ring_wait(r[i].fd, 1, 10000000000ll);
		if (!ret)
			ret = ring_next(r[i].ring, &cqe) ? cqe.status : -EIO;
	}
	return ret;
}

/* Attributes and only attributes of the document, each with one value. */
TEST_F(sysfs, documented)
{
	static const char * const what = "What:\t\t" CLASS "/comm<N>/";
	char line[256], value[256];
	char known[64][256];
	FILE *f = open_abi();
	int n = 0, seen = 0;

	ASSERT_NE(NULL, f);
	while (fgets(line, sizeof(line), f)) {
		char *name = line + strlen(what);
		const char *dir = self->dir[0];

		if (strncmp(line, what, strlen(what)))
			continue;
		name[strcspn(name, "\n")] = 0;
		if (!strcmp(name, "link<peer>"))
			continue;
		ASSERT_GT(64, n);
		if (!strncmp(name, "link<peer>/", 11)) {
			dir = self->link[0];
			name += 11;
			snprintf(known[n++], 256, "1%s", name);
		} else {
			snprintf(known[n++], 256, "0%s", name);
		}
		seen = get(dir, name, value, sizeof(value));
		EXPECT_LE(0, seen)
			TH_LOG("%s/%s: %d", dir, name, seen);
		EXPECT_EQ(NULL, strchr(value, '\n'));
		EXPECT_EQ(NULL, strchr(value, ' '));
		/* Nothing that looks like an address in the kernel. */
		EXPECT_EQ(NULL, strstr(value, "0x"));
		EXPECT_EQ(NULL, strstr(value, "ffff8"));
		EXPECT_EQ(NULL, strstr(value, "(null)"));
	}
	fclose(f);
	EXPECT_LT(20, n);
	for (int level = 0; level < 2; level++) {
		DIR *dir = opendir(level ? self->link[0] : self->dir[0]);
		struct dirent *d;

		ASSERT_NE(NULL, dir);
		while ((d = readdir(dir))) {
			bool found = d->d_type != DT_REG || !strcmp(d->d_name, "uevent");

			for (int i = 0; i < n; i++)
				found |= known[i][0] == '0' + level &&
					 !strcmp(known[i] + 1, d->d_name);
			EXPECT_TRUE(found)
				TH_LOG("%s is not documented", d->d_name);
		}
		closedir(dir);
	}
}

TEST_F(sysfs, read_only)
{
	char path[256];
	struct stat st;

	snprintf(path, sizeof(path), "%s/state", self->dir[0]);
	ASSERT_EQ(0, stat(path, &st));
	EXPECT_EQ(0444u, st.st_mode & 0777u);
	snprintf(path, sizeof(path), "%s/tx_bytes", self->link[0]);
	ASSERT_EQ(0, stat(path, &st));
	EXPECT_EQ(0444u, st.st_mode & 0777u);
}

TEST_F(sysfs, facts)
{
	for (int i = 0; i < 2; i++) {
		EXPECT_EQ(i, number(self->dir[i], "rank"));
		EXPECT_EQ(getpid(), number(self->dir[i], "pid"));
		EXPECT_EQ(2, number(self->dir[i], "size"));
		EXPECT_TRUE(is(self->dir[i], "state", "active"));
		EXPECT_TRUE(is(self->dir[i], "fault", "none"));
		EXPECT_EQ(0, number(self->dir[i], "fault_error"));
		EXPECT_EQ(-1, number(self->dir[i], "fault_rank"));
		EXPECT_EQ(8192, number(self->dir[i], "chunk_size"));
		EXPECT_EQ(512, number(self->dir[i], "eager_size"));
		EXPECT_EQ(5, number(self->dir[i], "eager_slots"));
		EXPECT_EQ(3, number(self->dir[i], "window"));
		EXPECT_EQ(6, number(self->dir[i], "runs_max"));
		EXPECT_EQ(0, number(self->dir[i], "runs_active"));
		EXPECT_EQ(!i, number(self->link[i], "peer"));
		EXPECT_TRUE(is(self->link[i], "state", "ready"));
		EXPECT_TRUE(is(self->link[i], "transport", "local"));
		EXPECT_TRUE(is(self->link[i], "device", ""));
		EXPECT_TRUE(is(self->link[i], "qp_state", ""));
		EXPECT_EQ(0, number(self->link[i], "qp_num"));
		EXPECT_EQ(0, number(self->link[i], "errors"));
		EXPECT_LE(0, number(self->link[i], "rtt_ns"));
	}
}

/* Counters move by what was sent, and not for the other direction. */
TEST_F(sysfs, counters)
{
	enum { RUNS = 7 };
	static const char * const names[] = {
		"tx_bytes", "rx_bytes", "tx_msgs", "rx_msgs", "launches", "bytes_copied",
		"bytes_reduced", "runs_failed",
	};
	long long before[2][ARRAY_LEN(names)], by[2][ARRAY_LEN(names)];

	for (int i = 0; i < 2; i++)
		for (size_t k = 0; k < ARRAY_LEN(names); k++)
			before[i][k] = number(k < 4 ? self->link[i] : self->dir[i], names[k]);
	for (int i = 0; i < RUNS; i++)
		ASSERT_EQ(0, run_pair(self->r, self->prog, self->mem, i));
	for (int i = 0; i < 2; i++)
		for (size_t k = 0; k < ARRAY_LEN(names); k++) {
			ASSERT_LE(0, before[i][k]);
			by[i][k] = number(k < 4 ? self->link[i] : self->dir[i], names[k]) -
				   before[i][k];
		}
	EXPECT_EQ(RUNS * LEN, by[0][0]);
	EXPECT_EQ(0, by[0][1]);
	EXPECT_EQ(0, by[1][0]);
	EXPECT_EQ(RUNS * LEN, by[1][1]);
	/* At least one message per chunk. */
	EXPECT_LE(RUNS * 3, by[0][2]);
	EXPECT_LE(RUNS * 3, by[1][3]);
	for (int i = 0; i < 2; i++) {
		EXPECT_EQ(RUNS, by[i][4]);
		EXPECT_EQ(RUNS * 3000, by[i][6]);
		EXPECT_EQ(0, by[i][7]);
	}
	/* The receiver reads from the sender's memory. */
	EXPECT_EQ(RUNS * 1000, by[0][5]);
	EXPECT_EQ(RUNS * (1000 + LEN), by[1][5]);
}

TEST_F(sysfs, runs_and_fault)
{
	struct hcomm_comm_abort abort_arg = {
		.size = sizeof(abort_arg), .comm_id = self->r[0].comm,
	};
	struct hcomm_slot slot = { .mem_id = self->mem[0], .length = 3 * LEN };

	ASSERT_EQ(0, launch(self->r[0].fd, self->prog[0], &slot, 1, 1, 0, 0));
	EXPECT_EQ(1, number(self->dir[0], "runs_active"));
	ASSERT_EQ(0, call(self->r[0].fd, HCOMM_COMM_ABORT, &abort_arg));
	ASSERT_EQ(0, ring_wait(self->r[0].fd, 1, 5000000000ll));
	EXPECT_EQ(0, number(self->dir[0], "runs_active"));
	EXPECT_EQ(1, number(self->dir[0], "runs_failed"));
	for (int i = 0; i < 2; i++) {
		for (int k = 0; k < 50 && !is(self->dir[i], "state", "failed"); k++)
			usleep(20000);
		EXPECT_TRUE(is(self->dir[i], "state", "failed"));
		EXPECT_TRUE(is(self->dir[i], "fault", "aborted"));
		EXPECT_EQ(ECANCELED, number(self->dir[i], "fault_error"));
		EXPECT_EQ(0, number(self->dir[i], "fault_rank"));
	}
}

TEST_F(sysfs, goes_with_it)
{
	rank_close(&self->r[1]);
	EXPECT_NE(0, access(self->dir[1], F_OK));
	for (int k = 0; k < 50 && !is(self->link[0], "state", "closed"); k++)
		usleep(20000);
	EXPECT_TRUE(is(self->link[0], "state", "closed"));
	EXPECT_EQ(0, access(self->dir[0], F_OK));
	rank_close(&self->r[0]);
	EXPECT_NE(0, access(self->dir[0], F_OK));
}

/* An attribute that was opened before may only fail after. */
TEST_F(sysfs, open_file_survives)
{
	char path[256], value[64];
	int fd;

	snprintf(path, sizeof(path), "%s/tx_bytes", self->link[0]);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	ASSERT_LE(0, fd);
	rank_close(&self->r[0]);
	EXPECT_EQ(-1, read(fd, value, sizeof(value)));
	EXPECT_EQ(ENODEV, errno);
	close(fd);
}

static int stop;
static long reads;

static void read_dir(const char *path, int depth)
{
	DIR *dir = opendir(path);
	struct dirent *d;
	char below[PATH_MAX], value[256];

	while (dir && (d = readdir(dir))) {
		if (d->d_name[0] == '.')
			continue;
		snprintf(below, sizeof(below), "%s/%s", path, d->d_name);
		if (d->d_type == DT_REG) {
			get(path, d->d_name, value, sizeof(value));
			__atomic_add_fetch(&reads, 1, __ATOMIC_RELAXED);
		} else if (depth < 2 && (!strncmp(d->d_name, "comm", 4) ||
					 !strncmp(d->d_name, "link", 4))) {
			read_dir(below, depth + 1);
		}
	}
	if (dir)
		closedir(dir);
}

static void *reader(void *arg)
{
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED))
		read_dir(CLASS, 0);
	return NULL;
}

TEST_F_TIMEOUT(sysfs, come_and_go, 120)
{
	pthread_t thread[2];

	for (int i = 0; i < 2; i++)
		ASSERT_EQ(0, pthread_create(&thread[i], NULL, reader, NULL));
	for (int i = 0; i < 60; i++) {
		struct hcomm_link_open arg = { .size = sizeof(arg), .peer = 1 };
		struct rank r[2] = {};

		ASSERT_EQ(0, ranks_open(r, 2, NULL));
		arg.comm_id = r[0].comm;
		EXPECT_EQ(0, call(r[0].fd, HCOMM_LINK_OPEN, &arg));
		rank_close(&r[i & 1]);
		rank_close(&r[!(i & 1)]);
	}
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	for (int i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
	EXPECT_LT(100, reads);
}

TEST_HARNESS_MAIN
