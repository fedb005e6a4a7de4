// SPDX-License-Identifier: GPL-2.0-only
/* Stretches of instructions: see stretch.h. */
#include <stddef.h>

#include "stretch.h"

/* Instructions before this block: all, and those outside of interrupts. */
static uint64_t all, outside;
static unsigned int nr_in_block, at;
static bool in_interrupt;

void clock_block(unsigned int nr, bool inside)
{
	all += nr_in_block;
	outside += in_interrupt ? 0 : nr_in_block;
	nr_in_block = nr;
	in_interrupt = inside;
	at = 0;
}

void clock_at(unsigned int index)
{
	at = index;
}

uint64_t clock_read(void)
{
	return all + at;
}

static uint64_t clock_of(const struct stretch *stretch)
{
	return stretch->inside ? clock_read() : outside + (in_interrupt ? 0 : at);
}

void stretch_restart(struct stretch *stretch)
{
	stretch->inside = in_interrupt;
	stretch->began = clock_of(stretch);
}

void stretch_begin(struct stretch *stretch, path_t who)
{
	stretch->runs = true;
	stretch->who = who;
	stretch_restart(stretch);
}

void stretch_end(struct stretch *stretch, struct sums *sums)
{
	uint64_t length = clock_of(stretch) - stretch->began;

	stretch->runs = false;
	if (!sums)
		return;
	sums->times++;
	sums->total += length;
	if (sums->longest > length)
		return;
	sums->longest = length;
	sums->who = stretch->who;
}
