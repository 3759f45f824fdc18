// SPDX-License-Identifier: GPL-2.0-only
/* The environment: launchers, strict values, options, choice of algorithm. */
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../lib/base/base.h"
#include "../../lib/comm/options.h"
#include "../../lib/env/env.h"
#include "tap.h"

/* an environment of these variables only: name, value, ..., NULL */
static void env(const char *const *vars)
{
	clearenv();
	for (; *vars; vars += 2)
		setenv(vars[0], vars[1], 1);
}

#define ENV(...) env((const char *const[]){ __VA_ARGS__, NULL })

static bool says(const char *what)
{
	return strstr(hcomm_error_text(), what);
}

#define REFUSED(call, what) ({						\
	hcommResult_t r_ = (call);					\
									\
	CHECK(r_ == HCOMM_ERR_ENVIRONMENT, "%d: %s", r_, hcomm_error_text()); \
	CHECK(says(what), "\"%s\" not in: %s", what, hcomm_error_text()); \
})

#define STARTED(rank_, size_, host_, port_) ({				\
	hcommResult_t r_ = hcomm_env_start(&s);				\
									\
	CHECK(!r_, "%s", hcomm_error_text());				\
	CHECK(s.rank == (rank_), "%u", s.rank);				\
	CHECK(s.size == (size_), "%u", s.size);				\
	CHECK(!strcmp(s.host, host_), "%s", s.host);			\
	CHECK(!(port_) || s.port == (port_), "%u", s.port);		\
})

static struct hcomm_start s;

static void test_none(void)
{
	clearenv();
	STARTED(0, 1, "", 0);
	ENV("HOME", "/", "PATH", "/bin", "SLURM_JOB_ID", "7", "RANK", "colonel");
	STARTED(0, 1, "", 0);
	/* a batch script is no job step */
	ENV("SLURM_PROCID", "0", "SLURM_NTASKS", "8");
	STARTED(0, 1, "", 0);
}

static void test_bare(void)
{
	ENV("HCOMM_RANK", "3", "HCOMM_SIZE", "4", "HCOMM_ROOT", "10.0.0.1:4711",
	    "RANK", "9", "WORLD_SIZE", "10", "PMI_RANK", "1", "PMI_SIZE", "2");
	STARTED(3, 4, "10.0.0.1", 4711);
	ENV("HCOMM_RANK", "0", "HCOMM_SIZE", "2", "HCOMM_ROOT", "[fe80::1]:65535");
	STARTED(0, 2, "fe80::1", 65535);
	ENV("HCOMM_RANK", "0", "HCOMM_SIZE", "1");
	STARTED(0, 1, "", 0);

	ENV("HCOMM_RANK", "0");
	REFUSED(hcomm_env_start(&s), "HCOMM_SIZE");
	ENV("HCOMM_SIZE", "2");
	REFUSED(hcomm_env_start(&s), "HCOMM_RANK");
	ENV("HCOMM_RANK", "0", "HCOMM_SIZE", "2");
	REFUSED(hcomm_env_start(&s), "HCOMM_ROOT");
	ENV("HCOMM_RANK", "2", "HCOMM_SIZE", "2", "HCOMM_ROOT", "a:1");
	REFUSED(hcomm_env_start(&s), "HCOMM_RANK=2");
}

static void test_bad_numbers(void)
{
	static const char *const bad[] = { "", " 1", "1 ", "-1", "+1", "0x1", "1.0",
		"one", "99999999999999999999999", "18446744073709551616", "65536" };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		ENV("HCOMM_RANK", bad[i], "HCOMM_SIZE", "4", "HCOMM_ROOT", "a:1");
		REFUSED(hcomm_env_start(&s), "HCOMM_RANK");
	}
	ENV("HCOMM_RANK", "0", "HCOMM_SIZE", "0", "HCOMM_ROOT", "a:1");
	REFUSED(hcomm_env_start(&s), "HCOMM_SIZE=0");
}

static void test_bad_roots(void)
{
	static const char *const bad[] = { "", "host", ":1", "host:", "host:0",
		"host:65536", "host:x", "::1:5", "[::1]", "[]:5", "[::1:5" };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		ENV("HCOMM_RANK", "0", "HCOMM_SIZE", "4", "HCOMM_ROOT", bad[i]);
		REFUSED(hcomm_env_start(&s), "HCOMM_ROOT=");
	}
}

static void test_torchrun(void)
{
	ENV("RANK", "5", "WORLD_SIZE", "8", "LOCAL_RANK", "1", "MASTER_ADDR", "n0",
	    "MASTER_PORT", "29500", "TORCHELASTIC_RUN_ID", "abc");
	STARTED(5, 8, "n0", 29501);
	CHECK(s.local_rank == 1, "%d", s.local_rank);
	CHECK(!strcmp(s.launcher, "torchrun"), "%s", s.launcher);
	setenv("HCOMM_PORT", "1234", 1);
	STARTED(5, 8, "n0", 1234);
	setenv("HCOMM_ROOT", "n9:99", 1);
	STARTED(5, 8, "n9", 99);
	ENV("RANK", "5", "WORLD_SIZE", "8");
	REFUSED(hcomm_env_start(&s), "MASTER_ADDR");
	ENV("RANK", "5", "WORLD_SIZE", "8", "MASTER_ADDR", "n0");
	REFUSED(hcomm_env_start(&s), "MASTER_PORT");
	ENV("RANK", "5", "WORLD_SIZE", "8", "MASTER_ADDR", "n0", "MASTER_PORT", "x");
	REFUSED(hcomm_env_start(&s), "MASTER_PORT=x");
}

static void test_open_mpi(void)
{
	uint16_t port;

	ENV("OMPI_COMM_WORLD_RANK", "1", "OMPI_COMM_WORLD_SIZE", "4",
	    "OMPI_COMM_WORLD_LOCAL_RANK", "1", "OMPI_COMM_WORLD_LOCAL_SIZE", "4",
	    "PMIX_NAMESPACE", "1234567");
	STARTED(1, 4, "127.0.0.1", 0);
	port = s.port;
	CHECK(port >= 18000 && port < 30000, "%u", port);
	/* the same on all ranks, another for another job */
	setenv("OMPI_COMM_WORLD_RANK", "3", 1);
	STARTED(3, 4, "127.0.0.1", port);
	setenv("PMIX_NAMESPACE", "1234568", 1);
	STARTED(3, 4, "127.0.0.1", 0);
	CHECK(s.port != port, "two jobs on port %u", port);
	/* on two nodes somebody must say where rank 0 is */
	setenv("OMPI_COMM_WORLD_LOCAL_SIZE", "2", 1);
	REFUSED(hcomm_env_start(&s), "HCOMM_ROOT");
	setenv("MASTER_ADDR", "10.1.1.1", 1);
	setenv("MASTER_PORT", "5000", 1);
	STARTED(3, 4, "10.1.1.1", 5001);
}

static void test_pmi(void)
{
	ENV("PMI_RANK", "1", "PMI_SIZE", "2", "MPI_LOCALNRANKS", "2", "HCOMM_SECRET",
	    "s");
	STARTED(1, 2, "127.0.0.1", 0);
	ENV("PMI_RANK", "1", "PMI_SIZE", "2", "MPI_LOCALNRANKS", "2");
	REFUSED(hcomm_env_start(&s), "HCOMM_PORT");
	ENV("PMI_RANK", "1", "PMI_SIZE", "2", "HCOMM_ROOT", "h:9");
	STARTED(1, 2, "h", 9);
	ENV("PMI_RANK", "1");
	REFUSED(hcomm_env_start(&s), "PMI_SIZE");
}

/* The port of a job whose proxy, at the other end of PMI_FD, is this process. */
static uint16_t port_of_proxy(const char *size)
{
	char fd[16];
	int pair[2];

	CHECK(!socketpair(AF_UNIX, SOCK_STREAM, 0, pair), "no sockets");
	snprintf(fd, sizeof(fd), "%d", pair[1]);
	ENV("PMI_RANK", "1", "PMI_SIZE", size, "MPI_LOCALNRANKS", "2", "PMI_FD", fd);
	s.port = 0;
	if (hcomm_env_start(&s))
		s.port = 0;
	close(pair[0]);
	close(pair[1]);
	return s.port;
}

static void test_hydra(void)
{
	uint16_t port = port_of_proxy("2");
	int status = 0;
	pid_t pid;

	CHECK(port >= 18000 && port < 30000, "%u: %s", port, hcomm_error_text());
	CHECK(port_of_proxy("2") == port, "%u, then %u", port, s.port);
	/* a proxy is of one node, with several it tells ranks apart, not jobs */
	CHECK(!port_of_proxy("3"), "port %u with two nodes", s.port);
	pid = fork();
	if (!pid)
		_exit(port_of_proxy("2") == port);
	CHECK(waitpid(pid, &status, 0) == pid && !status, "two jobs on port %u", port);
	ENV("PMI_RANK", "1", "PMI_SIZE", "2", "MPI_LOCALNRANKS", "2", "PMI_FD", "999");
	REFUSED(hcomm_env_start(&s), "HCOMM_PORT");
}

static void test_slurm(void)
{
	static const char *const lists[][2] = {
		{ "n1", "n1" }, { "a,b", "a" }, { "n[03-07,9]", "n03" },
		{ "rack[1-2]n[5-9],x", "rack1n5" }, { "n[7]x", "n7x" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(lists); i++) {
		ENV("SLURM_PROCID", "2", "SLURM_NTASKS", "6", "SLURM_JOB_ID", "12",
		    "SLURM_STEP_ID", "0", "SLURM_LOCALID", "0",
		    "SLURM_STEP_NODELIST", lists[i][0]);
		STARTED(2, 6, lists[i][1], 0);
		CHECK(s.port >= 18000, "%u", s.port);
	}
	setenv("SLURM_STEP_NODELIST", "n[x]", 1);
	REFUSED(hcomm_env_start(&s), "SLURM_STEP_NODELIST");
	unsetenv("SLURM_STEP_NODELIST");
	REFUSED(hcomm_env_start(&s), "HCOMM_ROOT");
	/* srun --mpi=pmi2; and mpiexec in a step of two proxies */
	ENV("SLURM_PROCID", "1", "SLURM_NTASKS", "2", "SLURM_JOB_ID", "12",
	    "SLURM_STEP_ID", "0", "SLURM_STEP_NODELIST", "n[3,5]",
	    "PMI_RANK", "1", "PMI_SIZE", "2", "PMI_JOBID", "12.0");
	STARTED(1, 2, "n3", 0);
	CHECK(!strcmp(s.launcher, "Slurm"), "%s", s.launcher);
	setenv("PMI_SIZE", "8", 1);
	setenv("HCOMM_ROOT", "n3:9", 1);
	STARTED(1, 8, "n3", 9);
	CHECK(!strcmp(s.launcher, "PMI"), "%s", s.launcher);
}

static void test_secret(void)
{
	struct hcomm_start a, b;

	ENV("HCOMM_RANK", "0", "HCOMM_SIZE", "2", "HCOMM_ROOT", "h:9",
	    "HCOMM_SECRET", "one");
	CHECK(!hcomm_env_start(&a), "%s", hcomm_error_text());
	setenv("HCOMM_RANK", "1", 1);
	CHECK(!hcomm_env_start(&b), "%s", hcomm_error_text());
	CHECK(!memcmp(a.secret, b.secret, 32), "ranks differ");
	CHECK(!strcmp(a.secret_kind, "HCOMM_SECRET"), "%s", a.secret_kind);
	setenv("HCOMM_SECRET", "two", 1);
	CHECK(!hcomm_env_start(&b), "%s", hcomm_error_text());
	CHECK(memcmp(a.secret, b.secret, 32), "secret is not used");
	setenv("HCOMM_SECRET", "", 1);
	REFUSED(hcomm_env_start(&s), "HCOMM_SECRET");
	unsetenv("HCOMM_SECRET");
	CHECK(!hcomm_env_start(&a), "%s", hcomm_error_text());
	CHECK(!strcmp(a.secret_kind, "address only"), "%s", a.secret_kind);
}

/* ---------------------------------------------------------------------- options */

static struct hcomm_options o;

static void test_options(void)
{
	hcommConfig_t c = HCOMM_CONFIG_INITIALIZER;

	clearenv();
	CHECK(!hcomm_options_read(NULL, &o), "%s", hcomm_error_text());
	CHECK(o.chunk_size == 256 << 10 && o.eager_size == 4096, "defaults");
	CHECK(o.transports == HCOMM_TRANSPORT_ALL, "%#x", o.transports);
	CHECK(o.bootstrap_timeout_ms == 60000 && !o.run_timeout_ms, "timeouts");
	ENV("HCOMM_CHUNK_SIZE", "64K", "HCOMM_EAGER_SIZE", "8192", "HCOMM_MAX_RUNS",
	    "32", "HCOMM_TRANSPORT", "rdma", "HCOMM_CONNECT_TIMEOUT", "0.25",
	    "HCOMM_BOOTSTRAP_TIMEOUT", "7", "HCOMM_TIMEOUT", "1.5", "HCOMM_NIC",
	    "^rxe1", "HCOMM_BOUNCE_SIZE", "0", "HCOMM_PLAN_CACHE", "4");
	CHECK(!hcomm_options_read(NULL, &o), "%s", hcomm_error_text());
	CHECK(o.chunk_size == 65536 && o.eager_size == 8192, "sizes");
	CHECK(o.max_runs == 32 && o.transports == HCOMM_TRANSPORT_RDMA, "runs");
	CHECK(o.connect_timeout_ms == 250, "%u", o.connect_timeout_ms);
	CHECK(o.bootstrap_timeout_ms == 7000 && o.run_timeout_ms == 1500, "timeouts");
	CHECK(!strcmp(o.nic, "^rxe1") && !o.bounce_size && o.cache_size == 4, "rest");
	/* the environment wins over the program */
	c.chunkSize = 8192;
	c.maxRuns = 3;
	unsetenv("HCOMM_MAX_RUNS");
	setenv("HCOMM_EAGER_SIZE", "64", 1);
	CHECK(!hcomm_options_read(&c, &o), "%s", hcomm_error_text());
	CHECK(o.chunk_size == 65536 && o.max_runs == 3, "%u %u", o.chunk_size,
	      o.max_runs);
	clearenv();
	c.chunkSize = 5000;
	CHECK(hcomm_options_read(&c, &o) == HCOMM_ERR_INVALID_ARGUMENT, "5000");
	c.chunkSize = 0;
	c.size = 4;
	CHECK(hcomm_options_read(&c, &o) == HCOMM_ERR_INVALID_ARGUMENT, "size");
	ENV("HCOMM_CHUNK_SIZE", "4K", "HCOMM_EAGER_SIZE", "8K");
	CHECK(hcomm_options_read(NULL, &o) == HCOMM_ERR_ENVIRONMENT, "eager above chunk");
	CHECK(strstr(hcomm_error_text(), "HCOMM_EAGER_SIZE 8192: at most the chunk size, 4096 (HCOMM_CHUNK_SIZE)"),
	      "%s", hcomm_error_text());
}

static void test_bad_options(void)
{
	static const char *const bad[][2] = {
		{ "HCOMM_CHUNK_SIZE", "5000" }, { "HCOMM_CHUNK_SIZE", "2M" },
		{ "HCOMM_CHUNK_SIZE", "K" }, { "HCOMM_CHUNK_SIZE", "64KB" },
		{ "HCOMM_EAGER_SIZE", "0" }, { "HCOMM_EAGER_SIZE", "100" },
		{ "HCOMM_MAX_RUNS", "0" }, { "HCOMM_MAX_RUNS", "65" },
		{ "HCOMM_TRANSPORT", "tcp" }, { "HCOMM_TRANSPORT", "" },
		{ "HCOMM_TRANSPORT", "local," }, { "HCOMM_TRANSPORT", "local rdma" },
		{ "HCOMM_CONNECT_TIMEOUT", "0" }, { "HCOMM_CONNECT_TIMEOUT", "1.0000" },
		{ "HCOMM_CONNECT_TIMEOUT", "." }, { "HCOMM_CONNECT_TIMEOUT", "1." },
		{ "HCOMM_BOOTSTRAP_TIMEOUT", "-1" }, { "HCOMM_TIMEOUT", "3601" },
		{ "HCOMM_NIC", "" }, { "HCOMM_NIC", "^" }, { "HCOMM_ALGO", "rings" },
		{ "HCOMM_ALGO", "" }, { "HCOMM_ALGO", "p2p" },
		{ "HCOMM_ALGO", "allreduce:rings" }, { "HCOMM_ALGO", "all:ring" },
		{ "HCOMM_ALGO", "broadcast:ring" }, { "HCOMM_ALGO", "allreduce:ring,^tree" },
		{ "HCOMM_ALGO", "allreduce:ring;" }, { "HCOMM_ALGO", "allreduce" },
		{ "HCOMM_ALGO_TABLE", "" }, { "HCOMM_ALGO_TABLE", "@/nonexistent" },
		{ "HCOMM_PROTO", "read" }, { "HCOMM_MODEL", "/nonexistent" },
		{ "HCOMM_MODEL", "/dev/null" },
		{ "HCOMM_TUNER", "" }, { "HCOMM_TUNE", "2" }, { "HCOMM_PROBE", "yes" },
		{ "HCOMM_GROUP", "-1" }, { "HCOMM_SOCKET_IFNAME", "" },
		{ "HCOMM_SOCKET_IFNAME", "^" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		ENV(bad[i][0], bad[i][1]);
		REFUSED(hcomm_options_read(NULL, &o), bad[i][0]);
	}
	ENV("HCOMM_BOUNCE_SIZE", "2M");
	REFUSED(hcomm_options_read(NULL, &o), "use 0 to 1048576 bytes");
	ENV("HCOMM_ALGO", "rings");
	REFUSED(hcomm_options_read(NULL, &o), hcomm_algo_name(HCOMM_ALGO_DOUBLE_TREE));
}

/* what is wanted gets to the planner, and the environment has the last word */
static void test_wishes(void)
{
	hcommConfig_t c = HCOMM_CONFIG_INITIALIZER;

	clearenv();
	c.algo = "allreduce:dbtree";
	c.algoTable = "reduce: 0-=tree";
	c.proto = "write";
	c.tune = 1;
	CHECK(!hcomm_options_read(&c, &o), "%s", hcomm_error_text());
	CHECK(o.policy.only[HCOMM_COLL_ALLREDUCE] == 1u << HCOMM_ALGO_DOUBLE_TREE,
	      "%#x", o.policy.only[HCOMM_COLL_ALLREDUCE]);
	CHECK(hcomm_policy_lookup(&o.policy, HCOMM_COLL_REDUCE, 1) ==
	      HCOMM_ALGO_BINOMIAL, "table");
	CHECK(o.eager_size == 64 && o.tune == 1 && !o.probe, "%u", o.eager_size);
	ENV("HCOMM_ALGO", "ring", "HCOMM_PROTO", "eager", "HCOMM_TUNE", "0",
	    "HCOMM_ALGO_TABLE", "allreduce: 1K-=rd", "HCOMM_PROBE", "1");
	CHECK(!hcomm_options_read(&c, &o), "%s", hcomm_error_text());
	CHECK(o.policy.only[HCOMM_COLL_ALLREDUCE] == 1u << HCOMM_ALGO_RING,
	      "%#x", o.policy.only[HCOMM_COLL_ALLREDUCE]);
	CHECK(!hcomm_policy_lookup(&o.policy, HCOMM_COLL_REDUCE, 1), "table");
	CHECK(o.eager_size == HCOMM_MAX_EAGER_SIZE && !o.tune && o.probe, "%u",
	      o.eager_size);
	/* an eager size that is named stays */
	setenv("HCOMM_EAGER_SIZE", "128", 1);
	CHECK(!hcomm_options_read(&c, &o), "%s", hcomm_error_text());
	CHECK(o.eager_size == 128, "%u", o.eager_size);
	clearenv();
	c.proto = "rdma";
	CHECK(hcomm_options_read(&c, &o) == HCOMM_ERR_INVALID_ARGUMENT, "proto");
	c.proto = NULL;
	c.tune = 2;
	CHECK(hcomm_options_read(&c, &o) == HCOMM_ERR_INVALID_ARGUMENT, "tune");
}

static void test_log(void)
{
	ENV("HCOMM_LOG_LEVEL", "loud");
	REFUSED(hcomm_log_setup(), "HCOMM_LOG_LEVEL=loud");
	ENV("HCOMM_DEBUG", "yes");
	REFUSED(hcomm_log_setup(), "HCOMM_DEBUG=yes");
	ENV("HCOMM_LOG_LEVEL", "warn", "HCOMM_DEBUG", "1");
	CHECK(!hcomm_log_setup(), "%s", hcomm_error_text());
	CHECK(hcomm_log_level == HCOMM_LOG_WARN && hcomm_log_decisions, "set");
	clearenv();
	CHECK(!hcomm_log_setup(), "%s", hcomm_error_text());
	CHECK(hcomm_log_level == HCOMM_LOG_NONE && !hcomm_log_decisions, "unset");
}

/* a value that one rank does not need is read all the same */
static void test_unused(void)
{
	static const char *const bad[][2] = {
		{ "HCOMM_ROOT", "garbage" }, { "HCOMM_PORT", "70000" },
		{ "HCOMM_SECRET", "" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		ENV("HCOMM_RANK", "0", "HCOMM_SIZE", "1", bad[i][0], bad[i][1]);
		REFUSED(hcomm_env_start(&s), bad[i][0]);
		ENV(bad[i][0], bad[i][1]);
		REFUSED(hcomm_env_start(&s), bad[i][0]);
	}
	ENV("HCOMM_RANK", "0", "HCOMM_SIZE", "1", "HCOMM_ROOT", "a:1", "HCOMM_PORT", "5");
	STARTED(0, 1, "", 0);
}

/* what a function writes to stderr */
static void written_by(void (*fn)(void), char *text, size_t room)
{
	int fds[2], old = dup(STDERR_FILENO);
	ssize_t n;

	if (!CHECK(!pipe(fds), "pipe"))
		return;
	dup2(fds[1], STDERR_FILENO);
	fn();
	dup2(old, STDERR_FILENO);
	close(old);
	close(fds[1]);
	n = read(fds[0], text, room - 1);
	text[n > 0 ? n : 0] = 0;
	close(fds[0]);
}

static void test_unknown(void)
{
	char text[1024];

	CHECK(hcomm_env_known("HCOMM_TUNER=x") && hcomm_env_known("HOME=/"), "known");
	CHECK(!hcomm_env_known("HCOMM_TUNERS=x") && !hcomm_env_known("HCOMM_TUN=x") &&
	      !hcomm_env_known("HCOMM_="), "unknown");
	ENV("HCOMM_CHUNKSIZE", "64K", "HCOMM_CHUNK_SIZE", "64K", "HCOMM_LOG_LEVEL", "error");
	CHECK(!hcomm_log_setup(), "%s", hcomm_error_text());
	written_by(hcomm_env_warn_unknown, text, sizeof(text));
	CHECK(!*text, "%s", text);
	setenv("HCOMM_LOG_LEVEL", "warn", 1);
	CHECK(!hcomm_log_setup(), "%s", hcomm_error_text());
	written_by(hcomm_env_warn_unknown, text, sizeof(text));
	CHECK(strstr(text, "HCOMM_CHUNKSIZE is set"), "%s", text);
	CHECK(!strstr(text, "HCOMM_CHUNK_SIZE") && !strstr(text, "HCOMM_LOG"), "%s", text);
	/* and once only */
	written_by(hcomm_env_warn_unknown, text, sizeof(text));
	CHECK(!*text, "%s", text);
	clearenv();
	CHECK(!hcomm_log_setup(), "%s", hcomm_error_text());
}

int main(void)
{
	RUN(test_none(), "no launcher: one rank");
	RUN(test_bare(), "HCOMM_RANK, HCOMM_SIZE, HCOMM_ROOT");
	RUN(test_bad_numbers(), "bad numbers are refused by name");
	RUN(test_bad_roots(), "bad addresses are refused by name");
	RUN(test_torchrun(), "torchrun");
	RUN(test_open_mpi(), "Open MPI");
	RUN(test_pmi(), "PMI");
	RUN(test_hydra(), "PMI: jobs of one node by their proxy");
	RUN(test_slurm(), "Slurm");
	RUN(test_secret(), "secrets");
	RUN(test_options(), "options, and who wins");
	RUN(test_bad_options(), "bad options are refused by name");
	RUN(test_wishes(), "what the planner is told");
	RUN(test_log(), "log level");
	RUN(test_unused(), "bad values that are not needed are refused, too");
	RUN(test_unknown(), "variables that are not known are named");
	return tap_end();
}
