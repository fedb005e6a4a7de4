// SPDX-License-Identifier: GPL-2.0-only
/* Events that perf counts: see measure_events.h. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "measure.h"

#define TEXT	400

#define MISSES(cache, op)	(PERF_COUNT_HW_CACHE_##cache | \
				 PERF_COUNT_HW_CACHE_OP_##op << 8 | \
				 PERF_COUNT_HW_CACHE_RESULT_MISS << 16)

static struct event events[NR_EVENTS] = {
	[CYCLES] = { "cycles", WORK, PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES },
	[INSTRUCTIONS] = { "instructions", WORK, PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS },
	[L1D_MISSES] = { "L1D load misses", CACHES, PERF_TYPE_HW_CACHE, MISSES(L1D, READ) },
	[L2_MISSES] = { "L2 misses", CACHES, PERF_TYPE_RAW, 0 },
	[LLC_MISSES] = { "LLC load misses", CACHES, PERF_TYPE_HW_CACHE, MISSES(LL, READ) },
	[DTLB_LOADS] = { "dTLB load misses", TRANSLATIONS, PERF_TYPE_HW_CACHE,
			 MISSES(DTLB, READ) },
	[DTLB_STORES] = { "dTLB store misses", TRANSLATIONS, PERF_TYPE_HW_CACHE,
			  MISSES(DTLB, WRITE) },
};

/*
 * On Intel, LLC load misses need a register that virtual machines may lack (offcore
 * response).  There perf's cache misses are those of the last level, too; other makers' are
 * those of another level (arch/x86/events/, drivers/perf/arm_pmuv3.c in Linux).
 */
static const struct event llc_of_intel = {
	"LLC misses", CACHES, PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES
};

/* Why an event is not counted. */
enum lack { NONE, REFUSED, NO_PERF, MISSING, UNKNOWN, STILL, NR_LACKS };

static enum lack lacks[NR_EVENTS];
static unsigned int chosen = NO_SET;
static int files[NR_EVENTS];

/* Of this process and its children; a member of a group counts while its leader does. */
static int open_event(const struct event *event, int leader)
{
	struct perf_event_attr attr = {
		.type = event->type,
		.size = sizeof(attr),
		.config = event->config,
		.disabled = leader < 0,
		.inherit = 1,
		.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
	};

	return syscall(SYS_perf_event_open, &attr, 0, -1, leader, PERF_FLAG_FD_CLOEXEC);
}

static enum lack try_event(const struct event *event)
{
	int fd = open_event(event, -1);

	if (fd >= 0) {
		close(fd);
		return NONE;
	}
	if (errno == EACCES || errno == EPERM)
		return REFUSED;
	return errno == ENOSYS ? NO_PERF : MISSING;
}

static enum lack probe_event(unsigned int nr)
{
	enum lack lack;

	if (nr == L2_MISSES && !find_l2_misses(&events[nr]))
		return UNKNOWN;
	lack = try_event(&events[nr]);
	if (lack == MISSING && nr == LLC_MISSES && is_intel() && !try_event(&llc_of_intel)) {
		events[nr] = llc_of_intel;
		return NONE;
	}
	return lack;
}

/* A machine that counts no cycles has no counters at all, or hides them. */
static void probe_all(void)
{
	for (unsigned int i = 0; i < NR_EVENTS; i++)
		lacks[i] = i && lacks[CYCLES] ? lacks[CYCLES] : probe_event(i);
}

static const char *how_to_allow(void)
{
	static char text[TEXT];
	const char *level = first_line(PARANOID);

	if (!geteuid() || strtol(level, NULL, 10) < 2)
		return "perf_event_open(2) is refused: a container, or a security module, would "
		       "have to allow it (CAP_PERFMON)";
	snprintf(text, TEXT, "only root may count in the kernel; sysctl "
		 "kernel.perf_event_paranoid=1 allows it to others (it is %s)", level);
	return text;
}

static const char *explain(enum lack lack)
{
	static const char *const reasons[NR_LACKS] = {
		[NO_PERF] = "this kernel has none",
		[MISSING] = "this machine or kernel has none",
		[UNKNOWN] = "which raw event it is on this processor is not known",
		[STILL] = "no call counted any: a virtual machine, or cores of another kind, "
			  "may have none",
	};

	return lack == REFUSED ? how_to_allow() : reasons[lack];
}

void probe_events(void)
{
	probe_all();
	if (lacks[CYCLES])
		fprintf(stderr, "swathe-field: only nanoseconds, no perf events: %s\n",
			explain(lacks[CYCLES]));
}

static bool is_in(unsigned int nr, unsigned int set)
{
	return events[nr].set == set && !lacks[nr];
}

bool is_countable(unsigned int set)
{
	for (unsigned int i = 0; i < NR_EVENTS; i++)
		if (is_in(i, set))
			return true;
	return false;
}

void choose_set(unsigned int set)
{
	chosen = set;
}

bool is_chosen(unsigned int event)
{
	return is_in(event, chosen);
}

/* The first event leads the others; one that does not fit in its group counts by itself. */
void open_events(void)
{
	int leader = -1;

	for (unsigned int i = 0; i < NR_EVENTS; i++) {
		files[i] = -1;
		if (!is_chosen(i))
			continue;
		files[i] = open_event(&events[i], leader);
		if (files[i] < 0)
			files[i] = open_event(&events[i], -1);
		if (leader < 0)
			leader = files[i];
	}
}

/* The leader begins last and ends first, so that no event counts these calls. */
void start_events(void)
{
	for (unsigned int i = NR_EVENTS; i--; )
		if (files[i] >= 0)
			ioctl(files[i], PERF_EVENT_IOC_ENABLE, 0);
}

/* An event that had to wait for a counter is scaled up; one that never got any is not known. */
static struct count read_event(int fd)
{
	struct {
		u64 value, enabled, running;
	} now = { 0 };

	if (fd < 0 || read(fd, &now, sizeof(now)) != sizeof(now) || !now.running)
		return (struct count){ 0 };
	return (struct count){
		.value = (double)now.value * now.enabled / now.running,
		.known = true,
		.scaled = now.running < now.enabled,
	};
}

void stop_events(struct count counts[NR_EVENTS])
{
	for (unsigned int i = 0; i < NR_EVENTS; i++)
		if (files[i] >= 0)
			ioctl(files[i], PERF_EVENT_IOC_DISABLE, 0);
	for (unsigned int i = 0; i < NR_EVENTS; i++)
		counts[i] = read_event(files[i]);
}

/* Append the names of these events to @text; a semicolon stands between sets. */
static unsigned int list(char *text, enum lack lack)
{
	unsigned int nr = 0, set = 0;
	size_t len = 0;

	for (unsigned int i = 0; i < NR_EVENTS; i++) {
		if (lacks[i] != lack)
			continue;
		len += snprintf(text + len, TEXT - len, "%s%s",
				!nr++ ? "" : events[i].set == set ? ", " : "; ", events[i].name);
		set = events[i].set;
	}
	return nr;
}

void print_events(void)
{
	char names[TEXT];

	for (unsigned int i = 0; i < NR_EVENTS; i++)
		if (!lacks[i] && stood_still(i))
			lacks[i] = STILL;
	if (list(names, NONE))
		head("events", "%u more calls in each state for each of: %s", nr_rounds(), names);
	for (enum lack lack = NONE + 1; lack < NR_LACKS; lack++) {
		unsigned int nr = list(names, lack);

		if (nr)
			head("left out", "perf events%s%s: %s", nr == NR_EVENTS ? "" : " ",
			     nr == NR_EVENTS ? "" : names, explain(lack));
	}
}
