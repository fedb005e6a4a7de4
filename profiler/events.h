/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What is counted besides instructions.  What an instruction means to the TLB
 * depends on the function it stands in, and some events are a function's entry:
 * that is decided here, when code is translated.
 */
#ifndef SWATHE_PROFILER_EVENTS_H
#define SWATHE_PROFILER_EVENTS_H

#include <stdbool.h>
#include <stdint.h>

enum event {
	EVENT_ATOMIC,
	EVENT_TLB_SINGLE,	/* this CPU's TLB, by address */
	EVENT_TLB_FULL,		/* this CPU's TLB, an address space or more */
	EVENT_TLB_REMOTE,	/* x86: other CPUs are asked; arm64: broadcast */
	EVENT_MM_SWITCH,	/* x86: %cr3 written for another process */
	EVENT_IPI,
	EVENT_TABLE_ALLOCATED,
	EVENT_TABLE_FREED,
	NR_EVENTS
};

extern const char *const event_names[NR_EVENTS];

/*
 * Find the functions that are events in the symbols read before.  Returns NULL,
 * or the name of an event for which this kernel has none of the functions known.
 */
const char *events_find(bool is_arm64);

/* The events, as a mask, that an instruction of this kind at @addr is. */
unsigned int events_of(unsigned int kind, uint64_t addr);

/* May a store of the instruction at @addr send an IPI?  Does it, to @vaddr? */
bool events_may_send(uint64_t addr);
bool events_sends(uint64_t vaddr);

#endif /* SWATHE_PROFILER_EVENTS_H */
