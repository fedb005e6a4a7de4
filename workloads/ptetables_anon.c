// SPDX-License-Identifier: GPL-2.0-only
/* Anonymous memory that is emptied in different ways: see ptetables.c. */
#define _GNU_SOURCE
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "ptetables.h"

#define PIECE	(64UL << 10)
#define POINTS	50

u64 vmpte(void)
{
	return read_field("/proc/self/status", "VmPTE:");
}

void touch(struct range *r)
{
	for (size_t i = 0; i < r->len; i += r->step)
		r->mem[i] = 1;
}

void touch_and_zap(struct range *r)
{
	for (size_t i = 0; i < r->len; i += TABLE) {
		r->mem[i] = 1;
		advise(r->mem + i, TABLE, MADV_DONTNEED);
	}
}

/*
 * VmPTE while it grows.  Reading /proc costs instructions, so this goes through
 * the same once more, in the same place, after what was measured.
 */
void plot_touch_and_zap(struct range *r)
{
	const size_t tables = r->len / TABLE;
	u64 samples[POINTS + 1];
	struct range part = { .len = 0 };

	munmap(r->mem, r->len);
	if (map_anon(r->len) != r->mem)
		fail("the range did not come back to where it was");
	samples[0] = vmpte();
	for (int i = 1; i <= POINTS; i++) {
		part.mem = r->mem + tables * (i - 1) / POINTS * TABLE;
		part.len = r->mem + tables * i / POINTS * TABLE - part.mem;
		touch_and_zap(&part);
		samples[i] = vmpte();
	}
	if (samples[POINTS] != r->after)
		fail("VmPTE came to %llu kB, but to %llu kB when it was plotted",
		     (unsigned long long)r->after, (unsigned long long)samples[POINTS]);
	for (int i = 0; i <= POINTS; i++)
		point("vmpte", tables * i / POINTS * TABLE / MIB, samples[i]);
}

void zap_pieces(struct range *r)
{
	for (size_t i = 0; i < r->len; i += PIECE)
		advise(r->mem + i, PIECE, MADV_DONTNEED);
}

void zap_shifted(struct range *r)
{
	advise(r->mem, MIB, MADV_DONTNEED);
	for (size_t i = MIB; i + TABLE < r->len; i += TABLE)
		advise(r->mem + i, TABLE, MADV_DONTNEED);
	advise(r->mem + r->len - MIB, MIB, MADV_DONTNEED);
}

void make_lazyfree(struct range *r)
{
	touch(r);
	advise(r->mem, r->len, MADV_FREE);
}

void page_out(struct range *r)
{
	advise(r->mem, r->len, MADV_PAGEOUT);
}

static pid_t fork_prepared(void)
{
	pid_t pid = fork();

	if (!pid) {
		child_prepared();
		_exit(0);
	}
	await_child(pid);
	return pid;
}

/* Empty tables to inherit, and what a first child inherits of them. */
void make_emptied(struct range *r)
{
	char path[40];
	pid_t pid;

	touch(r);
	advise(r->mem, r->len, MADV_DONTNEED);
	pid = fork_prepared();
	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	r->after = read_field(path, "VmPTE:");
	release_child(pid);
	bury_child(pid);
}

void fork_and_exit(struct range *r)
{
	pid_t pid = fork_prepared();

	(void)r;
	release_child(pid);
	bury_child(pid);
}
