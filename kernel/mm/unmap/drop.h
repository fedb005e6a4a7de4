/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Dropping full page tables, which faults can build again.
 *
 * drop.c	when memory is short, find idle processes and their tables
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
	unsigned long next;
	unsigned int looked, dropped;
	unsigned int steps_left, drops_left;
};

bool drop_vma_may(const struct vm_area_struct *vma);
bool drop_table(struct drop *d, pmd_t *pmd, unsigned long addr);

#endif /* __MM_UNMAP_DROP_H */
