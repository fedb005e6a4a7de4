// SPDX-License-Identifier: GPL-2.0-only
/* MGLRU: its switch, and aging of the test's control group: see unmap_util.h. */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "unmap_util.h"

#define LRU_GEN_ON	"/sys/kernel/mm/lru_gen/enabled"
#define LRU_GEN_CORE	1
#define AGING		"/sys/kernel/debug/lru_gen"

static long long mglru_before = -1;

/* The kernel leaves out what the processor lacks: arm64 has no accessed bit in PMDs. */
bool mglru_set(int mask)
{
	long long now;

	if (mglru_before < 0)
		mglru_before = read_field(LRU_GEN_ON, "");
	if (mglru_before < 0 || !write_number(LRU_GEN_ON, mask))
		return false;
	now = read_field(LRU_GEN_ON, "");
	return (now & LRU_GEN_CORE) == (mask & LRU_GEN_CORE) && !(now & ~mask);
}

void mglru_restore(void)
{
	if (mglru_before >= 0)
		write_number(LRU_GEN_ON, mglru_before);
	mglru_before = -1;
}

bool mglru_can_age(void)
{
	return !access(AGING, W_OK);
}

/* The control group's id and its youngest generation, as AGING prints them. */
static bool youngest(unsigned int *id, unsigned long *seq)
{
	FILE *f = fopen(AGING, "r");
	char line[256], path[128];
	bool ours = false, found = false;
	unsigned int number;

	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "memcg %u %127s", &number, path) == 2) {
			ours = !strcmp(path, cgroup_name());
			*id = ours ? number : *id;
		} else if (ours && sscanf(line, " %lu", seq) == 1) {
			found = true;
		}
	}
	if (f)
		fclose(f);
	return found;
}

static bool mglru_do(const char *what, unsigned int id, unsigned long seq, const char *options)
{
	char command[64];

	snprintf(command, sizeof(command), "%s %u 0 %lu %s", what, id, seq, options);
	return write_text(AGING, command);
}

bool mglru_age(bool all)
{
	unsigned long seq = 0;
	unsigned int id = 0;

	if (!youngest(&id, &seq))
		return false;
	if (all)
		return mglru_do("+", id, seq, "200 1");
	/* Linux 6.12 forms no generation while there are four: evict the oldest, of files. */
	if (seq >= 2)
		mglru_do("-", id, seq - 2, "0 1000000");
	return mglru_do("+", id, seq, "0 0");
}
