// SPDX-License-Identifier: GPL-2.0-only
/*
 * What calls promise beside right sums: several in flight, plans that are kept, forks
 * and signals that do no harm.  Two ranks or more.
 */
#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>

#include "api_util.h"

static void test_async_colls(void)
{
	enum { N = 8, COUNT = 20000 };
	float *buf[N];
	hcommRequest_t req[N];
	int i, k;

	for (i = 0; i < N; i++) {
		buf[i] = hcommMalloc(COUNT * sizeof(float));
		for (k = 0; k < COUNT; k++)
			buf[i][k] = (float)(rank + i + k % 5);
	}
	for (i = 0; i < N; i++) {
		hcommResult_t r;

		r = hcommAllReduceAsync(buf[i], buf[i], COUNT, hcommFloat32, hcommSum,
					COMM_WORLD, &req[i]);
		MUST(r);
	}
	/* another call between them and their end */
	MUST(hcommBarrier(COMM_WORLD));
	MUST(hcommWaitAll(N, req));
	for (i = 0; i < N; i++) {
		for (k = 0; k < COUNT; k++) {
			float want = (float)(size * (size - 1) / 2 +
					     size * (i + k % 5));

			if (buf[i][k] != want) {
				FAIL("call %d element %d: %g, not %g", i, k,
				     buf[i][k], want);
				break;
			}
		}
		MUST(hcommFree(buf[i]));
	}
	verdict("several collectives in flight");
}

/* each rank's input times a number of its own, in both kinds of arithmetic */
static void test_premul(void)
{
	hcommRedOp_t ints = hcommSum, floats = hcommSum, other = hcommSum;
	int32_t factor = rank + 2, in[100], out[100], want[100];
	float ffactor = (float)rank + 0.5f, fin[100], fout[100], fwant[100];
	int i, r;

	memset(want, 0, sizeof(want));
	memset(fwant, 0, sizeof(fwant));
	for (i = 0; i < 100; i++) {
		in[i] = i - 50 * rank;
		fin[i] = (float)(i + rank);
		for (r = 0; r < size; r++) {
			want[i] += (r + 2) * (i - 50 * r);
			fwant[i] += ((float)r + 0.5f) * (float)(i + r);
		}
	}
	MUST(hcommRedOpCreatePreMulSum(&ints, &factor, hcommInt32, COMM_WORLD));
	MUST(hcommRedOpCreatePreMulSum(&floats, &ffactor, hcommFloat32, COMM_WORLD));
	MUST(hcommAllReduce(in, out, 100, hcommInt32, ints, COMM_WORLD));
	if (memcmp(out, want, sizeof(want)))
		FAIL("integers: element 1 is %d, must be %d", out[1], want[1]);
	for (i = 0; i < 100; i++) {
		if (in[i] != i - 50 * rank)
			FAIL("input %d has changed", i);
	}
	MUST(hcommAllReduce(in, in, 100, hcommInt32, ints, COMM_WORLD));
	if (memcmp(in, want, sizeof(want)))
		FAIL("integers, in place: element 1 is %d, must be %d", in[1], want[1]);
	MUST(hcommReduce(fin, fout, 100, hcommFloat32, floats, size - 1, COMM_WORLD));
	if (rank == size - 1 && memcmp(fout, fwant, sizeof(fwant)))
		FAIL("floats: element 1 is %f, must be %f", (double)fout[1], (double)fwant[1]);
	expect(hcommAllReduce(in, out, 100, hcommInt64, ints, COMM_WORLD),
	       HCOMM_ERR_INVALID_ARGUMENT, "made for int32");
	expect(hcommRedOpCreatePreMulSum(&other, NULL, hcommInt32, COMM_WORLD),
	       HCOMM_ERR_INVALID_ARGUMENT, "scalar");
	expect(hcommRedOpDestroy(hcommSum, COMM_WORLD), HCOMM_ERR_INVALID_ARGUMENT, "op");
	MUST(hcommRedOpDestroy(ints, COMM_WORLD));
	expect(hcommAllReduce(in, out, 100, hcommInt32, ints, COMM_WORLD),
	       HCOMM_ERR_INVALID_ARGUMENT, "op");
	MUST(hcommRedOpDestroy(floats, COMM_WORLD));
	verdict("sums of scaled inputs");
}

static void test_plans(void)
{
	hcommStats_t a = { .size = sizeof(a) }, b = { .size = sizeof(b) };
	hcommComm_t comm;
	int32_t x[64] = { 0 };
	int i;

	setenv("HCOMM_PLAN_CACHE", "4", 1);
	comm = new_comm();
	unsetenv("HCOMM_PLAN_CACHE");
	MUST(hcommAllReduce(x, x, 10, hcommInt32, hcommSum, comm));
	MUST(hcommCommGetStats(comm, &a));
	for (i = 0; i < 10; i++)
		MUST(hcommAllReduce(x, x, 10, hcommInt32, hcommSum, comm));
	MUST(hcommCommGetStats(comm, &b));
	if (b.plansBuilt != a.plansBuilt || b.planHits != a.planHits + 10 ||
	    b.launches != a.launches + 10)
		FAIL("plans %llu, hits %llu, launches %llu",
		     (unsigned long long)(b.plansBuilt - a.plansBuilt),
		     (unsigned long long)(b.planHits - a.planHits),
		     (unsigned long long)(b.launches - a.launches));
	for (i = 0; i < 20; i++)
		MUST(hcommAllReduce(x, x, 11 + (size_t)i % 10, hcommInt32, hcommSum,
				    comm));
	MUST(hcommCommGetStats(comm, &b));
	if (b.plansEvicted < 16)
		FAIL("%llu plans evicted", (unsigned long long)b.plansEvicted);
	MUST(hcommCommDestroy(comm));
	verdict("plans are kept, and given up in turn");
}

static void test_fork(void)
{
	int status;
	pid_t pid;
	char byte = 0;

	pid = fork();
	if (!pid) {
		if (hcommBarrier(COMM_WORLD) != HCOMM_ERR_FORKED ||
		    hcommInit(NULL, NULL) != HCOMM_ERR_FORKED ||
		    hcommMalloc(1) || hcommFinalize() != HCOMM_ERR_FORKED ||
		    !strstr(hcommGetLastError(NULL), "child"))
			_exit(1);
		/* lives on while its parent goes on */
		usleep(300000);
		_exit(0);
	}
	MUST(hcommBcast(&byte, 1, hcommInt8, 0, COMM_WORLD));
	waitpid(pid, &status, 0);
	if (status)
		FAIL("child: status %#x", status);
	verdict("a child gets HCOMM_ERR_FORKED and does no harm");
}

static volatile sig_atomic_t signals;

static void count_signal(int sig)
{
	(void)sig;
	signals++;
}

/* signals without SA_RESTART while calls wait */
static void test_signals(void)
{
	struct sigaction sa = { .sa_handler = count_signal };
	struct itimerval every = { { 0, 2000 }, { 0, 2000 } }, never = { { 0, 0 }, { 0, 0 } };
	int32_t x;
	int i;

	sigaction(SIGALRM, &sa, NULL);
	setitimer(ITIMER_REAL, &every, NULL);
	for (i = 0; i < 100; i++) {
		x = i;
		if (i % size == rank)
			usleep(3000);
		MUST(hcommAllReduce(&x, &x, 1, hcommInt32, hcommSum, COMM_WORLD));
		if (x != i * size)
			FAIL("turn %d: %d", i, x);
	}
	setitimer(ITIMER_REAL, &never, NULL);
	if (!signals)
		FAIL("no signal came");
	verdict("signals interrupt no call");
}

int main(int argc, char **argv)
{
	begin(&argc, &argv);
	need_two();
	RUN_TESTS(test_async_colls, test_premul, test_plans, test_fork, test_signals);
	return end();
}
