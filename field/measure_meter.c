// SPDX-License-Identifier: GPL-2.0-only
/* What is counted beside the clock: see measure.h. */
#include "../workloads/lib/tables.h"
#include "measure.h"

static struct sample *target;
static struct interrupts earlier;
static u64 tables;

void open_meter(struct sample *sample)
{
	target = sample;
	tables = vmpte();
	open_events();
}

static void note_end(void)
{
	struct interrupts now = read_interrupts();
	u64 left = vmpte();

	target->interrupts.flushes = now.flushes - earlier.flushes;
	target->interrupts.calls = now.calls - earlier.calls;
	target->vmpte = left > tables ? left - tables : 0;
}

/* Called by measure_begin() and measure_end(), outside of what the clock measures. */
void note_counters(bool end)
{
	if (end) {
		stop_events(target->counts);
		note_end();
	} else {
		earlier = read_interrupts();
		start_events();
	}
}
