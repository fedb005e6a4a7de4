// SPDX-License-Identifier: GPL-2.0-only
/* Text files of /proc and /sys: see workload.h. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "workload.h"

bool path_exists(const char *path)
{
	return !access(path, F_OK);
}

void write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);
	ssize_t len = strlen(text);

	if (fd < 0)
		fail("cannot open %s: %s", path, strerror(errno));
	if (write(fd, text, len) != len)
		fail("cannot write '%s' to %s: %s", text, path, strerror(errno));
	close(fd);
}

u64 read_field(const char *path, const char *key)
{
	FILE *file = fopen(path, "r");
	size_t len = strlen(key);
	u64 value = 0;
	char line[256];

	if (!file)
		fail("cannot open %s: %s", path, strerror(errno));
	while (fgets(line, sizeof(line), file)) {
		if (strncmp(line, key, len))
			continue;
		value = strtoull(line + len, NULL, 10);
		break;
	}
	fclose(file);
	return value;
}

u64 read_number(const char *path)
{
	return read_field(path, "");
}
