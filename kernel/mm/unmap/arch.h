/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What an architecture's page tables are known to allow beyond its interface (several
 * entries looked at as one, the next swap entry without a look, one flush for all), and
 * what they are known to forbid.  Without a word here neither is known: one that pins
 * tables, or keeps something beside an entry, must be named.
 */
#ifndef __MM_UNMAP_ARCH_H
#define __MM_UNMAP_ARCH_H

#include <linux/mm_types.h>
#include <linux/pgtable.h>

#include <asm/tlbflush.h>

/* All deferred flushes of an mm are one flush of all of it; others go by address. */
#define UNMAP_ARCH_ONE_FLUSH	\
	(IS_ENABLED(CONFIG_X86) && IS_ENABLED(CONFIG_ARCH_WANT_BATCHED_UNMAP_TLB_FLUSH))

/*
 * arch_check_zapped_pte() does nothing but warn where there is one, in x86 with
 * DEBUG_VM: the call is saved without.  Look again when another one appears.
 */
static inline void unmap_arch_check_zapped(struct vm_area_struct *vma, pte_t pte)
{
	if (IS_ENABLED(CONFIG_DEBUG_VM))
		arch_check_zapped_pte(vma, pte);
}

/*
 * Several entries at a time.  The page-table lock is held: but for accessed and dirty,
 * which x86 sets in present entries, nobody changes them meanwhile.
 *
 * UNMAP_ARCH_FOURS - whether unmap_arch_differ() may be asked.  Not on Xen PV: what is
 *	in an entry is the machine's number of the page there, and the next number is not
 *	the next page's.
 * unmap_arch_all_none() - whether @nr (4, 8 or 64) entries from @ptep on are none: a look
 *	at each, and one decision for all, where none means no bit but those that do not
 *	count.
 * unmap_arch_differ() - the bits in which any of four entries from @ptep on is not what
 *	follows from the first being @want, with @step from one to the next.
 * unmap_arch_gather() - @sum, made dirty and young if @pte is; nothing else is asked of it.
 * UNMAP_ARCH_SWAP_STEP - from one swap entry to that of the next place, where that is
 *	the same number for all of them (x86-64 keeps the inverted place in bits that are
 *	neighbours); 0: look at each.
 */
#if defined(CONFIG_X86_64) && !defined(CONFIG_UML)
#define UNMAP_ARCH_FOURS	(!cpu_feature_enabled(X86_FEATURE_XENPV))

static inline pteval_t unmap_arch_four(const pte_t *ptep)
{
	return ptep[0].pte | ptep[1].pte | ptep[2].pte | ptep[3].pte;
}

static inline pteval_t unmap_arch_eight(const pte_t *ptep)
{
	return unmap_arch_four(ptep) | unmap_arch_four(ptep + 4);
}

static __always_inline pteval_t unmap_arch_thirty_two(const pte_t *ptep)
{
	return unmap_arch_eight(ptep) | unmap_arch_eight(ptep + 8) |
	       unmap_arch_eight(ptep + 16) | unmap_arch_eight(ptep + 24);
}

static __always_inline bool unmap_arch_all_none(const pte_t *ptep, unsigned int nr)
{
	pteval_t bits;

	if (nr == 4)
		bits = unmap_arch_four(ptep);
	else if (nr == 8)
		bits = unmap_arch_eight(ptep);
	else
		bits = unmap_arch_thirty_two(ptep) | unmap_arch_thirty_two(ptep + 32);
	return pte_none(native_make_pte(bits));
}

static __always_inline pte_t unmap_arch_differ(const pte_t *ptep, pte_t want, u64 step)
{
	return native_make_pte((ptep[0].pte ^ want.pte) |
			       (ptep[1].pte ^ (want.pte + step)) |
			       (ptep[2].pte ^ (want.pte + 2 * step)) |
			       (ptep[3].pte ^ (want.pte + 3 * step)));
}

static inline pte_t unmap_arch_gather(pte_t sum, pte_t pte)
{
	return native_make_pte(sum.pte | pte.pte);
}

#define UNMAP_ARCH_SWAP_STEP						\
	(pte_val(swp_entry_to_pte(swp_entry(0, 1))) -			\
	 pte_val(swp_entry_to_pte(swp_entry(0, 0))))
#else
#define UNMAP_ARCH_FOURS	false

static __always_inline bool unmap_arch_all_none(const pte_t *ptep, unsigned int nr)
{
	return false;
}

static __always_inline pte_t unmap_arch_differ(const pte_t *ptep, pte_t want, u64 step)
{
	return want;	/* never asked */
}

static inline pte_t unmap_arch_gather(pte_t sum, pte_t pte)
{
	if (pte_dirty(pte) && !pte_dirty(sum))
		sum = pte_mkdirty(sum);
	if (pte_young(pte) && !pte_young(sum))
		sum = pte_mkyoung(sum);
	return sum;
}

#define UNMAP_ARCH_SWAP_STEP	0UL
#endif

/*
 * get_and_clear_full_ptes(), where the architecture has one of its own.  The
 * generic one makes an entry dirty and young as often as it finds another that
 * is; here once, if it is not.
 */
static __always_inline pte_t unmap_arch_clear(struct mm_struct *mm, unsigned long addr,
					      pte_t *ptep, unsigned int nr, int full)
{
#ifdef get_and_clear_full_ptes
	return get_and_clear_full_ptes(mm, addr, ptep, nr, full);
#else
	pte_t first = ptep_get_and_clear_full(mm, addr, ptep, full), sum = first;

	if (nr == 1)
		return first;
	while (--nr) {
		ptep++;
		addr += PAGE_SIZE;
		sum = unmap_arch_gather(sum, ptep_get_and_clear_full(mm, addr, ptep, full));
	}
	if (pte_dirty(sum) && !pte_dirty(first))
		first = pte_mkdirty(first);
	if (pte_young(sum) && !pte_young(first))
		first = pte_mkyoung(first);
	return first;
#endif
}

/*
 * Walk caches of all processors forget the tables that translate @start to @end; nothing
 * that they translated is in a TLB any more.  x86 is asked for one address in each
 * table: INVLPG forgets all that lead to it (AMD's translation cache extension), or
 * all there are (SDM vol. 3A, 4.10.4.1).
 */
static inline void unmap_arch_flush_tables(struct vm_area_struct *vma,
					   unsigned long start, unsigned long end)
{
#if defined(CONFIG_X86) && !defined(CONFIG_UML)
	flush_tlb_mm_range(vma->vm_mm, start, end - PMD_SIZE + PAGE_SIZE, PMD_SHIFT,
			   true);
#else
	flush_tlb_range(vma, start, end - start == PMD_SIZE ? start + PAGE_SIZE : end);
#endif
}

/* Xen PV pins page tables, and only the gather's freeing unpins them. */
#if defined(CONFIG_X86) && !defined(CONFIG_UML)
#define UNMAP_ARCH_TABLES_PINNED	cpu_feature_enabled(X86_FEATURE_XENPV)
#else
#define UNMAP_ARCH_TABLES_PINNED	false
#endif

/* Such architectures keep something beside an entry: arch_unmap_one(). */
#ifdef __HAVE_ARCH_UNMAP_ONE
#define UNMAP_ARCH_UNMAPS_ONE	true
#else
#define UNMAP_ARCH_UNMAPS_ONE	false
#endif

#endif /* __MM_UNMAP_ARCH_H */
