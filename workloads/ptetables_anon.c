// SPDX-License-Identifier: GPL-2.0-only
/* Ways to empty anonymous memory: see ptetables.c. */
#define _GNU_SOURCE
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "ptetables.h"

#define PIECE	(64UL << 10)
#define POINTS	50
#define FORGOTTEN	11	/* s: tables that were given back are remembered for ten */

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
 * Plot how VmPTE grows.  Reading /proc costs instructions, so this repeats the measured
 * loop at the same addresses afterwards, when tables there are not expected to come back any more.
 */
void plot_touch_and_zap(struct range *r)
{
	const size_t tables = r->len / TABLE;
	u64 samples[POINTS + 1];
	struct range part = { .len = 0 };

	munmap(r->mem, r->len);
	if (map_anon(r->len) != r->mem)
		fail("the range was mapped at another address");
	sleep(FORGOTTEN);
	samples[0] = vmpte();
	for (int i = 1; i <= POINTS; i++) {
		part.mem = r->mem + tables * (i - 1) / POINTS * TABLE;
		part.len = r->mem + tables * i / POINTS * TABLE - part.mem;
		touch_and_zap(&part);
		samples[i] = vmpte();
	}
	if (samples[POINTS] != r->after)
		fail("VmPTE was %llu kB when measured, %llu kB when plotted",
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
	discard_unaligned(r->mem, r->len);
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

/* Leave empty tables behind, and take the VmPTE of a first child. */
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
	reap_child(pid);
}

void fork_and_exit(struct range *r)
{
	pid_t pid = fork_prepared();

	(void)r;
	release_child(pid);
	reap_child(pid);
}
