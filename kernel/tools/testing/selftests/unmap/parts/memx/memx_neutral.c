// SPDX-License-Identifier: GPL-2.0-only
/*
 * Operations that must not change anything that a program can see: reclaim, migration,
 * collapse, pins, locks.  Threads run them at any time: see disturb().
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "memx.h"

#ifndef MPOL_MF_MOVE
#define MPOL_MF_MOVE	2
#endif

#define NR_MOVED	64U

/* Failures are ignored: the range has a hole, no huge page, there is no second node. */
static void advise_range(struct range range, int advice)
{
	madvise(address(range.first), range.nr * PAGE, advice);
}

static void page_out(struct range range)
{
	advise_range(range, MADV_PAGEOUT);
}

static void cool(struct range range)
{
	advise_range(range, MADV_COLD);
}

static void will_need(struct range range)
{
	advise_range(range, MADV_WILLNEED);
}

static void collapse(struct range range)
{
	range.first &= ~511U;
	range.nr = 512;
	advise_range(range, MADV_COLLAPSE);
}

static void populate_read(struct range range)
{
	advise_range(range, MADV_POPULATE_READ);
}

static void huge_or_not(struct range range)
{
	advise_range(range, chance(2) ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
}

static void move_to_node(struct range range, int node)
{
	void *pages[NR_MOVED];
	int nodes[NR_MOVED], status[NR_MOVED];
	unsigned int nr = range.nr < NR_MOVED ? range.nr : NR_MOVED;

	for (unsigned int i = 0; i < nr; i++) {
		pages[i] = address(range.first + i);
		nodes[i] = node;
	}
	syscall(SYS_move_pages, 0, nr, pages, nodes, status, MPOL_MF_MOVE);
}

static void migrate(struct range range)
{
	move_to_node(range, pick(2));
}

static void compact(struct range range)
{
	(void)range;
	write_text("/proc/sys/vm/compact_memory", "1");
}

static void clear_accessed(struct range range)
{
	(void)range;
	write_text("/proc/self/clear_refs", "1");
}

static void drop_clean(struct range range)
{
	(void)range;
	write_text("/proc/sys/vm/drop_caches", chance(2) ? "1" : "2");
}

static void reclaim_some(struct range range)
{
	reclaim_all((1 + range.nr / 8) * PAGE);
}

/* References that reclaim must notice: pages in a pipe that is never read. */

static struct pin pins[4];
static bool pinned[4];

static void unpin_slot(int slot)
{
	if (pinned[slot])
		unpin(&pins[slot]);
	pinned[slot] = false;
}

void release_pins(void)
{
	for (int i = 0; i < 4; i++)
		unpin_slot(i);
}

static void pin_pages(struct range range)
{
	int slot = pick(4);
	__u32 step = 1 + pick(4);

	unpin_slot(slot);
	pinned[slot] = pin_open(&pins[slot]);
	for (__u32 i = 0; pinned[slot] && i < range.nr && i < 64; i += step)
		if (readable(model(range.first + i)))
			pin_page(&pins[slot], address(range.first + i));
}

static void unpin_pages(struct range range)
{
	(void)range;
	unpin_slot(pick(4));
}

/* Change the size of new folios. */
static void resize_folios(struct range range)
{
	(void)range;
	folio_size_set(4UL << (chance(3) ? 0 : pick(10)));
}

/* Runs in a thread: it must not use the model. */
void disturb(unsigned int *state)
{
	static const int advices[] = { MADV_PAGEOUT, MADV_PAGEOUT, MADV_COLD, MADV_COLLAPSE,
				       MADV_POPULATE_READ, MADV_WILLNEED };
	struct range range = { rand_r(state) % (ARENA_PAGES - 64), 1 + rand_r(state) % 64 };
	char data[PAGE];
	struct iovec local = { data, PAGE }, remote = { address(range.first), PAGE };

	switch (rand_r(state) % 4) {
	case 0:
		move_to_node(range, rand_r(state) % 2);
		break;
	case 1:
		process_vm_readv(getpid(), &local, 1, &remote, 1, 0);
		break;
	default:
		advise_range(range, advices[rand_r(state) % 6]);
	}
}

struct operation neutral_operations[] = {
	{ "page_out", 60, page_out, false },
	{ "cool", 10, cool, false },
	{ "will_need", 6, will_need, false },
	{ "collapse", 6, collapse, true },
	{ "populate_read", 10, populate_read, false },
	{ "huge_or_not", 4, huge_or_not, false },
	{ "migrate", 8, migrate, false },
	{ "compact", 1, compact, true },
	{ "clear_accessed", 2, clear_accessed, true },
	{ "drop_clean", 1, drop_clean, true },
	{ "reclaim_some", 8, reclaim_some, true },
	{ "pin", 20, pin_pages, false },
	{ "unpin", 16, unpin_pages, false },
	{ "resize_folios", 2, resize_folios, true },
	{ }
};
