// SPDX-License-Identifier: GPL-2.0-only
/* Tables that a process uses, or not, while it runs: see drop.h. */
#define _GNU_SOURCE
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "drop.h"

#define ROUNDS		6	/* of OLD_MS: the first looks may come late */
#define LIMIT		60	/* seconds, until the user has used its tables */

/* How often the user has used all its tables.  Shared with it. */
static long *uses;

__attribute__((constructor)) static void share_uses(void)
{
	uses = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
}

/*
 * All tables but the first ones, a page in each: few enough for any TLB.  MGLRU looks at processes
 * that were scheduled since it looked last.
 */
void use_most(char *mem)
{
	for (long i = 0; i < USED; i++)
		READ_ONCE(mem[(COPIES - USED + i) * LEN + i * PAGE]);
	__atomic_add_fetch(uses, 1, __ATOMIC_RELEASE);
	usleep(1000);
}

/* Until the user has used all its tables from now on: it may be in the middle of it. */
static bool await_use(void)
{
	long end = __atomic_load_n(uses, __ATOMIC_ACQUIRE) + 2;
	double limit = now() + LIMIT;

	while (__atomic_load_n(uses, __ATOMIC_ACQUIRE) < end) {
		CHECK(now() < limit);
		usleep(1000);
	}
	return true;
}

/* Pages that nobody uses MGLRU would evict, and with them all entries. */
static bool use_file(int fd)
{
	char *mem = mmap(NULL, LEN, PROT_READ, MAP_SHARED, fd, 0);

	CHECK(mem != MAP_FAILED);
	CHECK_EQ(0, count_wrong(mem, LEN, SEED));
	return true;
}

bool let_age(int fd, bool age)
{
	/* Until it has slept, it is as one that ran for long and has just stopped: idle. */
	CHECK(await_use());
	for (int i = 0; i < ROUNDS; i++) {
		CHECK(drop_slabs());
		usleep(OLD_MS * 1250);
		CHECK(await_use());
		/* Shortly before the next look: any flush of the TLB would hide what aging did. */
		CHECK(!age || (use_file(fd) && mglru_age(false)));
	}
	return drop_slabs();
}

static int sleepers[MANY];

bool sleepers_start(int nr)
{
	fflush(stdout);
	for (int i = 0; i < nr; i++) {
		sleepers[i] = fork();
		if (!sleepers[i]) {
			pause();
			_exit(0);
		}
		CHECK(sleepers[i] > 0);
	}
	return true;
}

bool sleepers_end(int nr)
{
	int status;

	for (int i = 0; i < nr; i++)
		CHECK(!kill(sleepers[i], SIGKILL) && waitpid(sleepers[i], &status, 0) > 0);
	return true;
}
