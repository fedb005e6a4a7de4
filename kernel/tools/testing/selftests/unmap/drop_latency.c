// SPDX-License-Identifier: GPL-2.0-only
/* A process whose tables a throttled task drops: see drop.h. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/wait.h>
#include <unistd.h>

#include "drop.h"

#define VICTIM_TABLES	256L
#define IDLE_TABLES	40L	/* of each of those that are killed */
#define IDLE		8
#define SOON		0.06	/* seconds: cpu.max stops a task for longer */

/* Few pages of each table, so that all are filled again soon. */
static void fill_again(const char *mem, long tables)
{
	for (long i = 0; i < tables; i++)
		READ_ONCE(mem[i * LEN]);
}

void drop_victim_job(struct child *child, void *arg)
{
	struct scene scene = { .kind = SHMEM };
	struct latency *latency = arg;
	int fd = drop_file(&scene);
	pthread_t thread;
	char *mem;

	/* The pages belong to the group that is reclaimed. */
	if (!latency_start(&thread, latency) || posix_fallocate(fd, 0, LEN))
		_exit(1);
	mem = map_file(fd, VICTIM_TABLES, MAP_SHARED);
	if (mem == MAP_FAILED)
		_exit(1);
	fill_again(mem, VICTIM_TABLES);
	child_says_done(child);
	while (!READ_ONCE(latency->stop)) {
		fill_again(mem, VICTIM_TABLES);
		usleep(10000);
	}
	pthread_join(thread, NULL);
	child_says_done(child);
}

/* A process with tables to drop, which has attached shared memory. */
static int start_idle(int shm, const char *mem, int ready)
{
	char token = 0;
	int pid = fork();

	if (pid)
		return pid;
	if (shmat(shm, NULL, 0) == (void *)-1)
		_exit(1);
	fill_again(mem, IDLE_TABLES);
	if (write(ready, &token, 1) != 1)
		_exit(1);
	for (;;)
		pause();
}

/*
 * What a process has attached is detached when it is gone, or very soon: the other task may be in
 * the middle of one of its tables.
 */
static bool is_detached(int pid, int shm, unsigned long left)
{
	struct shmid_ds stat;
	double end;

	CHECK(!kill(pid, SIGKILL) && waitpid(pid, NULL, 0) == pid);
	end = now() + SOON;
	do {
		CHECK(!shmctl(shm, IPC_STAT, &stat));
	} while (stat.shm_nattch > left && now() < end);
	CHECK_EQ(left, stat.shm_nattch);
	return true;
}

static bool kill_some(int shm, const char *mem)
{
	int pids[IDLE], ready[2];
	bool right = true;
	char token;

	CHECK(!pipe(ready));
	for (int i = 0; i < IDLE; i++) {
		pids[i] = start_idle(shm, mem, ready[1]);
		CHECK(pids[i] > 0 && read(ready[0], &token, 1) == 1);
	}
	/* The throttled task comes to them. */
	usleep(150000);
	for (int i = 0; i < IDLE && right; i++)
		right = is_detached(pids[i], shm, IDLE - 1 - i);
	for (int i = 0; i < IDLE && !right; i++)
		kill(pids[i], SIGKILL);
	close(ready[0]);
	close(ready[1]);
	return right;
}

void drop_killed_job(struct child *child, void *arg)
{
	struct scene scene = { .kind = SHMEM };
	struct latency *latency = arg;
	int fd = drop_file(&scene), shm = shmget(IPC_PRIVATE, PAGE, IPC_CREAT | 0600);
	bool right = true;
	char *mem;

	use_cpu(0);
	if (!group_enter("/victim", getpid()) || posix_fallocate(fd, 0, LEN) || shm < 0)
		_exit(1);
	mem = map_file(fd, IDLE_TABLES, MAP_SHARED);
	child_says_done(child);
	while (right && !READ_ONCE(latency->stop))
		right = mem != MAP_FAILED && kill_some(shm, mem);
	fflush(stdout);
	shmctl(shm, IPC_RMID, NULL);
	if (!right)
		_exit(1);
	child_says_done(child);
}
