// SPDX-License-Identifier: GPL-2.0-only
/* The command line, and failing or skipping with a message: see workload.h. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../include/mark.h"
#include "workload.h"

#define EXIT_SKIP	4

static __noreturn void leave(int status, const char *fmt, va_list args)
{
	fflush(stdout);
	vfprintf(stderr, fmt, args);
	fputc('\n', stderr);
	exit(status);
}

void fail(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	leave(EXIT_FAILURE, fmt, args);
}

void skip(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	leave(EXIT_SKIP, fmt, args);
}

static unsigned long parse_mib(const char *text)
{
	char *end = NULL;
	unsigned long mib = text ? strtoul(text, &end, 10) : 0;

	if (!mib || *end || mib % 2 || mib > 1UL << 20)
		fail("--mib takes an even number of MiB, not %s", text ? text : "nothing");
	return mib;
}

struct request parse_request(int argc, char **argv, const char *usage)
{
	struct request req = { .name = argc > 1 ? argv[1] : NULL };

	if (!req.name)
		fail("which case? usage: %s", usage);
	for (int i = 2; i < argc; i++) {
		if (!strcmp(argv[i], "--full"))
			req.full = true;
		else if (!strcmp(argv[i], "--mib") && strstr(usage, "--mib"))
			req.mib = parse_mib(argv[++i]);
		else
			fail("unknown argument %s; usage: %s", argv[i], usage);
	}
	MARK(MARK_START);
	return req;
}

size_t wanted_size(const struct request *req, size_t usual, size_t full)
{
	if (req->mib)
		return req->mib * MIB;
	return req->full ? full : usual;
}
