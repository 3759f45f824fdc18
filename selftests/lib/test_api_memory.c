// SPDX-License-Identifier: GPL-2.0-only
/* Memory of the caller: mapped again, registered, limited.  Two ranks or more. */
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "api_util.h"

/* memory that is unmapped and mapped again between calls */
static void test_remap(void)
{
	size_t n = 300000;
	void *at = NULL;
	uint8_t *p;
	int turn;

	for (turn = 0; turn < 4; turn++) {
		p = mmap(at, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS |
			 (at ? MAP_FIXED : 0), -1, 0);
		at = p;
		if (rank == 0)
			pattern(p, n, turn);
		MUST(hcommBcast(p, n, hcommUint8, 0, COMM_WORLD));
		expect_pattern(p, n, turn, "remapped memory");
		munmap(p, n);
	}
	verdict("memory that is mapped again is never stale");
}

static void test_memory(void)
{
	hcommStats_t a = { .size = sizeof(a) }, b = { .size = sizeof(b) };
	size_t n = 400000;
	uint8_t *p = malloc(n);
	hcommMem_t mem, again;

	memset(p, 1, n);
	MUST(hcommMemRegister(p, n, &mem));
	expect(hcommMemRegister(p + 10, 10, &again), HCOMM_ERR_INVALID_ARGUMENT,
	       "overlap");
	MUST(hcommCommGetStats(COMM_WORLD, &a));
	MUST(hcommAllReduce(p + 1, p + 1, n - 1, hcommUint8, hcommMax, COMM_WORLD));
	MUST(hcommCommGetStats(COMM_WORLD, &b));
	if (b.pinned != a.pinned || b.bounced != a.bounced)
		FAIL("registered memory was not used");
	MUST(hcommMemDeregister(mem));
	MUST(hcommAllReduce(p + 1, p + 1, n - 1, hcommUint8, hcommMax, COMM_WORLD));
	MUST(hcommCommGetStats(COMM_WORLD, &b));
	if (b.pinned != a.pinned + 1)
		FAIL("memory that is not registered was pinned %llu times",
		     (unsigned long long)(b.pinned - a.pinned));
	free(p);
	verdict("registered memory is used as it is");
}

/* without CAP_IPC_LOCK the limit counts: the text says which */
static void test_memlock(void)
{
	struct rlimit lim = { 1 << 20, 1 << 20 };
	pid_t pid;
	int status;

	/* a child that has its own context, and no privileges */
	pid = fork();
	if (!pid) {
		char arg[16];

		snprintf(arg, sizeof(arg), "%d", rank);
		if (setrlimit(RLIMIT_MEMLOCK, &lim) || setgid(65534) ||
		    setuid(65534))
			_exit(77);
		execl("/proc/self/exe", "test_api_memory", "--memlock", arg, NULL);
		_exit(78);
	}
	waitpid(pid, &status, 0);
	if (status)
		FAIL("status %#x", status);
	verdict("the locked memory limit is told in numbers");
}

static int memlock_child(void)
{
	hcommMem_t mem;
	uint8_t *p = malloc(8 << 20);
	hcommResult_t r;

	unsetenv("HCOMM_RANK");
	unsetenv("HCOMM_SIZE");
	unsetenv("HCOMM_ROOT");
	r = hcommInit(NULL, NULL);
	if (r) {
		printf("# init: %s\n", hcommGetLastError(NULL));
		return 1;
	}
	memset(p, 1, 8 << 20);
	r = hcommMemRegister(p, 8 << 20, &mem);
	if (r != HCOMM_ERR_MEMLOCK ||
	    !strstr(hcommGetLastError(NULL), "the limit is 1048576") ||
	    !strstr(hcommGetLastError(NULL), "RLIMIT_MEMLOCK")) {
		printf("# %s: %s\n", hcommGetErrorString(r), hcommGetLastError(NULL));
		return 2;
	}
	free(p);
	return hcommFinalize() != HCOMM_SUCCESS;
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "--memlock")) {
		rank = atoi(argv[2]);
		return memlock_child();
	}
	begin(&argc, &argv);
	need_two();
	RUN_TESTS(test_remap, test_memory, test_memlock);
	return end();
}
