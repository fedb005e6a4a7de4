// SPDX-License-Identifier: GPL-2.0-only
/*
 * Page tables that one MADV_DONTNEED empties entirely, on x86 since Linux 6.18: an mmu_gather
 * frees them, as in stock code (PT_RECLAIM).  This is the exception to law 7.
 *
 * No mmap lock.  Law 7 wants it because of code that holds it for writing: fork(), mremap(),
 * and collapse to a huge page.  Such a table lies wholly in the VMA that MADV_DONTNEED has
 * locked, and since 6.18 that code write-locks the VMA before it touches the VMA's tables.
 *
 * No flush of our own.  The mmu_gather flushes walk caches and translations of all tables
 * together, when it is full or has many pages and at the end of madvise() or process_madvise().
 * It frees the tables a grace period after its end, or after it was full.  Until the flush, another
 * table or a huge page may take the place of one that is still in a walk cache.  On x86 this is
 * harmless to data: the old table stays empty, and the page fault that it causes drops it from the
 * processor's caches.  But not to instruction fetches: many Intel processors raise a machine check
 * if the TLB has a small page and a huge page for one instruction (iTLB multihit).  So tables of
 * executable memory go the usual way.  AMD's family 10h may raise one for data, too (erratum 383,
 * which stock names in __split_huge_pmd_locked()).  Stock's own freeing of whole tables does not
 * avoid that, nor does this one.
 *
 * No mark: law 11 allows a huge page there.
 *
 * The mmu_gather does not count tables that wait for their grace period, as tables_grace.c
 * does.  They stay charged meanwhile.  So where a control group has hardly any room left,
 * tables go the usual way, too.
 *
 * Xen PV pins page tables, and the mmu_gather unpins them: this is the only way to free them
 * there.  It has no huge pages.
 */
#include <linux/mm.h>
#include <linux/pgtable.h>

#include <asm/pgalloc.h>
#include <asm/tlb.h>

#include <trace/events/unmap.h>

#include "../internal.h"
#include "../stat.h"
#include "policy.h"
#include "table.h"

/* Pages: a control group that has less room left is nearly full. */
#define ROOM	64

/**
 * unmap_table_may_be_gathered - does a page table go to the mmu_gather when it is empty?
 * @vma: contains all that the table maps, and is locked, unless the mmap lock is held
 *
 * For tables that one MADV_DONTNEED empties entirely.
 */
bool unmap_table_may_be_gathered(const struct vm_area_struct *vma)
{
	if (UNMAP_ARCH_TABLES_PINNED)
		return true;
	return unmap_policy_eager() && !(vma->vm_flags & VM_EXEC) &&
	       unmap_memcg_room(vma->vm_mm) >= ROOM;
}

/**
 * unmap_table_try_unhook - unhook an empty page table, unless its PMD lock is taken
 * @tlb: of the pass that has emptied the table; owes no rmap removal
 * @pmd: holds the table
 * @table: all of its entries were seen none since its lock was taken
 * @ptl: the table's lock, held on entry and return
 *
 * The PMD lock comes before the page-table lock, so it is only tried for.
 *
 * Return: whether the table was unhooked.
 */
bool unmap_table_try_unhook(const struct mmu_gather *tlb, pmd_t *pmd, pte_t *table,
			    spinlock_t *ptl)
{
	spinlock_t *pml = pmd_lockptr(tlb->mm, pmd);

	lockdep_assert_held(ptl);
	if (ptl != pml && !spin_trylock(pml))
		return false;
	VM_WARN_ON_ONCE((pte_t *)pmd_page_vaddr(pmdp_get(pmd)) != table);
	unmap_table_assert_none(table);
	unmap_table_assert_unmapped(tlb);
	unmap_pmd_unhook(tlb->mm, pmd, false);
	if (ptl != pml)
		spin_unlock(pml);
	return true;
}

/**
 * unmap_table_gather - hand an unhooked page table to an mmu_gather
 * @tlb: has gathered what the table mapped
 * @table: unhooked by the caller
 * @addr: any address that the table translated
 *
 * The gather gets the table's first address, since the flush may go from the lowest address that
 * the gather has recorded in steps of PMD_SIZE: see unmap_gather_may_miss().
 *
 * No page-table lock and no PMD lock is held.
 */
void unmap_table_gather(struct mmu_gather *tlb, pte_t *table, unsigned long addr)
{
	addr &= PMD_MASK;
	mm_dec_nr_ptes(tlb->mm);
	unmap_count(UNMAP_STAT_TABLES_FREED, 1);
	trace_table_free(tlb->mm, addr, TABLE_BY_DISCARD);
	pte_free_tlb(tlb, virt_to_page(table), addr);
	VM_WARN_ON_ONCE(unmap_gather_may_miss(tlb));
}

/**
 * unmap_gather_flush_pages - flush, and free the gathered pages, but not yet the gathered tables
 * @tlb: has gathered pages, and perhaps tables
 *
 * tlb_flush_mmu() would end the batch of tables, too: for the next table it would allocate another
 * one, and each batch waits for a grace period of its own.  The flush covers the tables that are
 * kept: they are freed with later ones.
 *
 * No page-table lock and no PMD lock is held.
 */
void unmap_gather_flush_pages(struct mmu_gather *tlb)
{
	struct mmu_table_batch *tables = tlb->batch;

	tlb->batch = NULL;
	tlb_flush_mmu(tlb);
	VM_WARN_ON_ONCE(tlb->batch);
	tlb->batch = tables;
}
