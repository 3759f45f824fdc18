// SPDX-License-Identifier: GPL-2.0-only
/*
 * What happens to memory while it is registered: mappings that change, processes that
 * fork, exec, die or pass the file on, and limits.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include "solo.h"
#include "kselftest_harness.h"

#define LEN	(64u << 10)

FIXTURE(life)
{
	struct solo s;
	uint8_t *p;
	uint32_t id;
	long pinned;
};

FIXTURE_SETUP(life)
{
	ASSERT_EQ(0, solo_open(&self->s, LEN));
	self->pinned = vm_pin_kb();
	self->p = pages(LEN);
	ASSERT_NE(NULL, self->p);
	memset(self->p, 'a', LEN);
	ASSERT_EQ(0, mem_reg(self->s.fd, self->p, LEN, 0, &self->id));
}

FIXTURE_TEARDOWN(life)
{
	destroy(self->s.fd, self->id);
	EXPECT_EQ(self->pinned, vm_pin_kb());
	munmap(self->p, LEN);
	solo_close(&self->s);
}

/* ------------------------------------------------------------- mappings that change */

TEST_F(life, advice)
{
	static const int harmless[] = {
		MADV_DONTFORK, MADV_DOFORK, MADV_FREE, MADV_MERGEABLE, MADV_UNMERGEABLE,
		MADV_WILLNEED, 20 /* COLD */, 21 /* PAGEOUT */, 23 /* POPULATE_WRITE */,
	};

	for (size_t i = 0; i < ARRAY_LEN(harmless); i++) {
		/* What this kernel has of them. */
		madvise(self->p, LEN, harmless[i]);
		memset(self->p, 'b' + i, LEN);
		EXPECT_TRUE(solo_sees(&self->s, self->id, 'b' + i));
		EXPECT_EQ(0, solo_fill(&self->s, self->id, 'B' + i));
		EXPECT_TRUE(all_are(self->p, 'B' + i, LEN));
	}
	/* The object keeps what the process gives up. */
	memset(self->p, 'x', LEN);
	EXPECT_EQ(0, madvise(self->p, LEN, MADV_DONTNEED));
	EXPECT_TRUE(all_are(self->p, 0, LEN));
	EXPECT_TRUE(solo_sees(&self->s, self->id, 'x'));
	EXPECT_EQ(0, solo_fill(&self->s, self->id, 'y'));
	EXPECT_TRUE(all_are(self->p, 0, LEN));
}

TEST_F(life, mapped_anew)
{
	uint32_t other;
	void *q;

	q = mmap(self->p, LEN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
		 -1, 0);
	ASSERT_EQ(self->p, q);
	memset(self->p, 'n', LEN);
	ASSERT_EQ(0, mem_reg(self->s.fd, self->p, LEN, 0, &other));
	EXPECT_TRUE(solo_sees(&self->s, self->id, 'a'));
	EXPECT_TRUE(solo_sees(&self->s, other, 'n'));
	EXPECT_EQ(0, solo_fill(&self->s, self->id, 'o'));
	EXPECT_TRUE(all_are(self->p, 'n', LEN));
	EXPECT_EQ(0, destroy(self->s.fd, other));
}

TEST_F(life, moved)
{
	uint8_t *to = pages(LEN);

	ASSERT_EQ(to, mremap(self->p, LEN, LEN, MREMAP_MAYMOVE | MREMAP_FIXED, to));
	self->p = to;
	memset(to, 'm', LEN);
	EXPECT_TRUE(solo_sees(&self->s, self->id, 'm'));
	EXPECT_EQ(0, solo_fill(&self->s, self->id, 'n'));
	EXPECT_TRUE(all_are(to, 'n', LEN));
}

TEST_F(life, protected)
{
	uint32_t other;

	ASSERT_EQ(0, mprotect(self->p, LEN, PROT_READ));
	EXPECT_EQ(-EFAULT, mem_reg(self->s.fd, self->p, LEN, 0, &other));
	/* Registered while it could be written. */
	EXPECT_EQ(0, solo_fill(&self->s, self->id, 'w'));
	EXPECT_TRUE(all_are(self->p, 'w', LEN));
	ASSERT_EQ(0, mprotect(self->p, LEN, PROT_NONE));
	EXPECT_TRUE(solo_sees(&self->s, self->id, 'w'));
	EXPECT_EQ(-EFAULT, mem_reg(self->s.fd, self->p, LEN, 0, &other));
	ASSERT_EQ(0, mprotect(self->p, LEN, PROT_READ | PROT_WRITE));
	memset(self->p, 'v', LEN);
	EXPECT_TRUE(solo_sees(&self->s, self->id, 'v'));
}

/* ------------------------------------------------------------------- other processes */

/* Two processes take turns. */
static bool give(int fd, uint32_t v)
{
	return write(fd, &v, sizeof(v)) == sizeof(v);
}

static bool take(int fd, uint32_t *v)
{
	return read(fd, v, sizeof(*v)) == sizeof(*v);
}

static int forked_child(int fd, uint8_t *p, int inherited)
{
	uint32_t mine, theirs, v;
	struct solo c;

	/* Shared with the parent until one of us writes. */
	if (solo_open(&c, LEN) || mem_reg(c.fd, p, LEN, HCOMM_MEM_READ_ONLY, &mine))
		return 1;
	if (!give(fd, 0) || !take(fd, &v))
		return 2;
	if (!all_are(p, 'a', LEN) || !solo_sees(&c, mine, 'a'))
		return 3;
	memset(p, 'c', LEN);
	if (!solo_sees(&c, mine, 'c') || destroy(c.fd, mine))
		return 4;
	/* Our memory through the parent's file. */
	if (mem_reg(inherited, p, LEN, 0, &theirs) || !give(fd, theirs) || !take(fd, &v))
		return 5;
	return all_are(p, 'd', LEN) ? 0 : 6;
}

TEST_F(life, forked)
{
	uint32_t childs, v;
	int sv[2];
	pid_t pid;

	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, sv));
	pid = fork();
	if (!pid) {
		close(sv[0]);
		_exit(forked_child(sv[1], self->p, self->s.fd));
	}
	close(sv[1]);
	ASSERT_TRUE(take(sv[0], &v));
	memset(self->p, 'b', LEN);
	EXPECT_TRUE(solo_sees(&self->s, self->id, 'b'));
	ASSERT_TRUE(give(sv[0], 0));
	ASSERT_TRUE(take(sv[0], &childs));
	EXPECT_TRUE(all_are(self->p, 'b', LEN));
	EXPECT_TRUE(solo_sees(&self->s, self->id, 'b'));
	EXPECT_TRUE(solo_sees(&self->s, childs, 'c'));
	EXPECT_EQ(0, solo_fill(&self->s, childs, 'd'));
	ASSERT_TRUE(give(sv[0], 0));
	EXPECT_EQ(0, status_of(pid));
	/* It is the file that keeps it. */
	EXPECT_TRUE(solo_sees(&self->s, childs, 'd'));
	EXPECT_EQ(0, destroy(self->s.fd, childs));
	EXPECT_TRUE(all_are(self->p, 'b', LEN));
	close(sv[0]);
}

/* Debuggers see the memory, and the ring, and write both. */
TEST_F(life, looked_at_by_others)
{
	struct hcomm_ring ring;
	uint8_t buf[100];
	struct iovec local[2] = { { buf, sizeof(buf) }, { &ring, sizeof(ring) } };
	struct iovec remote[2] = { { self->p, sizeof(buf) }, { self->s.ring, sizeof(ring) } };
	ssize_t len = sizeof(buf) + sizeof(ring);
	pid_t pid, parent = getpid();

	prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
	EXPECT_EQ(0, solo_fill(&self->s, self->id, 'k'));
	pid = fork();
	if (!pid) {
		if (process_vm_readv(parent, local, 2, remote, 2, 0) != len)
			_exit(1);
		if (!all_are(buf, 'k', sizeof(buf)) || ring.mask != SOLO_ENTRIES - 1)
			_exit(2);
		memset(buf, 'l', sizeof(buf));
		_exit(process_vm_writev(parent, local, 2, remote, 2, 0) == len ? 0 : 3);
	}
	EXPECT_EQ(0, status_of(pid));
	memset(self->p + 100, 'l', LEN - 100);
	EXPECT_TRUE(solo_sees(&self->s, self->id, 'l'));
}

/* ------------------------------------------------------------------ passing the file */

static int send_file(int sock, int fd)
{
	char buf[CMSG_SPACE(sizeof(fd))] = {}, c = 0;
	struct iovec iov = { &c, 1 };
	struct msghdr m = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = buf,
		.msg_controllen = sizeof(buf),
	};
	struct cmsghdr *h = CMSG_FIRSTHDR(&m);

	h->cmsg_level = SOL_SOCKET;
	h->cmsg_type = SCM_RIGHTS;
	h->cmsg_len = CMSG_LEN(sizeof(fd));
	memcpy(CMSG_DATA(h), &fd, sizeof(fd));
	return sendmsg(sock, &m, 0) == 1 ? 0 : -errno;
}

static int receive_file(int sock)
{
	char buf[CMSG_SPACE(sizeof(int))], c;
	struct iovec iov = { &c, 1 };
	struct msghdr m = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = buf,
		.msg_controllen = sizeof(buf),
	};
	int fd;

	if (recvmsg(sock, &m, 0) != 1 || !CMSG_FIRSTHDR(&m))
		return -1;
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof(fd));
	return fd;
}

/* A stranger with the file, its ring, and memory in it. */
static int stranger(int sock)
{
	int fd = receive_file(sock);
	uint8_t *p = pages(LEN);
	struct hcomm_ring *ring;
	uint32_t id, v;

	ring = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (ring == MAP_FAILED || ring->mask != SOLO_ENTRIES - 1)
		return 1;
	memset(p, 's', LEN);
	if (mem_reg(fd, p, LEN, 0, &id) || vm_pin_kb() != LEN / 1024)
		return 2;
	if (!give(sock, id) || !take(sock, &v))
		return 3;
	return all_are(p, 't', LEN) ? 0 : 4;
}

TEST_F(life, passed_on)
{
	struct hcomm_fault fault;
	uint32_t theirs;
	int sv[2];
	pid_t pid;

	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, sv));
	pid = fork();
	if (!pid) {
		close(sv[0]);
		close(self->s.fd);
		_exit(stranger(sv[1]));
	}
	close(sv[1]);
	ASSERT_EQ(0, send_file(sv[0], self->s.fd));
	ASSERT_TRUE(take(sv[0], &theirs));
	EXPECT_TRUE(solo_sees(&self->s, theirs, 's'));
	EXPECT_EQ(0, solo_fill(&self->s, theirs, 't'));
	EXPECT_EQ(self->pinned + LEN / 1024, vm_pin_kb());
	ASSERT_TRUE(give(sv[0], 0));
	EXPECT_EQ(0, status_of(pid));
	/* Its end is not ours. */
	ASSERT_EQ(0, query_fault(self->s.fd, self->s.comm, &fault));
	EXPECT_EQ(0, fault.error);
	EXPECT_TRUE(solo_sees(&self->s, theirs, 't'));
	EXPECT_EQ(0, destroy(self->s.fd, theirs));
	close(sv[0]);
}

/* Nobody has it but a message that nobody reads. */
TEST_F(life, only_in_flight)
{
	struct solo s;
	int sv[2];

	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, sv));
	ASSERT_EQ(0, solo_open(&s, LEN));
	ASSERT_EQ(0, send_file(sv[0], s.fd));
	close(s.fd);
	EXPECT_EQ(self->pinned + 2 * LEN / 1024, vm_pin_kb());
	s.fd = receive_file(sv[1]);
	ASSERT_GE(s.fd, 0);
	EXPECT_EQ(0, solo_copy(&s, s.plain_mem, s.plain_mem));
	ASSERT_EQ(0, send_file(sv[0], s.fd));
	solo_close(&s);
	close(sv[0]);
	close(sv[1]);
	EXPECT_EQ(self->pinned + LEN / 1024, vm_pin_kb());
}

TEST_F(life, one_of_two_descriptors)
{
	int fd = dup(self->s.fd);

	close(self->s.fd);
	self->s.fd = fd;
	EXPECT_TRUE(solo_sees(&self->s, self->id, 'a'));
}

static void *own_files(void *arg)
{
	/* Its table of files ends with it, while the process goes on. */
	return unshare(CLONE_FILES) ? (void *)1 : NULL;
}

TEST_F(life, thread_with_its_own_files_ends)
{
	struct hcomm_fault fault;
	pthread_t t;
	void *ret;

	ASSERT_EQ(0, pthread_create(&t, NULL, own_files, NULL));
	ASSERT_EQ(0, pthread_join(t, &ret));
	ASSERT_EQ(NULL, ret);
	/* It may be joined before its files are closed. */
	for (int i = 0; i < 100; i++) {
		ASSERT_EQ(0, query_fault(self->s.fd, self->s.comm, &fault));
		ASSERT_EQ(0, fault.error);
		usleep(2000);
	}
	EXPECT_TRUE(solo_sees(&self->s, self->id, 'a'));
}

/* ------------------------------------------------------------------------------ exec */

#define EXEC_ENV	"HCOMM_LIFE_EXEC"

/* The program anew, with the context of its former self. */
__attribute__((constructor)) static void after_exec(void)
{
	const char *env = getenv(EXEC_ENV);
	struct hcomm_slot slots[2] = { { .length = LEN }, { .length = LEN } };
	struct hcomm_fault fault;
	struct hcomm_ring *ring;
	uint32_t comm, prog, old, mine;
	uint8_t *p;
	int fd;

	if (!env)
		return;
	if (sscanf(env, "%d %u %u %u", &fd, &comm, &prog, &old) != 4)
		_exit(11);
	p = pages(LEN);
	ring = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (ring == MAP_FAILED || vm_pin_kb() || query_fault(fd, comm, &fault) || fault.error)
		_exit(12);
	slots[0].mem_id = old;
	if (mem_reg(fd, p, LEN, 0, &mine))
		_exit(13);
	slots[1].mem_id = mine;
	if (launch(fd, prog, slots, 2, 1 << 20, 0, HCOMM_LAUNCH_WAIT))
		_exit(14);
	/* What it had written before. */
	if (!all_are(p, 'e', LEN) || destroy(fd, old) || vm_pin_kb() != LEN / 1024)
		_exit(15);
	_exit(0);
}

static void *idle(void *arg)
{
	(void)arg;
	pause();
	return NULL;
}

static int exec_child(void)
{
	char env[64];
	struct solo s;
	uint32_t id;
	uint8_t *p = pages(LEN);
	pthread_t t;

	if (solo_open(&s, LEN) || mem_reg(s.fd, p, LEN, 0, &id))
		return 1;
	memset(p, 'e', LEN);
	if (pthread_create(&t, NULL, idle, NULL))
		return 2;
	fcntl(s.fd, F_SETFD, 0);
	snprintf(env, sizeof(env), "%d %u %u %u", s.fd, s.comm, s.prog, id);
	setenv(EXEC_ENV, env, 1);
	execl("/proc/self/exe", "mem_life_test", NULL);
	return 3;
}

TEST_F(life, exec)
{
	pid_t pid = fork();

	if (!pid)
		_exit(exec_child());
	EXPECT_EQ(0, status_of(pid));
}

/* ---------------------------------------------------------------------------- limits */

static int limited(struct solo *s, uint8_t *p, uint32_t old)
{
	struct hcomm_mem_reg arg = { .size = sizeof(arg), .addr = (uintptr_t)p, .length = LEN };
	struct rlimit lim = { 2 * LEN, 2 * LEN };
	uint32_t id;

	if (setgid(65534) || setuid(65534) || setrlimit(RLIMIT_MEMLOCK, &lim))
		return 1;
	if (mem_reg(s->fd, p, LEN, 0, &id))
		return 2;
	/* Less than what is charged already. */
	lim.rlim_cur = LEN / 2;
	if (setrlimit(RLIMIT_MEMLOCK, &lim))
		return 3;
	if (call(s->fd, HCOMM_MEM_REG, &arg) != -ENOMEM || arg.out_limit != LEN / 2 ||
	    arg.out_used != LEN || arg.out_needed != LEN)
		return 4;
	arg.length = 1;
	if (call(s->fd, HCOMM_MEM_REG, &arg) != -ENOMEM)
		return 5;
	/* A user namespace of his own gives him all capabilities, and nothing here. */
	if (!unshare(CLONE_NEWUSER) && call(s->fd, HCOMM_MEM_REG, &arg) != -ENOMEM)
		return 6;
	/* Memory of before he was limited is not his. */
	if (destroy(s->fd, old) || call(s->fd, HCOMM_MEM_REG, &arg) != -ENOMEM)
		return 7;
	if (destroy(s->fd, id) || mem_reg(s->fd, p, LEN / 2, 0, &id))
		return 8;
	return mem_reg(s->fd, p, 1, 0, &old) == -ENOMEM ? 0 : 9;
}

TEST_F(life, limits)
{
	pid_t pid = fork();

	if (!pid) {
		struct solo s;

		if (solo_open(&s, LEN) || mem_reg(s.fd, self->p, LEN, 0, &self->id))
			_exit(10);
		_exit(limited(&s, self->p, self->id));
	}
	EXPECT_EQ(0, status_of(pid));
}

/* ----------------------------------------------------------------------------- races */

#define RACE_LEN	(256u << 10)

struct race {
	struct solo *s;
	uint8_t *p;
	bool stop;
	unsigned int done;
	int bad;
};

static void *register_again(void *arg)
{
	struct race *r = arg;
	uint32_t id;
	int ret;

	while (!__atomic_load_n(&r->stop, __ATOMIC_RELAXED)) {
		ret = mem_reg(r->s->fd, r->p, RACE_LEN, 0, &id);
		if (!ret)
			ret = destroy(r->s->fd, id);
		if (ret && ret != -EFAULT && ret != -ENOMEM)
			r->bad = ret;
		__atomic_fetch_add(&r->done, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

static void change_mappings(struct race *r, unsigned int rounds)
{
	for (unsigned int i = 0; i < rounds || __atomic_load_n(&r->done, __ATOMIC_RELAXED) < 20;
	     i++) {
		munmap(r->p + RACE_LEN / 2, RACE_LEN / 2);
		mmap(r->p + RACE_LEN / 2, RACE_LEN / 2, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
		mprotect(r->p, 8192, i % 2 ? PROT_READ : PROT_READ | PROT_WRITE);
		madvise(r->p + 16384, 16384, MADV_DONTNEED);
		if (!__atomic_load_n(&r->done, __ATOMIC_RELAXED))
			usleep(100);
	}
}

TEST_F_TIMEOUT(life, mappings_change_meanwhile, 120)
{
	struct race r = { .s = &self->s, .p = pages(RACE_LEN) };
	pthread_t t[2];

	for (int i = 0; i < 2; i++)
		ASSERT_EQ(0, pthread_create(&t[i], NULL, register_again, &r));
	change_mappings(&r, 300);
	__atomic_store_n(&r.stop, true, __ATOMIC_RELAXED);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	EXPECT_EQ(0, r.bad);
	munmap(r.p, RACE_LEN);
	EXPECT_EQ(self->pinned + LEN / 1024, vm_pin_kb());
}

/* The process ends while its threads register. */
TEST_F_TIMEOUT(life, end_meanwhile, 120)
{
	for (int i = 0; i < 20; i++) {
		pid_t pid = fork();

		if (!pid) {
			struct race r = { .s = &self->s, .p = pages(RACE_LEN) };
			pthread_t t[2];

			for (int k = 0; k < 2; k++)
				if (pthread_create(&t[k], NULL, register_again, &r))
					_exit(1);
			while (__atomic_load_n(&r.done, __ATOMIC_RELAXED) < 3)
				usleep(100);
			if (i % 2)
				kill(getpid(), SIGKILL);
			_exit(0);
		}
		EXPECT_EQ(i % 2 ? 256 + SIGKILL : 0, status_of(pid));
	}
	EXPECT_TRUE(solo_sees(&self->s, self->id, 'a'));
}

TEST_HARNESS_MAIN
