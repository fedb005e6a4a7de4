// SPDX-License-Identifier: GPL-2.0-only
/*
 * No surprise (law 11): what a later fault gets is what it would have got, had the page
 * table stayed.
 *
 * A table that goes makes its memory look untouched, and with transparent huge pages
 * the next touch would take a huge page: 2 MiB for each page that an allocator comes back
 * for.  So a mark stays in the PMD.
 *
 * Left		when a table is given back, but for what one MADV_DONTNEED has discarded
 *		entirely, and with the policy "huge"
 * Heeded	by faults that could install something huge
 * Taken along	by mremap(), as a table would be; not by fork()
 * Removed	by free_pgtables(), when no VMA is left there; by MADV_DONTNEED of all of it;
 *		where khugepaged would have removed the table; by whatever is installed
 *
 * PMD lock, where anything else could be installed.  Those who look do not take it, and see
 * the entry with its mark, or the table before.
 */
#include <linux/mm.h>
#include <linux/pgtable.h>
#include <linux/unmap.h>

#include "internal.h"

/**
 * unmap_pmd_unhook - take a page table out of its PMD
 * @pmd: its lock is held, and that of the table
 * @mark: leave a mark
 */
void unmap_pmd_unhook(pmd_t *pmd, bool mark)
{
	if (!mark) {
		pmd_clear(pmd);
		return;
	}
	set_pmd(pmd, unmap_marked_pmd());
	VM_WARN_ON_ONCE(!pmd_none(pmdp_get(pmd)));
}

/**
 * __unmap_pmd_forget - remove a mark
 * @mm: of the PMD
 * @pmd: its lock is taken and dropped; it cannot be freed
 */
void __unmap_pmd_forget(struct mm_struct *mm, pmd_t *pmd)
{
	spinlock_t *pml = pmd_lock(mm, pmd);

	if (unmap_pmd_marked(pmdp_get(pmd)))
		pmd_clear(pmd);
	spin_unlock(pml);
}

/**
 * __unmap_pmd_move - a mark goes where the table would have gone
 * @mm: of both; its lock is held for writing
 * @from: marked
 * @to: has nothing huge
 * @whole: all of what @from stands for goes there
 *
 * The lock of both PMDs is taken and dropped, one after the other.
 */
void __unmap_pmd_move(struct mm_struct *mm, pmd_t *from, pmd_t *to, bool whole)
{
	spinlock_t *pml = pmd_lock(mm, to);

	if (pmd_none(pmdp_get(to)))
		set_pmd(to, unmap_marked_pmd());
	spin_unlock(pml);
	if (whole)
		__unmap_pmd_forget(mm, from);
}
