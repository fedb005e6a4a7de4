// SPDX-License-Identifier: GPL-2.0-only
/* Children that prepare, wait, and then do the measured work: see workload.h. */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "workload.h"

void child_prepared(void)
{
	raise(SIGSTOP);
}

static int wait_child(pid_t pid, int options)
{
	int status;

	if (pid < 0 || waitpid(pid, &status, options) != pid)
		fail("there is no child: %s", strerror(errno));
	if (WIFSIGNALED(status))
		fail("the child was killed by signal %d", WTERMSIG(status));
	if (WIFEXITED(status) && WEXITSTATUS(status))
		exit(WEXITSTATUS(status));	/* the child has printed why */
	return status;
}

void await_child(pid_t pid)
{
	if (!WIFSTOPPED(wait_child(pid, WUNTRACED)))
		fail("the child ended too early");
}

void release_child(pid_t pid)
{
	kill(pid, SIGCONT);
}

void reap_child(pid_t pid)
{
	wait_child(pid, 0);
}
