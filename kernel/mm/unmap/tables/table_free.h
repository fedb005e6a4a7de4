/* SPDX-License-Identifier: GPL-2.0-only */
/* What comes after unhooking: flush page tables from walk caches, and free them. */
#ifndef __MM_UNMAP_TABLE_FREE_H
#define __MM_UNMAP_TABLE_FREE_H

#include <linux/mm.h>

#include "table.h"

/* Law 17: the table is in no list. */
static inline void unmap_table_assert_left(const struct ptdesc *table)
{
	VM_WARN_ON_ONCE(table->__page_mapping);
}

/*
 * The tables that are freed together are linked through __page_mapping.  Lockless walkers
 * that still use a table do not read that word.  It must be null when a table is freed.
 */
static inline void unmap_table_chain(struct ptdesc **gone, struct ptdesc *table)
{
	unmap_table_assert_left(table);
	table->__page_mapping = (unsigned long)*gone;
	*gone = table;
}

void unmap_table_flush(struct table_batch *batch, unsigned long start, unsigned long end);
void unmap_table_free_chain(struct mm_struct *mm, struct ptdesc *gone, unsigned int nr,
			    unsigned int slot);

#endif /* __MM_UNMAP_TABLE_FREE_H */
