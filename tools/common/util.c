// SPDX-License-Identifier: GPL-2.0-only
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "util.h"

/* how long ranks may take to notice that another one is gone */
#define GRACE_SECONDS	10

uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

bool parse_number(const char *text, uint64_t max, uint64_t *out)
{
	unsigned long long value;
	char *end;

	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	value = strtoull(text, &end, 10);
	if (errno || *end || value > max)
		return false;
	*out = value;
	return true;
}

bool parse_size(const char *text, uint64_t *out)
{
	static const char units[] = "KMG";
	size_t len = strlen(text);
	uint64_t value, unit = 1;
	const char *suffix;
	char digits[24];

	if (len > 1 && (text[len - 1] == 'B' || text[len - 1] == 'b'))
		len--;
	if (!len || len >= sizeof(digits))
		return false;
	memcpy(digits, text, len);
	digits[len] = 0;
	suffix = strchr(units, digits[len - 1] & ~0x20);
	if (suffix && *suffix) {
		unit = 1ull << (10 * (suffix - units + 1));
		digits[len - 1] = 0;
	}
	if (!parse_number(digits, UINT64_MAX / unit, &value))
		return false;
	*out = value * unit;
	return true;
}

const char *format_size(uint64_t bytes, char *out)
{
	unsigned int unit = 0;

	while (bytes && unit < 3 && !(bytes & 1023)) {
		bytes >>= 10;
		unit++;
	}
	snprintf(out, 24, "%llu%.1s", (unsigned long long)bytes, &"\0KMG"[unit]);
	return out;
}

static void vcomplain(const char *fmt, va_list ap)
{
	char text[2048];

	/* one write: lines of several ranks must not mix */
	vsnprintf(text, sizeof(text), fmt, ap);
	fflush(stdout);
	fprintf(stderr, "%s: %s\n", program_invocation_short_name, text);
}

void complain(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vcomplain(fmt, ap);
	va_end(ap);
}

void fatal(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vcomplain(fmt, ap);
	va_end(ap);
	exit(STATUS_ERROR);
}

void must(hcommResult_t result, const char *what)
{
	if (result)
		fatal("%s: %s: %s", what, hcommGetErrorString(result),
		      hcommGetLastError(NULL));
}

void *must_hcomm_malloc(size_t size)
{
	void *p = hcommMalloc(size);

	if (!p)
		fatal("hcommMalloc of %zu bytes: %s", size,
		      hcommGetLastError(NULL));
	return p;
}

void *must_malloc(size_t size)
{
	void *p = malloc(size ? size : 1);

	if (!p)
		fatal("no memory for %zu bytes", size);
	return p;
}

bool has_launcher(void)
{
	static const char *const names[] = {
		"HCOMM_RANK", "HCOMM_SIZE", "WORLD_SIZE", "OMPI_COMM_WORLD_RANK",
		"PMI_RANK", "SLURM_STEP_ID",
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		if (getenv(names[i]))
			return true;
	}
	return false;
}

void need_device(void)
{
	int fd = open("/dev/hcomm", O_RDWR | O_CLOEXEC);

	if (fd >= 0) {
		close(fd);
		return;
	}
	if (errno == ENOENT || errno == ENXIO || errno == ENODEV)
		fatal("/dev/hcomm is missing: load the module first (modprobe hcomm)");
	fatal("/dev/hcomm can't be opened: %s", strerror(errno));
}

static unsigned int free_port(void)
{
	struct sockaddr_in addr = { .sin_family = AF_INET };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	socklen_t len = sizeof(addr);

	addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (fd < 0 || bind(fd, (struct sockaddr *)&addr, len) ||
	    getsockname(fd, (struct sockaddr *)&addr, &len))
		fatal("no free TCP port: %s", strerror(errno));
	close(fd);
	return ntohs(addr.sin_port);
}

static pid_t start_rank(char **argv, unsigned int rank)
{
	char text[16];
	pid_t pid = fork();

	if (pid < 0)
		fatal("fork: %s", strerror(errno));
	if (pid)
		return pid;
	snprintf(text, sizeof(text), "%u", rank);
	setenv("HCOMM_RANK", text, 1);
	setenv("HCOMM_LOCAL_RANK", text, 1);
	execv("/proc/self/exe", argv);
	complain("exec: %s", strerror(errno));
	_exit(STATUS_ERROR);
}

static int status_of(int status)
{
	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	return 128 + WTERMSIG(status);
}

static unsigned int rank_of(const pid_t *pids, unsigned int nranks, pid_t pid)
{
	unsigned int rank;

	for (rank = 0; rank < nranks && pids[rank] != pid; rank++)
		;
	return rank;
}

static void ignore_signal(int sig)
{
	(void)sig;
}

int run_local_ranks(char **argv, unsigned int nranks)
{
	struct sigaction action = { .sa_handler = ignore_signal };
	unsigned int left = nranks, rank, i;
	uint64_t secret[2] = { 0, 0 };
	int status, result = STATUS_OK;
	pid_t *pids, pid;
	char text[64];

	if (getrandom(secret, sizeof(secret), 0) != sizeof(secret))
		fatal("no random numbers: %s", strerror(errno));
	snprintf(text, sizeof(text), "%u", nranks);
	setenv("HCOMM_SIZE", text, 1);
	snprintf(text, sizeof(text), "127.0.0.1:%u", free_port());
	setenv("HCOMM_ROOT", text, 1);
	snprintf(text, sizeof(text), "%016llx%016llx",
		 (unsigned long long)secret[0], (unsigned long long)secret[1]);
	setenv("HCOMM_SECRET", text, 1);

	pids = must_malloc(nranks * sizeof(*pids));
	fflush(NULL);
	for (i = 0; i < nranks; i++)
		pids[i] = start_rank(argv, i);
	/* alarm() has to interrupt the wait */
	sigaction(SIGALRM, &action, NULL);
	while (left) {
		pid = wait(&status);
		if (pid < 0) {
			if (errno != EINTR)
				break;
			for (i = 0; i < nranks; i++) {
				if (pids[i] > 0)
					kill(pids[i], SIGKILL);
			}
			continue;
		}
		rank = rank_of(pids, nranks, pid);
		if (rank == nranks)
			continue;
		pids[rank] = 0;
		left--;
		if (!status)
			continue;
		if (WIFSIGNALED(status))
			complain("rank %u: %s", rank, strsignal(WTERMSIG(status)));
		if (!result) {
			result = status_of(status);
			alarm(GRACE_SECONDS);
		}
	}
	free(pids);
	return result;
}

int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double median_of(double *values, size_t count)
{
	if (!count)
		return 0;
	qsort(values, count, sizeof(*values), compare_doubles);
	if (count % 2)
		return values[count / 2];
	return (values[count / 2 - 1] + values[count / 2]) / 2;
}
