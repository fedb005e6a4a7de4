// SPDX-License-Identifier: GPL-2.0-only
/* Tables that a process uses, or not, while it runs: see drop.h. */
#define _GNU_SOURCE
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "drop.h"

#define ROUNDS		6	/* of OLD_MS: the first looks may come late */
#define USES		20000	/* without a system call, so that the TLB is not flushed */

/*
 * All tables but the first, a page in each: few enough for any TLB.  MGLRU looks at processes that
 * were scheduled since it looked last.
 */
void use_most(char *mem)
{
	for (long i = 0; i < USES; i++)
		READ_ONCE(mem[(COPIES - USED + i % USED) * LEN + i % USED * PAGE]);
	usleep(100);
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
	for (int i = 0; i < ROUNDS; i++) {
		CHECK(drop_slabs());
		usleep(OLD_MS * 1250);
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
