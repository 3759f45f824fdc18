// SPDX-License-Identifier: GPL-2.0-only
/*
 * hcomm_run: start the ranks of a job on this node.
 *
 *	hcomm_run -n 4 ./prog args
 *	hcomm_run -n 4 --node 0/2 --root 10.0.0.1:4711 ./prog	(and 1/2 over there)
 *
 * For tests and first steps; clusters have launchers.  Sets HCOMM_RANK, HCOMM_SIZE,
 * HCOMM_LOCAL_RANK, HCOMM_ROOT and HCOMM_SECRET.  When a rank fails, the others of
 * this node have some seconds to say what they know of it, then they are ended; the
 * result is the status of the first that failed.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MAX_LOCAL	4096
#define TELL_SECONDS	2	/* between the first failure and SIGTERM */
#define GRACE_SECONDS	5	/* between SIGTERM and SIGKILL */
#define ALONE_SECONDS	5	/* ranks that go on so long after another are told of */

static pid_t children[MAX_LOCAL];
static int nchildren;

static const char usage_text[] =
	"usage: hcomm_run -n RANKS [--node I/N --root ADDR:PORT] [--secret TEXT] PROGRAM [ARGS]\n"
	"  -n, --ranks RANKS     ranks to start on this node\n"
	"      --node I/N        this is node I (from 0) of N; each runs RANKS ranks\n"
	"      --root ADDR:PORT  where rank 0 listens; needed for more than one node\n"
	"      --secret TEXT     secret of the job, equal on all nodes; default:\n"
	"                        HCOMM_SECRET, or random on one node\n"
	"  -h, --help            this text\n";

static int die(const char *fmt, const char *what)
{
	fprintf(stderr, "hcomm_run: ");
	fprintf(stderr, fmt, what);
	fprintf(stderr, "\n");
	return 2;
}

static bool number(const char *text, long max, long *out)
{
	char *end;

	errno = 0;
	*out = strtol(text, &end, 10);
	return !errno && end != text && !*end && *text != '-' && *text != '+' &&
	       *out <= max;
}

/* "I/N" */
static bool node_of(const char *text, long *node, long *nodes)
{
	const char *slash = strchr(text, '/');
	char first[16];

	if (!slash || slash - text >= (long)sizeof(first))
		return false;
	memcpy(first, text, (size_t)(slash - text));
	first[slash - text] = 0;
	return number(slash + 1, 65536, nodes) && *nodes &&
	       number(first, *nodes - 1, node);
}

/* a port of the loopback address that is free now */
static int free_port(void)
{
	struct sockaddr_in sin = { .sin_family = AF_INET };
	socklen_t len = sizeof(sin);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), port = -1;

	if (fd < 0)
		return -1;
	sin.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (!bind(fd, (struct sockaddr *)&sin, sizeof(sin)) &&
	    !getsockname(fd, (struct sockaddr *)&sin, &len))
		port = ntohs(sin.sin_port);
	close(fd);
	return port;
}

static bool random_secret(char text[33])
{
	unsigned long long raw[2];

	if (getrandom(raw, sizeof(raw), 0) != sizeof(raw))
		return false;
	snprintf(text, 33, "%016llx%016llx", raw[0], raw[1]);
	return true;
}

static void signal_all(int sig)
{
	int i;

	for (i = 0; i < nchildren; i++) {
		if (children[i] > 0)
			kill(children[i], sig);
	}
}

static void set_number(const char *name, long value)
{
	char text[32];

	snprintf(text, sizeof(text), "%ld", value);
	setenv(name, text, 1);
}

static pid_t start(char **argv, long rank, long local, const sigset_t *mask)
{
	pid_t parent = getpid(), pid = fork();

	if (pid)
		return pid;
	/* no rank outlives its starter */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(127);
	sigprocmask(SIG_SETMASK, mask, NULL);
	set_number("HCOMM_RANK", rank);
	set_number("HCOMM_LOCAL_RANK", local);
	execvp(argv[0], argv);
	fprintf(stderr, "hcomm_run: %s: %s\n", argv[0], strerror(errno));
	_exit(127);
}

/* which child it was, -1: none of the ranks */
static int forget(pid_t pid)
{
	int i;

	for (i = 0; i < nchildren; i++) {
		if (children[i] == pid) {
			children[i] = 0;
			return i;
		}
	}
	return -1;
}

static time_t seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec;
}

static int status_of(int status)
{
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static void say_failed(long rank, int status, const char *then)
{
	if (WIFSIGNALED(status))
		fprintf(stderr, "hcomm_run: rank %ld was killed by signal %d (SIG%s)%s\n", rank,
			WTERMSIG(status), sigabbrev_np(WTERMSIG(status)) ?: "?", then);
	else
		fprintf(stderr, "hcomm_run: rank %ld ended with status %d%s\n", rank,
			WEXITSTATUS(status), then);
}

/**
 * struct ends - how the ranks ended so far
 * @left: ranks that run
 * @result: status of the first that failed, 0: none
 * @failed_at: when it did
 * @ending: the others were told to end
 * @good_rank: the first that ended well, -1: none, or it was told of
 * @good_at: when it did
 */
struct ends {
	int left;
	int result;
	time_t failed_at;
	bool ending;
	long good_rank;
	time_t good_at;
};

static void note_end(struct ends *e, long rank, int status)
{
	e->left--;
	if (e->result) {
		/* what was killed may be the cause, and only be seen second */
		if (WIFSIGNALED(status) && !e->ending)
			say_failed(rank, status, "");
		return;
	}
	if (!status) {
		if (!e->good_at) {
			e->good_rank = rank;
			e->good_at = seconds();
		}
		return;
	}
	e->result = status_of(status);
	e->failed_at = seconds();
	if (e->left)
		say_failed(rank, status, "; ending the others");
}

/* what is due by now */
static void pass_time(struct ends *e)
{
	time_t since = seconds() - (e->result ? e->failed_at : e->good_at);

	if (e->result) {
		/* whole seconds: the last one may have been short */
		e->ending = since > TELL_SECONDS;
		if (e->ending)
			signal_all(since > TELL_SECONDS + GRACE_SECONDS ? SIGKILL : SIGTERM);
	} else if (e->good_rank >= 0 && e->left && since > ALONE_SECONDS) {
		fprintf(stderr, "hcomm_run: rank %ld has ended with status 0; still running: %d\n",
			e->good_rank, e->left);
		e->good_rank = -1;
	}
}

/* wait for all ranks; signals in @set are blocked and come by sigtimedwait() */
static int wait_all(const sigset_t *set, long first_rank)
{
	struct ends ends = { .left = nchildren, .good_rank = -1 };
	struct timespec tick = { .tv_sec = 1 };
	int status, sig, i;
	pid_t pid;

	while (ends.left) {
		sig = sigtimedwait(set, NULL, &tick);
		if (sig > 0 && sig != SIGCHLD)
			signal_all(sig);
		while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
			i = forget(pid);
			if (i >= 0)
				note_end(&ends, first_rank + i, status);
		}
		pass_time(&ends);
	}
	return ends.result;
}

/* start them and wait; in this process, signals only come when they are waited for */
static int run(char **argv, long ranks, long first_rank)
{
	static const int signals[] = {
		SIGCHLD, SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2,
	};
	sigset_t set, old;
	size_t k;
	pid_t pid;
	long i;

	sigemptyset(&set);
	for (k = 0; k < sizeof(signals) / sizeof(signals[0]); k++)
		sigaddset(&set, signals[k]);
	sigprocmask(SIG_BLOCK, &set, &old);
	for (i = 0; i < ranks; i++) {
		pid = start(argv, first_rank + i, i, &old);
		if (pid < 0) {
			fprintf(stderr, "hcomm_run: fork: %s\n", strerror(errno));
			signal_all(SIGKILL);
			wait_all(&set, first_rank);
			return 1;
		}
		children[nchildren++] = pid;
	}
	return wait_all(&set, first_rank);
}

/**
 * struct job - what the arguments say
 * @ranks: ranks of this node
 * @node: number of this node
 * @nodes: how many there are
 * @root: where rank 0 is, NULL: anywhere on this node
 * @secret: NULL: a random one
 */
struct job {
	long ranks;
	long node;
	long nodes;
	const char *root;
	const char *secret;
};

/* 0, or the exit status; does not come back from --help */
static int parse(int argc, char **argv, struct job *job)
{
	static const struct option options[] = {
		{ "ranks", required_argument, NULL, 'n' },
		{ "node", required_argument, NULL, 'N' },
		{ "root", required_argument, NULL, 'r' },
		{ "secret", required_argument, NULL, 's' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	int c;

	while ((c = getopt_long(argc, argv, "+n:h", options, NULL)) != -1) {
		switch (c) {
		case 'n':
			if (!number(optarg, MAX_LOCAL, &job->ranks) || job->ranks < 1)
				return die("-n %s: use 1 to 4096", optarg);
			break;
		case 'N':
			if (!node_of(optarg, &job->node, &job->nodes))
				return die("--node %s: use I/N, I below N", optarg);
			break;
		case 'r':
			job->root = optarg;
			break;
		case 's':
			job->secret = optarg;
			break;
		case 'h':
			fputs(usage_text, stdout);
			exit(0);
		default:
			fputs(usage_text, stderr);
			return 2;
		}
	}
	if (!job->ranks || optind == argc) {
		fputs(usage_text, stderr);
		return 2;
	}
	if (job->nodes > 1 && (!job->root || !job->secret))
		return die("%s is needed for more than one node",
			   job->root ? "--secret or HCOMM_SECRET" : "--root");
	return 0;
}

int main(int argc, char **argv)
{
	struct job job = { .nodes = 1, .secret = getenv("HCOMM_SECRET") };
	char root[32], secret[33];
	int port, status;

	status = parse(argc, argv, &job);
	if (status)
		return status;
	if (!job.root) {
		port = free_port();
		if (port < 0)
			return die("no free port: %s", strerror(errno));
		snprintf(root, sizeof(root), "127.0.0.1:%d", port);
		job.root = root;
	}
	if (!job.secret) {
		if (!random_secret(secret))
			return die("no random numbers: %s", strerror(errno));
		job.secret = secret;
	}
	setenv("HCOMM_ROOT", job.root, 1);
	setenv("HCOMM_SECRET", job.secret, 1);
	set_number("HCOMM_SIZE", job.ranks * job.nodes);
	return run(argv + optind, job.ranks, job.node * job.ranks);
}
