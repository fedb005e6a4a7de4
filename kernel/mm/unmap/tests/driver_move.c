// SPDX-License-Identifier: GPL-2.0-only
/*
 * For tests: moves the folios that user memory maps to new ones on the same node, as compaction
 * does, but just those.
 */
#include <linux/migrate.h>
#include <linux/mm.h>
#include <linux/mmap_lock.h>
#include <linux/pagewalk.h>
#include <linux/swap.h>

#include "../../internal.h"
#include "driver.h"
#include "driver_move.h"

/*
 * Take the folio of a page off its LRU list, unless that has been done for another page.  It does
 * not become referenced, as it would by GUP.
 */
static void move_isolate(struct vm_area_struct *vma, unsigned long addr, struct list_head *list)
{
	struct folio_walk fw;
	struct folio *folio = folio_walk_start(&fw, vma, addr, 0);

	if (!folio)
		return;
	folio_get(folio);
	folio_walk_end(&fw, vma);
	isolate_folio_to_list(folio, list);
	folio_put(folio);
}

static void move_isolate_range(unsigned long start, unsigned long end, struct list_head *list)
{
	struct vm_area_struct *vma;

	mmap_read_lock(current->mm);
	for (; start < end; start += PAGE_SIZE) {
		vma = vma_lookup(current->mm, start);
		if (vma)
			move_isolate(vma, start, list);
	}
	mmap_read_unlock(current->mm);
}

/* Bring the list in the order that @cmd asks for. */
static void move_order(struct list_head *list, unsigned int cmd)
{
	struct folio *folio, *next;
	LIST_HEAD(other);
	bool odd = false;

	list_for_each_entry_safe(folio, next, list, lru) {
		if (cmd == UNMAP_DRIVER_MOVE_DOWN)
			list_move(&folio->lru, &other);
		else if (cmd == UNMAP_DRIVER_MOVE_APART && odd)
			list_move_tail(&folio->lru, &other);
		odd = !odd;
	}
	list_splice_tail(&other, list);
}

/**
 * unmap_driver_move - move the folios of a range
 * @start: start of the range
 * @end: its end; a folio of which a part is in the range moves as a whole
 * @cmd: UNMAP_DRIVER_MOVE..., which tells the order
 *
 * No locks held.
 *
 * Return: how many pages have moved.
 */
int unmap_driver_move(unsigned long start, unsigned long end, unsigned int cmd)
{
	struct migration_target_control control = {
		.nid = NUMA_NO_NODE, .gfp_mask = GFP_HIGHUSER_MOVABLE, .reason = MR_SYSCALL,
	};
	unsigned int moved = 0;
	LIST_HEAD(list);

	lru_add_drain_all();
	move_isolate_range(start, end, &list);
	move_order(&list, cmd);
	if (!list_empty(&list) &&
	    migrate_pages(&list, alloc_migration_target, NULL, (unsigned long)&control,
			  MIGRATE_SYNC, MR_SYSCALL, &moved))
		putback_movable_pages(&list);
	return moved;
}
