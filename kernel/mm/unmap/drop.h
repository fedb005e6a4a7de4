/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Dropping full page tables, which faults can build again.
 *
 * drop.c	when memory is short, find processes and their tables
 * drop_age.c	which tables of a process that runs have not been used for a while
 * drop_table.c	judge one table, unmap what it maps, and give it back
 */
#ifndef __MM_UNMAP_DROP_H
#define __MM_UNMAP_DROP_H

#include <linux/mm_types.h>

#include "table.h"

/**
 * struct drop - reclaim of the page tables of one mm
 * @batch: for giving back tables; says whose they are
 * @mm: its mmap lock is held for reading while its tables are looked at
 * @nid: the memory node of the tables that are wanted
 * @written: take also tables with dirty entries, which cost a fault for each to have back
 * @runs: the process is not idle: only old tables go
 * @age: how many ticks a table of such a process must have been unused
 * @flush: accessed bits were cleared since the last flush
 * @next: the address from which to go on
 * @looked: how many tables were looked at
 * @dropped: how many went
 * @steps_left: how many VMAs and places of tables may still be looked at in this call
 * @drops_left: how many tables may go
 */
struct drop {
	struct table_batch batch;
	struct mm_struct *mm;
	int nid;
	bool written;
	bool runs;
	unsigned long age;
	bool flush;
	unsigned long next;
	unsigned int looked, dropped;
	unsigned int steps_left, drops_left;
};

bool drop_is_old(struct drop *d, struct vm_area_struct *vma, pmd_t *pmd, unsigned long addr);
void drop_flush(struct drop *d);
bool drop_vma_may(const struct vm_area_struct *vma);
bool drop_table(struct drop *d, pmd_t *pmd, unsigned long addr);

#endif /* __MM_UNMAP_DROP_H */
