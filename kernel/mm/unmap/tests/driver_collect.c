// SPDX-License-Identifier: GPL-2.0-only
/*
 * For tests: collects memory as drivers do that migrate it to their device.
 *
 * migrate_vma_setup() drops the page-table lock in the middle of a table, to split large folios;
 * the table may be freed there (law 8).  No page is migrated: migrate_vma_finalize() puts all
 * back.
 */
#include <linux/migrate.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "driver_collect.h"

/**
 * unmap_driver_collect - collect a range, and put its pages back
 * @vma: its mmap lock is held for reading
 * @start: start of the range in @vma
 * @end: its end
 *
 * Return: how many pages were collected, holes included; or an error.  The arrays have room for
 * twice as many pages as the range has, so that a wrong number does no harm.
 */
int unmap_driver_collect(struct vm_area_struct *vma, unsigned long start, unsigned long end)
{
	unsigned long nr = 2 * ((end - start) >> PAGE_SHIFT);
	struct migrate_vma migrate = {
		.vma = vma, .start = start, .end = end, .flags = MIGRATE_VMA_SELECT_SYSTEM,
	};
	int err = -ENOMEM;

	migrate.src = kvcalloc(nr, sizeof(*migrate.src), GFP_KERNEL);
	migrate.dst = kvcalloc(nr, sizeof(*migrate.dst), GFP_KERNEL);
	if (migrate.src && migrate.dst)
		err = migrate_vma_setup(&migrate);
	if (!err) {
		migrate_vma_finalize(&migrate);
		err = migrate.npages;
	}
	kvfree(migrate.src);
	kvfree(migrate.dst);
	return err;
}
