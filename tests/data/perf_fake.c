// SPDX-License-Identifier: GPL-2.0-only
/*
 * perf_event_open(2) of a made-up processor, linked to swathe-field with --wrap=syscall.
 *
 * $PERF holds words: TYPE:CONFIG=VALUE/ENABLED/RUNNING is an event, of which each call counts
 * VALUE; TYPE:CONFIG=sNUMBER is counted by the kernel, as the software event NUMBER; the
 * process that opens TYPE:CONFIG=xSTATUS in a group ends.  All others are refused with error
 * $PERF_ERROR.  A line a call is appended to $PERF_LOG.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...);

static void note(const struct perf_event_attr *attr, int leader)
{
	const char *path = getenv("PERF_LOG");
	FILE *log = path ? fopen(path, "ae") : NULL;

	if (!log)
		return;
	fprintf(log, "%d %u:%#llx %d\n", getpid(), attr->type, attr->config, leader >= 0);
	fclose(log);
}

/* What $PERF says of this event; NULL if nothing. */
static const char *said(const struct perf_event_attr *attr)
{
	const char *words = getenv("PERF");
	char key[40];

	snprintf(key, sizeof(key), " %u:%#llx=", attr->type, attr->config);
	words = words ? strstr(words, key) : NULL;
	return words ? words + strlen(key) : NULL;
}

/* A file with what read(2) of an event returns. */
static int make_event(const char *figures)
{
	unsigned long long numbers[3];
	int fd = memfd_create("event", MFD_CLOEXEC);

	if (sscanf(figures, "%llu/%llu/%llu", &numbers[0], &numbers[1], &numbers[2]) != 3)
		abort();
	if (pwrite(fd, numbers, sizeof(numbers), 0) != sizeof(numbers))
		abort();
	return fd;
}

static __attribute__((__noreturn__)) int leave(int status)
{
	fprintf(stderr, "no memory\n");
	_exit(status);
}

static long open_event(struct perf_event_attr *attr, va_list args)
{
	const char *words = said(attr), *error = getenv("PERF_ERROR");
	int pid = va_arg(args, int), cpu = va_arg(args, int), leader = va_arg(args, int);
	unsigned long flags = va_arg(args, unsigned long);

	note(attr, leader);
	if (!words) {
		errno = error ? atoi(error) : ENOENT;
		return -1;
	}
	if (*words == 'x')
		return leader >= 0 ? leave(atoi(words + 1)) : make_event("1/1/1");
	if (*words != 's')
		return make_event(words);
	attr->type = PERF_TYPE_SOFTWARE;
	attr->config = atoi(words + 1);
	return __real_syscall(SYS_perf_event_open, attr, pid, cpu, leader, flags);
}

long __wrap_syscall(long number, ...)
{
	long numbers[6], result;
	va_list args;

	va_start(args, number);
	if (number == SYS_perf_event_open) {
		result = open_event(va_arg(args, struct perf_event_attr *), args);
		va_end(args);
		return result;
	}
	for (int i = 0; i < 6; i++)
		numbers[i] = va_arg(args, long);
	va_end(args);
	return __real_syscall(number, numbers[0], numbers[1], numbers[2], numbers[3], numbers[4],
			      numbers[5]);
}
