// SPDX-License-Identifier: GPL-2.0-only
/*
 * Evicting pages with memory errors, for memory_failure() with TTU_HWPOISON: the
 * leftover is a poison entry, so a task that touches it gets SIGBUS.
 */
#include <linux/mm.h>
#include <linux/pgtable.h>
#include <linux/swap.h>
#include <linux/swapops.h>

#include "evict.h"
#include "../internal.h"
#include "../run.h"

/**
 * unmap_evict_poison - replace a page's entry by a poison entry
 * @op: its @run is cleared, and one entry long
 *
 * Page-table lock held on entry and return.
 *
 * Return: true; a poisoned page never stays.
 */
bool unmap_evict_poison(struct unmap_op *op)
{
	struct pte_run *run = &op->run;

	VM_WARN_ON_ONCE_FOLIO(run->nr != 1, op->folio);
	set_pte_at(op->vma->vm_mm, run->addr, run->ptep,
		   swp_entry_to_pte(make_hwpoison_entry(run->page)));
	unmap_run_retire(op, 1, mm_counter(op->folio), UNMAP_KIND_POISON);
	return true;
}
