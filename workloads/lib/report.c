// SPDX-License-Identifier: GPL-2.0-only
/* The figures that a workload prints for the lab: see workload.h. */
#include <stdio.h>
#include <string.h>

#include "../../include/mark.h"
#include "workload.h"

#ifndef UNMAP_STAT
#define UNMAP_STAT	"/sys/kernel/mm/unmap/stat"
#endif
#define MAX_COUNTERS	128

struct counter {
	char name[48];
	unsigned long long value;
};

static struct counters {
	size_t nr;
	struct counter at[MAX_COUNTERS];
} before, after;

/* A kernel without mm/unmap has no counters. */
static void read_counters(struct counters *counters)
{
	FILE *file = fopen(UNMAP_STAT, "r");
	struct counter *next = counters->at;

	counters->nr = 0;
	if (!file)
		return;
	while (fscanf(file, "%47s %llu", next->name, &next->value) == 2) {
		if (++counters->nr == MAX_COUNTERS)
			fail(UNMAP_STAT " has more than %d counters", MAX_COUNTERS - 1);
		next++;
	}
	fclose(file);
}

void note_counters(bool end)
{
	read_counters(end ? &after : &before);
}

void metric(const char *name, u64 value, const char *unit)
{
	/* The profiler writes what it counted in the last stretch; earlier passes are dropped. */
	MARK(MARK_REPORT);
	printf("= %s %llu %s\n", name, (unsigned long long)value, unit);
}

void quotient_metric(const char *name, u64 value, u64 of, const char *unit)
{
	MARK(MARK_REPORT);
	printf("= %s %.3f %s\n", name, (double)value / of, unit);
}

void point(const char *series, u64 x, u64 y)
{
	printf("~ %s %llu %llu\n", series, (unsigned long long)x, (unsigned long long)y);
}

static void report_counters(void)
{
	if (before.nr != after.nr)
		fail("there were %zu counters and then %zu", before.nr, after.nr);
	for (size_t i = 0; i < after.nr; i++) {
		const struct counter *old = &before.at[i], *new = &after.at[i];
		char name[64];

		if (strcmp(old->name, new->name))
			fail("counter %s became %s", old->name, new->name);
		snprintf(name, sizeof(name), "stat.%s", new->name);
		if (old->value != new->value)
			metric(name, new->value - old->value, "count");
	}
}

void report(u64 instructions, u64 pages)
{
	metric("instructions", instructions, "instructions");
	metric("pages", pages, "pages");
	report_counters();
}
