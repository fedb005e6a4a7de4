// SPDX-License-Identifier: GPL-2.0-only
/*
 * The switch and other settings, and the guardian: see measure.h.
 *
 * The guardian is a process that waits for the end of this one.  It holds the reading end
 * of a pipe whose other end only this process has, so that it notices every end, that by
 * SIGKILL too.  Then it puts the settings back.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include "measure.h"

#define MAX_SETTINGS	8

static struct setting {
	const char *path;
	char old[64];
} settings[MAX_SETTINGS];

static unsigned int nr_settings;
static char found[64];		/* what the switch was set to */
static pid_t owner, guardian;
static int pipe_end = -1;
static bool switching;

static const char *const folio_paths[] = {
	THP "hugepages-64kB/enabled",
	THP "hugepages-1024kB/enabled",
	THP "hugepages-2048kB/enabled",
};

unsigned int nr_states(void)
{
	return switching ? NR_STATES : 1;
}

const char *state_name(enum state state)
{
	if (!switching)
		return "now";
	return state == ON ? "on" : "off";
}

const char *require_switch(void)
{
	bool found = !access(SWITCH, F_OK);

	if (options.thp && geteuid())
		return "only root may use --thp";
	if (sysconf(_SC_PAGESIZE) != (long)PAGE)
		return "the page size is not 4 KiB";
	if (options.stock)
		return found ? "this kernel has Swathe: leave out --stock" : NULL;
	if (!found)
		return "this kernel has no Swathe: there is no " SWITCH
		       " (--stock measures such a kernel)";
	switching = !access(SWITCH, W_OK);
	if (flock(open(SWITCH, O_RDONLY | O_CLOEXEC), LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK)
		return "another swathe-field is running, or a process holds a lock on " SWITCH;
	return NULL;
}

/* A setting shows all its values, the one in force in brackets, or just that. */
static void remember(const char *path)
{
	struct setting *setting = &settings[nr_settings];
	const char *text = first_line(path), *open = strchr(text, '[');
	int len = open ? strcspn(++open, "]") : strlen(text);

	if (!len || nr_settings == MAX_SETTINGS)
		return;
	setting->path = path;
	snprintf(setting->old, sizeof(setting->old), "%.*s", len, open ? open : text);
	nr_settings++;
}

static void remember_folios(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(folio_paths); i++) {
		if (access(folio_paths[i], W_OK))
			continue;
		remember(folio_paths[i]);
	}
}

static bool put_back_one(const struct setting *setting)
{
	int fd = open(setting->path, O_WRONLY | O_CLOEXEC);
	ssize_t len = strlen(setting->old);
	bool ok = fd >= 0 && write(fd, setting->old, len) == len;

	if (fd >= 0)
		close(fd);
	if (!ok)
		fprintf(stderr, "swathe-field: %s could not be put back to %s: %s\n",
			setting->path, setting->old, strerror(errno));
	return ok;
}

static bool put_back(void)
{
	bool ok = true;

	for (unsigned int i = 0; i < nr_settings; i++)
		ok &= put_back_one(&settings[i]);
	return ok;
}

/* Wait until nobody holds the other end; signals to a terminal or a group do not matter. */
static __noreturn void guard(int end, int ready)
{
	static const int ignored[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGTSTP };
	char byte;

	for (size_t i = 0; i < ARRAY_SIZE(ignored); i++)
		signal(ignored[i], SIG_IGN);
	setsid();
	if (write(ready, "r", 1) == 1)
		close(ready);
	while (read(end, &byte, 1) < 0 && errno == EINTR)
		;
	_exit(put_back() ? 0 : 1);
}

/* If somebody killed the guardian, do its work.  What cannot be put back is a failure. */
static void end_guardian(void)
{
	int status = 0;
	bool failed;

	if (getpid() != owner)
		return;
	close(pipe_end);
	while (waitpid(guardian, &status, 0) < 0 && errno == EINTR)
		;
	failed = WIFSIGNALED(status) ? !put_back() : WEXITSTATUS(status);
	if (!failed)
		return;
	fflush(NULL);
	_exit(EXIT_FAILURE);
}

/* If both processes are killed, somebody else has to put it back. */
static void tell_switch(void)
{
	if (switching)
		fprintf(stderr, "swathe-field: the switch is %s now, and will be again\n", found);
}

void start_guardian(void)
{
	int ends[2], ready[2];
	char byte;

	snprintf(found, sizeof(found), "%s", first_line(SWITCH));
	if (options.thp)
		remember_folios();
	if (switching)
		remember(SWITCH);
	if (!nr_settings)
		return;
	tell_switch();
	if (pipe2(ends, O_CLOEXEC) || pipe2(ready, O_CLOEXEC))
		fail("swathe-field: cannot make a pipe: %s", strerror(errno));
	owner = getpid();
	guardian = fork();
	if (guardian < 0)
		fail("swathe-field: cannot fork: %s", strerror(errno));
	if (!guardian) {
		close(ends[1]);
		close(ready[0]);
		guard(ends[0], ready[1]);
	}
	/* From now on it survives what kills this process's group. */
	close(ready[1]);
	if (read(ready[0], &byte, 1) != 1)
		fail("swathe-field: the guardian was killed");
	close(ready[0]);
	close(ends[0]);
	pipe_end = ends[1];
	atexit(end_guardian);
}

void leave_guardian(void)
{
	if (pipe_end >= 0)
		close(pipe_end);
}

/* What the switch is set to while it is on: as it was found, or all that the kernel has. */
static const char *on_text(void)
{
	if (options.on)
		return options.on;
	return strtoul(found, NULL, 0) ? found : "y";
}

bool try_switch(void)
{
	int fd = switching ? open(SWITCH, O_WRONLY | O_CLOEXEC) : -1;
	bool ok = !switching || (fd >= 0 && write(fd, on_text(), strlen(on_text())) > 0);

	if (fd >= 0)
		close(fd);
	return ok;
}

void select_state(enum state state)
{
	if (switching)
		write_text(SWITCH, state == ON ? on_text() : "0");
}

void allow_folios(void)
{
	for (unsigned int i = 0; i < nr_settings; i++)
		if (strcmp(settings[i].path, SWITCH))
			write_text(settings[i].path, "madvise");
}

const char *switch_text(void)
{
	static char text[200];

	if (options.stock)
		return "none: a kernel without Swathe";
	select_state(ON);
	if (switching)
		snprintf(text, sizeof(text), "off 0x0000, on %s, found at %s",
			 first_line(SWITCH), found);
	else
		snprintf(text, sizeof(text), "%s, measured as it is: only root may change it",
			 found);
	return text;
}
