// SPDX-License-Identifier: GPL-2.0-only
/*
 * The guest's init: sets the node up, then runs commands for the host.
 *
 * Commands come in and their output goes out as frames over one virtio-serial
 * port, so any number of them can run at once. Each runs in a session and a
 * cgroup of its own; the cgroup is what makes "kill it" mean all of it, also
 * what went to the background. Writing to the port blocks, which is how a slow
 * reader on the host slows a command down.
 *
 * vlab/wire.py is the other end of the protocol.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PORT_NAME	"lab.agent"
#define CGROUP_ROOT	"/sys/fs/cgroup"
#define MAX_FRAME	(1u << 20)
#define MAX_SESSIONS	256
#define OUT_CHUNK	32768
/* How long a background process may hold an ended command's output open. */
#define DRAIN_MS	200
/* The same while output keeps coming. */
#define DRAIN_BUSY_MS	5000

enum frame_type {
	F_START = 1,	/* to guest: flags, cwd, count, environment, argv */
	F_STDIN,	/* to guest: data, empty at end of file */
	F_SIGNAL,	/* to guest: le32 number */
	F_READY = 16,	/* from guest: exit status of the set-up script */
	F_STDOUT,
	F_STDERR,
	F_EXIT,		/* from guest: le32 wait status */
};

struct frame_header {
	uint32_t length;
	uint32_t id;
	uint32_t type;
};

struct session {
	uint32_t id;
	pid_t pid;
	int in, out, err;	/* -1 when closed */
	int exited;
	int status;
	uint64_t drain_until;
	char *pending;		/* standard input that did not fit yet */
	size_t pending_len;
	int in_eof;
	char cgroup[64];
};

static struct session *sessions[MAX_SESSIONS];
static int port = -1;
static int child_pipe[2];

static uint64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

/* Nothing can be done without the port: say so and let the kernel panic. */
static void fatal(const char *what)
{
	fprintf(stderr, "lab-agent: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void write_all(int fd, const void *data, size_t len)
{
	const char *p = data;

	while (len) {
		ssize_t n = write(fd, p, len);

		if (n < 0) {
			struct pollfd pfd = { .fd = fd, .events = POLLOUT };

			if (errno == EINTR)
				continue;
			if (errno != EAGAIN)
				fatal("write to the port");
			poll(&pfd, 1, 1000);
			continue;
		}
		p += n;
		len -= n;
	}
}

static void send_frame(uint32_t id, uint32_t type, const void *data,
		       uint32_t len)
{
	struct frame_header h = { .length = len, .id = id, .type = type };

	write_all(port, &h, sizeof(h));
	write_all(port, data, len);
}

static void send_text(uint32_t id, const char *text)
{
	send_frame(id, F_STDERR, text, strlen(text));
}

static struct session *find_session(uint32_t id)
{
	for (int i = 0; i < MAX_SESSIONS; i++)
		if (sessions[i] && sessions[i]->id == id)
			return sessions[i];
	return NULL;
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static int write_file(const char *dir, const char *name, const char *text)
{
	char path[PATH_MAX];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	n = write(fd, text, strlen(text));
	close(fd);
	return n < 0 ? -1 : 0;
}

/* Runs in the child; never returns. */
static void run_child(struct session *s, char *cwd, char **envp, char **argv,
		      int in, int out, int err, int tty)
{
	struct rlimit unlimited = { RLIM_INFINITY, RLIM_INFINITY };
	struct rlimit files = { 65536, 65536 };
	sigset_t none;

	setsid();
	write_file(s->cgroup, "cgroup.procs", "0");
	dup2(in, 0);
	dup2(out, 1);
	dup2(err, 2);
	if (tty)
		ioctl(0, TIOCSCTTY, 0);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	signal(SIGCHLD, SIG_DFL);
	setrlimit(RLIMIT_MEMLOCK, &unlimited);
	setrlimit(RLIMIT_CORE, &unlimited);
	setrlimit(RLIMIT_NOFILE, &files);
	if (chdir(cwd) < 0 && chdir("/") < 0)
		_exit(126);
	environ = envp;
	execvp(argv[0], argv);
	dprintf(2, "lab: cannot run %s: %s\n", argv[0], strerror(errno));
	_exit(errno == ENOENT ? 127 : 126);
}

/*
 * Splits the payload of F_START into strings. The first three are "t" (wants a
 * terminal) or "", the working directory, and the number of environment
 * strings. Returns the vector, or NULL when the frame makes no sense.
 */
static char **split_start(char *data, uint32_t len, unsigned int *nenv)
{
	unsigned int count = 0, i = 0;
	char **vec, *end;

	if (!len || data[len - 1] != '\0')
		return NULL;
	for (uint32_t k = 0; k < len; k++)
		count += data[k] == '\0';
	if (count < 4)
		return NULL;
	/* Room for the two terminators. */
	vec = calloc(count + 2, sizeof(*vec));
	if (!vec)
		return NULL;
	for (char *p = data; p < data + len; p += strlen(p) + 1)
		vec[i++] = p;
	*nenv = strtoul(vec[2], &end, 10);
	if (*end || *nenv > count - 4) {
		free(vec);
		return NULL;
	}
	/* Make room between the environment and argv for a NULL. */
	memmove(&vec[3 + *nenv + 1], &vec[3 + *nenv],
		(count - 3 - *nenv) * sizeof(*vec));
	vec[3 + *nenv] = NULL;
	return vec;
}

static int open_terminal(int *master)
{
	int fd = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	int slave;

	if (fd < 0)
		return -1;
	if (grantpt(fd) < 0 || unlockpt(fd) < 0) {
		close(fd);
		return -1;
	}
	slave = open(ptsname(fd), O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (slave < 0) {
		close(fd);
		return -1;
	}
	*master = fd;
	return slave;
}

static void start_failed(uint32_t id, const char *why)
{
	uint32_t status = 126 << 8;

	send_text(id, why);
	send_frame(id, F_EXIT, &status, sizeof(status));
}

static void start_session(uint32_t id, char *data, uint32_t len)
{
	int in[2] = { -1, -1 }, out[2] = { -1, -1 }, err[2] = { -1, -1 };
	struct session *s = NULL;
	char **vec = NULL;
	unsigned int nenv;
	int slot = 0, tty;

	while (slot < MAX_SESSIONS && sessions[slot])
		slot++;
	vec = split_start(data, len, &nenv);
	s = calloc(1, sizeof(*s));
	if (slot == MAX_SESSIONS || !vec || !s) {
		start_failed(id, "lab: the agent cannot take this command\n");
		goto fail;
	}
	tty = vec[0][0] == 't';
	if (tty) {
		int slave = open_terminal(&in[1]);

		if (slave < 0)
			goto no_pipe;
		in[0] = slave;
		out[1] = dup(slave);
		err[1] = dup(slave);
		out[0] = fcntl(in[1], F_DUPFD_CLOEXEC, 0);
	} else if (pipe2(in, O_CLOEXEC) < 0 || pipe2(out, O_CLOEXEC) < 0 ||
		   pipe2(err, O_CLOEXEC) < 0) {
		goto no_pipe;
	}
	s->id = id;
	snprintf(s->cgroup, sizeof(s->cgroup), CGROUP_ROOT "/lab-%u", id);
	mkdir(s->cgroup, 0755);
	s->pid = fork();
	if (s->pid < 0)
		goto no_pipe;
	if (!s->pid)
		run_child(s, vec[1], &vec[3], &vec[3 + nenv + 1], in[0], out[1],
			  err[1], tty);
	close(in[0]);
	close(out[1]);
	close(err[1]);
	s->in = in[1];
	s->out = out[0];
	s->err = err[0];
	fcntl(s->in, F_SETFL, O_NONBLOCK);
	sessions[slot] = s;
	free(vec);
	return;

no_pipe:
	start_failed(id, "lab: the node is out of processes or files\n");
	for (int i = 0; i < 2; i++) {
		close_fd(&in[i]);
		close_fd(&out[i]);
		close_fd(&err[i]);
	}
fail:
	free(vec);
	free(s);
}

static void feed_stdin(struct session *s)
{
	while (s->in >= 0 && s->pending_len) {
		ssize_t n = write(s->in, s->pending, s->pending_len);

		if (n < 0) {
			if (errno == EAGAIN)
				return;
			s->pending_len = 0;
			close_fd(&s->in);
			return;
		}
		s->pending_len -= n;
		memmove(s->pending, s->pending + n, s->pending_len);
	}
	if (s->in_eof)
		close_fd(&s->in);
}

static void add_stdin(struct session *s, const char *data, uint32_t len)
{
	if (!len) {
		s->in_eof = 1;
	} else if (s->in >= 0 && !s->in_eof) {
		char *p = realloc(s->pending, s->pending_len + len);

		if (!p)
			return;
		memcpy(p + s->pending_len, data, len);
		s->pending = p;
		s->pending_len += len;
	}
	feed_stdin(s);
}

static void signal_session(struct session *s, uint32_t sig)
{
	/* The cgroup also reaches what left the session. */
	if (sig == SIGKILL &&
	    !write_file(s->cgroup, "cgroup.kill", "1"))
		return;
	if (sig && sig < NSIG && !s->exited)
		kill(-s->pid, sig);
}

static void handle_frame(struct frame_header *h, char *data)
{
	struct session *s = find_session(h->id);
	uint32_t sig;

	switch (h->type) {
	case F_START:
		start_session(h->id, data, h->length);
		break;
	case F_STDIN:
		if (s)
			add_stdin(s, data, h->length);
		break;
	case F_SIGNAL:
		if (s && h->length == sizeof(sig)) {
			memcpy(&sig, data, sizeof(sig));
			signal_session(s, sig);
		}
		break;
	}
}

/* Takes what the port has and handles the frames that are complete. */
static void read_port(void)
{
	static char buf[sizeof(struct frame_header) + MAX_FRAME];
	static size_t have;
	struct frame_header h;
	ssize_t n;

	n = read(port, buf + have, sizeof(buf) - have);
	if (n < 0 && errno != EAGAIN && errno != EINTR)
		fatal("read from the port");
	if (n > 0)
		have += n;
	while (have >= sizeof(h)) {
		memcpy(&h, buf, sizeof(h));
		if (h.length > MAX_FRAME) {
			errno = EPROTO;
			fatal("frame from the host");
		}
		if (have < sizeof(h) + h.length)
			break;
		handle_frame(&h, buf + sizeof(h));
		have -= sizeof(h) + h.length;
		memmove(buf, buf + sizeof(h) + h.length, have);
	}
}

static void forward(struct session *s, int *fd, uint32_t type)
{
	static char buf[OUT_CHUNK];
	ssize_t n = read(*fd, buf, sizeof(buf));

	if (n > 0)
		send_frame(s->id, type, buf, n);
	else if (n == 0 || (errno != EAGAIN && errno != EINTR))
		close_fd(fd);
}

/* As init the agent reaps everybody's orphans, too. */
static void reap(void)
{
	char sink[64];
	int status;
	pid_t pid;

	while (read(child_pipe[0], sink, sizeof(sink)) > 0)
		;
	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		for (int i = 0; i < MAX_SESSIONS; i++) {
			struct session *s = sessions[i];

			if (!s || s->exited || s->pid != pid)
				continue;
			s->exited = 1;
			s->status = status;
			s->drain_until = now_ms() + DRAIN_MS;
		}
	}
}

static void end_session(int slot)
{
	struct session *s = sessions[slot];
	uint32_t status = s->status;

	close_fd(&s->in);
	close_fd(&s->out);
	close_fd(&s->err);
	/* Stays while background processes of the command live. */
	rmdir(s->cgroup);
	send_frame(s->id, F_EXIT, &status, sizeof(status));
	free(s->pending);
	free(s);
	sessions[slot] = NULL;
}

/* True when nothing more is to come from a command that has exited. */
static int drained(const struct session *s, int busy)
{
	uint64_t now = now_ms();

	if (s->out < 0 && s->err < 0)
		return 1;
	return now >= s->drain_until + (busy ? DRAIN_BUSY_MS : 0);
}

static void serve(void)
{
	static struct pollfd pfd[2 + 3 * MAX_SESSIONS];

	for (;;) {
		int n = 0, timeout = -1;

		pfd[n++] = (struct pollfd){ .fd = port, .events = POLLIN };
		pfd[n++] = (struct pollfd){ .fd = child_pipe[0],
					    .events = POLLIN };
		for (int i = 0; i < MAX_SESSIONS; i++) {
			struct session *s = sessions[i];

			if (!s)
				continue;
			if (s->exited) {
				int64_t left = s->drain_until - now_ms();

				if (left < 0)
					left = 0;
				if (timeout < 0 || left < timeout)
					timeout = left;
			}
			pfd[n++] = (struct pollfd){ .fd = s->out,
						    .events = POLLIN };
			pfd[n++] = (struct pollfd){ .fd = s->err,
						    .events = POLLIN };
			pfd[n++] = (struct pollfd){
				.fd = s->pending_len ? s->in : -1,
				.events = POLLOUT };
		}
		if (poll(pfd, n, timeout) < 0 && errno != EINTR)
			fatal("poll");
		n = 2;
		for (int i = 0; i < MAX_SESSIONS; i++) {
			struct session *s = sessions[i];

			if (!s)
				continue;
			if (pfd[n].revents)
				forward(s, &s->out, F_STDOUT);
			if (pfd[n + 1].revents)
				forward(s, &s->err, F_STDERR);
			if (pfd[n + 2].revents)
				feed_stdin(s);
			if (s->exited && drained(s, pfd[n].revents |
						    pfd[n + 1].revents))
				end_session(i);
			n += 3;
		}
		if (pfd[1].revents)
			reap();
		if (pfd[0].revents & POLLIN)
			read_port();
	}
}

static int open_port(void)
{
	const char *class = "/sys/class/virtio-ports";
	char path[PATH_MAX], name[64];
	struct dirent *e;
	int found = -1;
	DIR *d;

	d = opendir(class);
	if (!d)
		return -1;
	while (found < 0 && (e = readdir(d))) {
		FILE *f;

		snprintf(path, sizeof(path), "%s/%s/name", class, e->d_name);
		f = fopen(path, "re");
		if (!f)
			continue;
		if (fgets(name, sizeof(name), f) &&
		    !strncmp(name, PORT_NAME, strlen(PORT_NAME))) {
			snprintf(path, sizeof(path), "/dev/%s", e->d_name);
			found = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
		}
		fclose(f);
	}
	closedir(d);
	return found;
}

static void on_child(int sig)
{
	int saved = errno;
	ssize_t n = write(child_pipe[1], "", 1);

	/* A full pipe already wakes the loop. */
	(void)n;
	(void)sig;
	errno = saved;
}

int main(int argc, char **argv)
{
	uint32_t status = 0;
	int wait_status;
	pid_t pid;

	if (argc < 2) {
		fprintf(stderr, "usage: agent SETUP [ARG...]\n");
		return 2;
	}
	pid = fork();
	if (!pid) {
		execv("/bin/busybox", (char *[]){ "sh", argv[1], NULL });
		_exit(127);
	}
	while (waitpid(pid, &wait_status, 0) < 0 && errno == EINTR)
		;
	status = WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : 255;

	/* The device may appear a moment after its driver was loaded. */
	for (int i = 0; i < 100 && (port = open_port()) < 0; i++)
		usleep(50000);
	if (port < 0)
		fatal("virtio-serial port " PORT_NAME);
	if (pipe2(child_pipe, O_CLOEXEC | O_NONBLOCK) < 0)
		fatal("pipe");
	signal(SIGPIPE, SIG_IGN);
	signal(SIGCHLD, on_child);
	send_frame(0, F_READY, &status, sizeof(status));
	serve();
}
