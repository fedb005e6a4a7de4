/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A none PMD remembers that its page table was given back (law 11): the MARK.
 *
 * A fault there gets a table again, as if it had stayed, and nothing huge.  The mark is
 * a bit that pmd_none() ignores, and that no processor looks at in an entry which is not
 * present; whatever is installed overwrites it.  mm/unmap/table_mark.c and
 * Documentation/mm/unmap.rst say who leaves, takes along and removes it, and why nobody
 * else notices.  A mark that has outlived its reason costs a table where a huge page was
 * possible, no more.
 */
#ifndef _LINUX_UNMAP_MARK_H
#define _LINUX_UNMAP_MARK_H

#include <linux/bitops.h>
#include <linux/mm_types.h>
#include <linux/pgtable.h>

/*
 * In mm->flags: there may be marks in this mm.  Set before its first one, with the mmap lock
 * held, and never cleared.  The bit is free in 6.12 and 7.3 (which has mm_flags_test() for
 * it), and outside of MMF_INIT_MASK, so that fork() and exec() begin without.  None above 31
 * is: in 6.12 that mask is a negative int.
 */
#define MMF_UNMAP_MARKED	15

/*
 * x86-64 ignores dirty and accessed, since there are processors that set them by
 * mistake.  Of the two, dirty is the one that nobody looks at in a table's entry.
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
	return test_bit(MMF_UNMAP_MARKED, &mm->flags);
}

static inline void unmap_mm_set_marked(struct mm_struct *mm)
{
	if (unlikely(!unmap_mm_marked(mm)))
		set_bit(MMF_UNMAP_MARKED, &mm->flags);
}
#else
static inline bool unmap_pmd_marked(pmd_t pmd)
{
	return false;
}

/* An architecture whose pmd_none() ignores no bit can keep no mark. */
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

/* None, and no table was given back there: a fault may put something huge into it. */
static inline bool unmap_pmd_untouched(pmd_t pmd)
{
	return pmd_none(pmd) && !unmap_pmd_marked(pmd);
}

#ifdef CONFIG_UNMAP_TABLES
void unmap_pmd_unhook(struct mm_struct *mm, pmd_t *pmd, bool mark);
void __unmap_pmd_forget(struct mm_struct *mm, pmd_t *pmd);
void __unmap_pmd_move(struct mm_struct *mm, pmd_t *from, pmd_t *to, bool whole);
void __unmap_pmds_fork(struct vm_area_struct *child, struct vm_area_struct *parent);
#else
static inline void __unmap_pmd_forget(struct mm_struct *mm, pmd_t *pmd)
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

/*
 * Something huge is as good as a table there from now on.  @pmd may be null; its lock is
 * taken and dropped, if it is marked.
 */
static inline void unmap_pmd_forget(struct mm_struct *mm, pmd_t *pmd)
{
	if (pmd && unlikely(unmap_pmd_marked(pmdp_get_lockless(pmd))))
		__unmap_pmd_forget(mm, pmd);
}

/* For free_pgtables(): no VMA is left there, and nobody can reach it.  No lock is held. */
static inline void unmap_pmd_unmapped(pmd_t *pmd)
{
	if (unlikely(unmap_pmd_marked(*pmd)))
		pmd_clear(pmd);
}

/*
 * For mremap(), @from is none: with @whole, nothing else is to come from there.  The mmap
 * lock is held for writing; the lock of @to is taken and dropped.
 */
static inline void unmap_pmd_move(struct mm_struct *mm, pmd_t *from, pmd_t *to, bool whole)
{
	if (unmap_pmd_marked(*from))
		__unmap_pmd_move(mm, from, to, whole);
}

/*
 * For fork(), whose copying of the parent's page tables has come to its end in this VMA.
 * Both mmap locks are held for writing.  Nothing but a test where no table was given back.
 */
static inline void unmap_pmds_fork(struct vm_area_struct *child,
				   struct vm_area_struct *parent)
{
	if (unlikely(unmap_mm_marked(parent->vm_mm)))
		__unmap_pmds_fork(child, parent);
}

#endif /* _LINUX_UNMAP_MARK_H */
