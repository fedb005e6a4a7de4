/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the processor counts in a call, beside the clock.
 *
 * Events are opened with perf_event_open(2) and count user space and the kernel.  They are
 * counted in calls of their own, after those that are timed, in which nothing is opened.
 */
#ifndef MEASURE_EVENTS_H
#define MEASURE_EVENTS_H

#include <stdbool.h>

#include "../include/base.h"

#ifndef CPUINFO
#define CPUINFO	"/proc/cpuinfo"
#endif
#ifndef PMUS
#define PMUS	"/sys/bus/event_source/devices/"
#endif
#ifndef PARANOID
#define PARANOID	"/proc/sys/kernel/perf_event_paranoid"
#endif

enum {
	CYCLES, INSTRUCTIONS,
	L1D_MISSES, L2_MISSES, LLC_MISSES,
	DTLB_LOADS, DTLB_STORES,
	NR_EVENTS
};

/*
 * The events of a set are counted in the same call.  A set has three at most, so that also
 * a processor of four counters, one of which watches for lockups, counts all of them at once.
 */
enum { WORK, CACHES, TRANSLATIONS, NR_SETS };

#define NO_SET	NR_SETS

struct event {
	const char *name;
	unsigned int set, type;	/* the type and what follows are perf's */
	u64 config;
};

/* How often an event happened in a call. */
struct count {
	double value;
	bool known;		/* it was counted */
	bool scaled;		/* in a part of the call: the value is an estimate */
};

/* measure_raw.c */
/* Name perf's event for L2 misses on this processor; false if none is known. */
bool find_l2_misses(struct event *event);
bool is_intel(void);

/* measure_events.c */
/* Find out which events can be counted; if none can, tell why, and how to allow it. */
void probe_events(void);
/* Whether any event of a set can be counted. */
bool is_countable(unsigned int set);
/* What the next children count. */
void choose_set(unsigned int set);
bool is_chosen(unsigned int event);
/* In a child: open the chosen events, which begin to count with start_events(). */
void open_events(void);
void start_events(void);
void stop_events(struct count counts[NR_EVENTS]);
/* Print what was counted, and what could not be. */
void print_events(void);

#endif /* MEASURE_EVENTS_H */
