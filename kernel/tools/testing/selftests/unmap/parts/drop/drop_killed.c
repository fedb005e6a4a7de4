// SPDX-License-Identifier: GPL-2.0-only
/*
 * Processes are killed while another task is about to drop their tables: see drop.h.
 *
 * That task is in the middle of the tables of one process, of which each is locked for long.  The
 * others are killed then, and what they had attached is detached while that task is still there.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/wait.h>
#include <unistd.h>

#include "drop.h"

#define IDLE		4
#define WIDE		3000	/* microseconds */
#define ROUNDS		3	/* a task that gets no time is late without a fault of the kernel */

struct killed {
	int pids[IDLE];
	int shm;
	const char *mem;
	pthread_t thread;
	bool dropped;		/* the other task has ended */
};

static void *drop_once(void *arg)
{
	struct killed *k = arg;

	use_cpu(sysconf(_SC_NPROCESSORS_ONLN) - 1);
	drop_slabs();
	WRITE_ONCE(k->dropped, true);
	return NULL;
}

/* A process with tables to drop. */
static int start_idle(const struct killed *k, int ready)
{
	char token = 0;
	int pid = fork();

	if (pid)
		return pid;
	if (shmat(k->shm, NULL, 0) == (void *)-1)
		_exit(1);
	for (long i = 0; i < COPIES; i++)
		READ_ONCE(k->mem[i * LEN]);
	if (write(ready, &token, 1) != 1)
		_exit(1);
	for (;;)
		pause();
}

static bool start_all(struct killed *k)
{
	int ready[2];
	char token;

	CHECK(!pipe(ready));
	for (int i = 0; i < IDLE; i++) {
		k->pids[i] = start_idle(k, ready[1]);
		CHECK(k->pids[i] > 0 && read(ready[0], &token, 1) == 1);
	}
	close(ready[0]);
	close(ready[1]);
	return true;
}

static bool kill_one(int *pid)
{
	bool right = !*pid || (!kill(*pid, SIGKILL) && waitpid(*pid, NULL, 0) == *pid);

	*pid = 0;
	return right;
}

static long tables_of(int pid)
{
	return process_kib(pid, "VmPTE:") / (long)(PAGE / KIB);
}

/* Returns once the other task has come to one of the processes, or is done. */
static void wait_for_drop(const struct killed *k)
{
	int whole;

	do {
		whole = 0;
		for (int i = 0; i < IDLE; i++)
			whole += tables_of(k->pids[i]) >= COPIES;
	} while (whole == IDLE && !READ_ONCE(k->dropped));
}

/* Kill those that the other task has not come to.  Returns how many are left; -1: an error. */
static long kill_others(struct killed *k)
{
	long left = IDLE;

	for (int i = 0; i < IDLE; i++) {
		if (tables_of(k->pids[i]) < COPIES)
			continue;
		if (!kill_one(&k->pids[i]))
			return -1;
		left--;
	}
	return left;
}

/* Whether the other task is in the middle of the tables of a process that is left. */
static bool is_at_work(const struct killed *k)
{
	for (int i = 0; i < IDLE; i++)
		if (k->pids[i] && tables_of(k->pids[i]) > COPIES / 2)
			return true;
	return false;
}

/* Returns whether no more than @left have it attached while the other task is at work. */
static bool is_detached_soon(const struct killed *k, unsigned long left)
{
	struct shmid_ds stat = {};
	bool works;

	do {
		works = is_at_work(k);
		if (shmctl(k->shm, IPC_STAT, &stat))
			return false;
	} while (stat.shm_nattch > left && works);
	return works;
}

static bool round_is_soon(struct killed *k)
{
	long left;

	wait_for_drop(k);
	left = kill_others(k);
	printf("# of %d processes, %ld are left\n", IDLE, left);
	return left >= 0 && left < IDLE && is_detached_soon(k, left);
}

static bool try_round(struct killed *k)
{
	bool soon;

	k->dropped = false;
	CHECK(start_all(k));
	CHECK(!pthread_create(&k->thread, NULL, drop_once, k));
	soon = round_is_soon(k);
	pthread_join(k->thread, NULL);
	for (int i = 0; i < IDLE; i++)
		kill_one(&k->pids[i]);
	return soon;
}

bool race_killed(struct scene *scene)
{
	struct killed k = { .shm = shmget(IPC_PRIVATE, PAGE, IPC_CREAT | 0600) };
	int fd = drop_file(scene);
	bool soon = false;

	k.mem = fd < 0 ? MAP_FAILED : map_file(fd, COPIES, MAP_SHARED);
	CHECK(k.mem != MAP_FAILED && k.shm >= 0);
	use_cpu(0);
	table_window(WIDE);
	for (int i = 0; i < ROUNDS && !soon; i++)
		soon = try_round(&k);
	table_window(0);
	shmctl(k.shm, IPC_RMID, NULL);
	CHECK(soon);
	return true;
}
