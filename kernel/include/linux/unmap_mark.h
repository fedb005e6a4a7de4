/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The MARK: a bit in a none PMD, which says that its page table was freed (law 11).
 *
 * A fault at a marked PMD gets a page table, as if the old one had stayed, and no huge page.
 * pmd_none() ignores the bit, and so do processors in an entry that is not present; any
 * entry that is installed overwrites it.  mm/unmap/tables/table_mark.c and
 * Documentation/mm/unmap.rst say what sets, moves, copies and removes marks, and why other
 * code is not affected.  A stale mark costs a page table where a huge page was possible,
 * nothing else.
 */
#ifndef _LINUX_UNMAP_MARK_H
#define _LINUX_UNMAP_MARK_H

#include <linux/bitops.h>
#include <linux/mm_types.h>
#include <linux/pgtable.h>
#include <linux/unmap_compat.h>

/*
 * In mm->flags: this mm may have marks.  Set before its first mark, with the mmap lock held,
 * and never cleared.  The bit is unused in 6.12 and in 7.3.  It is outside of UNMAP_MMF_INHERITED,
 * so that an mm made by fork() or exec() begins without it.  No bit above 31 is outside: in
 * 6.12 that mask is a negative int.
 */
#define MMF_UNMAP_MARKED	15

/*
 * pmd_none() of x86-64 ignores dirty and accessed, because some processors set them by
 * mistake.  The mark is dirty, which no code tests in a PMD that holds a page table.
 */
#if defined(CONFIG_UNMAP_TABLES) && defined(CONFIG_X86_64)
static inline bool unmap_pmd_marked(pmd_t pmd)
{
	return pmd_none(pmd) && (native_pmd_val(pmd) & _PAGE_DIRTY);
}

static inline pmd_t unmap_marked_pmd(void)
{
	return native_make_pmd(_PAGE_DIRTY);
}

static inline bool unmap_mm_marked(const struct mm_struct *mm)
{
	return mm_flags_test(MMF_UNMAP_MARKED, mm);
}

static inline void unmap_mm_set_marked(struct mm_struct *mm)
{
	if (unlikely(!unmap_mm_marked(mm)))
		mm_flags_set(MMF_UNMAP_MARKED, mm);
}
#else
static inline bool unmap_pmd_marked(pmd_t pmd)
{
	return false;
}

/* Where pmd_none() ignores no bit, there are no marks: a none PMD is zero. */
static inline pmd_t unmap_marked_pmd(void)
{
	return __pmd(0);
}

static inline bool unmap_mm_marked(const struct mm_struct *mm)
{
	return false;
}

static inline void unmap_mm_set_marked(struct mm_struct *mm)
{
}
#endif

/* None and not marked: no table was freed there, so a fault may install a huge page. */
#ifdef CONFIG_UNMAP_TABLES
static inline bool unmap_pmd_untouched(pmd_t pmd)
{
	return pmd_none(pmd) && !unmap_pmd_marked(pmd);
}
#else
#define unmap_pmd_untouched	pmd_none
#endif

#ifdef CONFIG_UNMAP_TABLES
void unmap_pmd_unhook(struct mm_struct *mm, pmd_t *pmd, bool mark);
bool unmap_pmd_refilled(struct mm_struct *mm, pmd_t *pmd);
bool unmap_refilled_at(struct mm_struct *mm, unsigned long addr);
void __unmap_pmd_forget(struct mm_struct *mm, pmd_t *pmd);
void __unmap_pmds_forget(struct mm_struct *mm, pud_t *pud, unsigned long addr,
			 unsigned long end);
void __unmap_pmd_move(struct mm_struct *mm, pmd_t *from, pmd_t *to, bool whole);
void __unmap_pmds_fork(struct vm_area_struct *child, struct vm_area_struct *parent);
#else
static inline bool unmap_pmd_refilled(struct mm_struct *mm, pmd_t *pmd)
{
	return false;
}

static inline bool unmap_refilled_at(struct mm_struct *mm, unsigned long addr)
{
	return false;
}

static inline void __unmap_pmd_forget(struct mm_struct *mm, pmd_t *pmd)
{
}

static inline void __unmap_pmds_forget(struct mm_struct *mm, pud_t *pud,
				       unsigned long addr, unsigned long end)
{
}

static inline void __unmap_pmd_move(struct mm_struct *mm, pmd_t *from, pmd_t *to,
				    bool whole)
{
}

static inline void __unmap_pmds_fork(struct vm_area_struct *child,
				     struct vm_area_struct *parent)
{
}
#endif

/* For khugepaged.c, whose enum it is: whether a result says that there is no page table. */
#ifdef CONFIG_UNMAP_STOCK_SCAN_NO_TABLE
#define unmap_scan_no_table(result)	((result) == SCAN_NO_PTE_TABLE)
#else
#define unmap_scan_no_table(result)	((result) == SCAN_PMD_NULL || (result) == SCAN_PMD_NONE)
#endif

/* Whether a PMD is marked now.  @pmd may be null.  No lock is held. */
static inline bool unmap_pmd_has_mark(pmd_t *pmd)
{
	return IS_ENABLED(CONFIG_UNMAP_TABLES) && pmd &&
	       unlikely(unmap_pmd_marked(pmdp_get_lockless(pmd)));
}

/*
 * Remove a mark: from now on a fault may install a huge page there.  @pmd may be null.  The
 * PMD lock is taken and dropped if the PMD is marked.
 */
static inline void unmap_pmd_forget(struct mm_struct *mm, pmd_t *pmd)
{
	if (unmap_pmd_has_mark(pmd))
		__unmap_pmd_forget(mm, pmd);
}

/* For free_pgtables(): no VMA is left, so no other task reaches the PMD.  No lock is held. */
static inline void unmap_pmd_unmapped(pmd_t *pmd)
{
	if (unlikely(unmap_pmd_marked(*pmd)))
		pmd_clear(pmd);
}

/*
 * For mremap(), which passes over @from because it is none.  With @whole, the whole range of
 * @from is moved.  The mmap lock is held for writing; if @from is marked, the locks of @to
 * and, with @whole, of @from are taken and dropped, one after the other.
 */
static inline void unmap_pmd_move(struct mm_struct *mm, pmd_t *from, pmd_t *to, bool whole)
{
	if (unmap_pmd_marked(*from))
		__unmap_pmd_move(mm, from, to, whole);
}

/*
 * For fork(), after it has copied the parent's page tables of this VMA.  Both mmap locks are
 * held for writing.  If the parent never had a mark, this is one test.
 */
static inline void unmap_pmds_fork(struct vm_area_struct *child,
				   struct vm_area_struct *parent)
{
	if (unlikely(unmap_mm_marked(parent->vm_mm)))
		__unmap_pmds_fork(child, parent);
}

#endif /* _LINUX_UNMAP_MARK_H */
