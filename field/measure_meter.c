// SPDX-License-Identifier: GPL-2.0-only
/* What is counted beside the clock: see measure.h. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../workloads/lib/tables.h"
#include "measure.h"

#define MISSES(cache)	((cache) | PERF_COUNT_HW_CACHE_OP_READ << 8 | \
			 PERF_COUNT_HW_CACHE_RESULT_MISS << 16)

static const struct event {
	const char *name;
	unsigned int type, config;
} known[NR_EVENTS] = {
	[CYCLES] = { "cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES },
	[INSTRUCTIONS] = { "instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS },
	[DTLB_MISSES] = { "dTLB misses", PERF_TYPE_HW_CACHE, MISSES(PERF_COUNT_HW_CACHE_DTLB) },
};

static bool usable[NR_EVENTS];
static int events[NR_EVENTS];
static struct sample *target;
static struct interrupts earlier;
static u64 tables;

/* Of this process and its children, in user space and in the kernel; not counting yet. */
static int open_event(const struct event *event)
{
	struct perf_event_attr attr = {
		.type = event->type,
		.size = sizeof(attr),
		.config = event->config,
		.disabled = 1,
		.inherit = 1,
		.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
	};

	return syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

static const char *explain(int error)
{
	if (error == EACCES || error == EPERM)
		return "only root may count it (kernel.perf_event_paranoid)";
	return "this machine or kernel has none";
}

const char *probe_events(void)
{
	static char text[120];

	for (unsigned int i = 0; i < NR_EVENTS; i++) {
		int fd = open_event(&known[i]);

		usable[i] = fd >= 0;
		if (fd >= 0)
			close(fd);
		else if (!*text)
			snprintf(text, sizeof(text), "perf event %s: %s", known[i].name,
				 explain(errno));
	}
	return *text ? text : NULL;
}

void open_meter(struct sample *sample)
{
	target = sample;
	tables = vmpte();
	for (unsigned int i = 0; i < NR_EVENTS; i++)
		events[i] = usable[i] ? open_event(&known[i]) : -1;
}

static void switch_events(unsigned long request)
{
	for (unsigned int i = 0; i < NR_EVENTS; i++)
		if (events[i] >= 0)
			ioctl(events[i], request, 0);
}

/* An event that shared its counter with others is scaled up; -1: it was never counted. */
static double read_event(int fd)
{
	struct {
		u64 value, enabled, running;
	} now = { 0 };

	if (fd < 0 || read(fd, &now, sizeof(now)) < 0 || !now.running)
		return -1;
	return (double)now.value * now.enabled / now.running;
}

static void note_end(void)
{
	struct interrupts now = read_interrupts();
	u64 left = vmpte();

	target->interrupts.flushes = now.flushes - earlier.flushes;
	target->interrupts.calls = now.calls - earlier.calls;
	target->vmpte = left > tables ? left - tables : 0;
	for (unsigned int i = 0; i < NR_EVENTS; i++)
		target->events[i] = read_event(events[i]);
}

/* Called by measure_begin() and measure_end(), outside of what the clock measures. */
void note_counters(bool end)
{
	if (end) {
		switch_events(PERF_EVENT_IOC_DISABLE);
		note_end();
	} else {
		earlier = read_interrupts();
		switch_events(PERF_EVENT_IOC_ENABLE);
	}
}
