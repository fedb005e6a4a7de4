/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Dropping full page tables, which faults can build again.
 *
 * drop.c	when, and how much: what reclaim of a group calls
 * drop_walk.c	whose: idle processes, and those that run
 * drop_age.c	which tables of a process that runs have not been used for a while
 * drop_table.c	judge one table, unmap what it maps, and give it back
 */
#ifndef __MM_UNMAP_DROP_H
#define __MM_UNMAP_DROP_H

#include <linux/mm_types.h>

#include "../tables/table.h"

/**
 * struct drop - reclaim of the page tables of one mm
 * @batch: for giving back tables; its VMA is one of those that the table serves
 * @mm: its mmap lock is held for reading while its tables are looked at
 * @nid: the memory node of the tables that are wanted
 * @written: take also tables that cost a fault for each entry to have back: those with dirty
 *	entries, or of SysV shared memory
 * @busy: the process is not idle: only old tables go
 * @age: how many ticks a table of such a process must have been unused
 * @flush: accessed bits were cleared since the last flush
 * @next: the address from which to go on
 * @looked: how many tables were looked at
 * @dropped: how many went
 * @steps_left: how many VMAs and places of tables may still be looked at in this call
 * @drops_left: how many entries may still go, and DROP_TABLE more for each table
 */
struct drop {
	struct table_batch batch;
	struct mm_struct *mm;
	int nid;
	bool written;
	bool busy;
	unsigned long age;
	bool flush;
	unsigned long next;
	unsigned int looked, dropped;
	unsigned int steps_left, drops_left;
};

/* To drop a table costs as much as to unmap so many entries, beside those that it has. */
#define DROP_TABLE		32

/* Where to go on: pass so many mms of the list, and begin at @addr in the next one. */
struct drop_place {
	unsigned int mm;
	unsigned long addr;
};

#define DROP_MMS_MAX		16	/* that are gathered in one walk */

/**
 * struct drop_call - one call of reclaim for one group and one node
 * @memcg: the group
 * @before: of local_clock(): who has run since is not idle
 * @running: look at processes that are not idle, instead of those that are
 * @from: pass so many mms of the list
 * @next: pass so many in the next call
 * @threads_left: how many threads may be looked at while the list is locked
 * @nr: how many elements of @mms are in use
 * @mms: to be looked at; they are kept from being freed, but may lose their users
 * @places: their places in the list
 */
struct drop_call {
	struct mem_cgroup *memcg;
	u64 before;
	bool running;
	unsigned int from, next;
	unsigned int threads_left;
	unsigned int nr;
	struct mm_struct *mms[DROP_MMS_MAX];
	unsigned int places[DROP_MMS_MAX];
};

bool drop_is_old(struct drop *d, struct vm_area_struct *vma, pmd_t *pmd, unsigned long addr);
void drop_flush(struct drop *d);
struct drop_place drop_walk(struct drop_call *call, struct drop *d, struct drop_place from);
bool drop_vma_may(const struct vm_area_struct *vma);
bool drop_table(struct drop *d, pmd_t *pmd, unsigned long addr);

void unmap_drop_tables(gfp_t gfp, int nid, struct mem_cgroup *memcg, int priority);

#endif /* __MM_UNMAP_DROP_H */
