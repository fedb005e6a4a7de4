// SPDX-License-Identifier: GPL-2.0-only
/* The measured stretch: see workload.h. */
#include <sys/resource.h>
#include <time.h>

#include "../../include/mark.h"
#include "workload.h"

/* Page faults in the last stretch.  While a stretch is measured: those before it began. */
static unsigned long faults;

static u64 read_clock(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

u64 clock_now(void)
{
	return read_clock(CLOCK_MONOTONIC);
}

u64 measure_begin(void)
{
	u64 start;

	note_counters(false);
	faults = count_faults();
	start = clock_now();
	MARK(MARK_BEGIN);
	return start;
}

u64 measure_end(u64 start)
{
	MARK(MARK_END);
	start = clock_now() - start;
	faults = count_faults() - faults;
	note_counters(true);
	return start;
}

unsigned long measured_faults(void)
{
	return faults;
}

u64 cpu_time(void)
{
	return read_clock(CLOCK_PROCESS_CPUTIME_ID);
}

unsigned long count_faults(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_minflt + usage.ru_majflt;
}
