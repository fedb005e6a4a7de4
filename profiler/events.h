/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Events that are counted besides instructions.  Some events are the entry of a certain
 * kernel function.  What a TLB instruction flushes depends on the function that contains
 * it.  Both are decided here, when QEMU translates the code.
 */
#ifndef SWATHE_PROFILER_EVENTS_H
#define SWATHE_PROFILER_EVENTS_H

#include <stdbool.h>
#include <stdint.h>

enum event {
	EVENT_ATOMIC,
	EVENT_TLB_SINGLE,	/* this CPU flushes a page */
	EVENT_TLB_FULL,		/* this CPU flushes an address space or more */
	EVENT_TLB_REMOTE,	/* x86: a request to other CPUs; arm64: a broadcast */
	EVENT_MM_SWITCH,	/* x86: %cr3 written for another process */
	EVENT_IPI,
	EVENT_TABLE_ALLOCATED,
	EVENT_TABLE_FREED,
	NR_EVENTS
};

extern const char *const event_names[NR_EVENTS];

/*
 * Look the functions up that are events; symbols_read() comes first.  Returns NULL, or the
 * name of an event of which this kernel has no known function.
 */
const char *events_find(bool is_arm64);

/* A mask of the events that an instruction of this kind at @addr stands for. */
unsigned int events_of(unsigned int kind, uint64_t addr);

/* Whether the instruction at @addr may send an IPI by a store; whether a store to @vaddr does. */
bool events_may_send(uint64_t addr);
bool events_sends(uint64_t vaddr);

#endif /* SWATHE_PROFILER_EVENTS_H */
