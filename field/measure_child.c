// SPDX-License-Identifier: GPL-2.0-only
/* One measurement, in a child process: see measure.h. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "measure.h"

#define SKIPPED	4	/* the exit status of skip() */

static volatile pid_t child;

/* The memory in which the child leaves its sample. */
static struct sample *shared(void)
{
	static struct sample *sample;

	if (!sample)
		sample = mmap(NULL, sizeof(*sample), PROT_READ | PROT_WRITE,
			      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (sample == MAP_FAILED)
		fail("swathe-field: no memory");
	memset(sample, 0, sizeof(*sample));
	return sample;
}

/* If memory gets short, the kernel shall kill the child, not another process. */
static void volunteer(void)
{
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	if (write(fd, "1000", 4) < 0)
		errno = 0;
	close(fd);
}

void die_with(pid_t parent)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(EXIT_FAILURE);
}

static __noreturn void be_child(const struct row *row, struct sample *sample, int complaints)
{
	static const int usual[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };

	for (size_t i = 0; i < ARRAY_SIZE(usual); i++)
		signal(usual[i], SIG_DFL);
	leave_guardian();
	dup2(complaints, STDERR_FILENO);
	volunteer();
	use_cpu(nr_cpus() - 1);
	open_meter(sample);
	row->run(row, sample);
	_exit(EXIT_SUCCESS);
}

/* The first line that the child wrote, or as much of it as fits. */
static void read_reason(int fd, char *reason)
{
	size_t len = 0;
	ssize_t got;

	while ((got = read(fd, reason + len, REASON - 1 - len)) > 0 || (got < 0 && errno == EINTR))
		len += got > 0 ? got : 0;
	reason[len] = '\0';
	reason[strcspn(reason, "\n")] = '\0';
}

static enum ending judge(int status, const struct sample *sample, char *reason)
{
	if (WIFSIGNALED(status))
		snprintf(reason, REASON, "killed by signal %d%s", WTERMSIG(status),
			 WTERMSIG(status) == SIGKILL ? " (is memory short?)" : "");
	else if (WEXITSTATUS(status) == SKIPPED)
		return LEFT_OUT;
	else if (!WEXITSTATUS(status) && sample->ns && sample->pages)
		return DONE;
	else if (!WEXITSTATUS(status))
		snprintf(reason, REASON, "nothing was measured");
	return FAILED;
}

void kill_child(void)
{
	if (child > 0)
		kill(child, SIGKILL);
}

static pid_t start_child(const struct row *row, struct sample *sample, int ends[2])
{
	pid_t self = getpid();

	if (pipe2(ends, O_CLOEXEC))
		fail("swathe-field: cannot make a pipe: %s", strerror(errno));
	fflush(NULL);
	child = fork();
	if (child < 0)
		fail("swathe-field: cannot fork: %s", strerror(errno));
	if (!child) {
		die_with(self);
		be_child(row, sample, ends[1]);
	}
	close(ends[1]);
	return child;
}

/* on_signal() may kill @child as long as it is not reaped: its number is not given to others. */
static int reap(pid_t pid)
{
	siginfo_t info;
	int status = 0;

	while (waitid(P_PID, pid, &info, WEXITED | WNOWAIT) < 0 && errno == EINTR)
		;
	child = 0;
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return status;
}

enum ending run_child(const struct row *row, struct sample *sample, char *reason)
{
	struct sample *there = shared();
	int ends[2], status;
	pid_t pid = start_child(row, there, ends);

	read_reason(ends[0], reason);
	close(ends[0]);
	status = reap(pid);
	*sample = *there;
	return judge(status, sample, reason);
}
