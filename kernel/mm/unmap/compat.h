/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Linux 6.12 seen as the newest kernel.  The code is written for the newest;
 * each shim says what it replaces and when it can go.
 */
#ifndef __MM_UNMAP_COMPAT_H
#define __MM_UNMAP_COMPAT_H

#include <linux/mm_types.h>
#include <linux/pgtable.h>
#include <linux/shrinker.h>
#include <linux/unmap.h>

/* All deferred flushes of an mm are one flush of all of it; others go by address. */
#define COMPAT_ONE_FLUSH_SERVES_ALL	\
	(IS_ENABLED(CONFIG_X86) && IS_ENABLED(CONFIG_ARCH_WANT_BATCHED_UNMAP_TLB_FLUSH))

/*
 * In 7.3 set_tlb_ubc_flush_pending() takes a range.  x86 notes the whole
 * mm whatever the address, so that one note serves a run; elsewhere (arm64)
 * the address is flushed, and every page needs its own.  Drop when 6.12 goes.
 */
static inline void compat_note_flush(struct mm_struct *mm, pte_t pte,
				     unsigned long start, unsigned long end)
{
	do {
		set_tlb_ubc_flush_pending(mm, pte, start);
		start += PAGE_SIZE;
	} while (!COMPAT_ONE_FLUSH_SERVES_ALL && start < end);
}

/*
 * get_and_clear_full_ptes(), where the architecture has one of its own.  The
 * generic one makes an entry dirty and young as often as it finds another that
 * is; here that is done once.
 */
static inline pte_t compat_clear_ptes(struct mm_struct *mm, unsigned long addr,
				      pte_t *ptep, unsigned int nr)
{
#ifdef get_and_clear_full_ptes
	return get_and_clear_full_ptes(mm, addr, ptep, nr, 0);
#else
	pte_t pte, first = ptep_get_and_clear(mm, addr, ptep);
	bool dirty = false, young = false;

	while (--nr) {
		ptep++;
		addr += PAGE_SIZE;
		pte = ptep_get_and_clear(mm, addr, ptep);
		dirty |= pte_dirty(pte);
		young |= pte_young(pte);
	}
	if (dirty)
		first = pte_mkdirty(first);
	if (young)
		first = pte_mkyoung(first);
	return first;
#endif
}

/*
 * PageAnonExclusive() looks for the head of a hugetlb page each time, and what
 * comes in runs is none.  The flags of 7.3 are in a struct.
 */
static inline bool compat_anon_exclusive(const struct page *page)
{
	return test_bit(PG_anon_exclusive, &page->flags);
}

/*
 * arch_check_zapped_pte() does nothing but warn where there is one, in x86 with
 * DEBUG_VM: the call is saved without.  Look again when another one appears.
 */
static inline void compat_check_zapped(struct vm_area_struct *vma, pte_t pte)
{
	if (IS_ENABLED(CONFIG_DEBUG_VM))
		arch_check_zapped_pte(vma, pte);
}

/* What a folio is charged to, for comparing: a memcg, or an object of one. */
static inline unsigned long compat_charge(const struct folio *folio)
{
#ifdef CONFIG_MEMCG
	return READ_ONCE(folio->memcg_data);
#else
	return 0;
#endif
}

/*
 * Whether @nr (4, 8 or 32) entries from @ptep on are none: a look at each, and one
 * decision for all, where none means no bit but those that do not count.  The
 * page-table lock is held, so that nobody fills entries meanwhile.  Elsewhere it is
 * not known in advance: false.
 */
#if defined(CONFIG_X86_64) && !defined(CONFIG_UML)
static inline pteval_t compat_four(const pte_t *ptep)
{
	return ptep[0].pte | ptep[1].pte | ptep[2].pte | ptep[3].pte;
}

static inline pteval_t compat_eight(const pte_t *ptep)
{
	return compat_four(ptep) | compat_four(ptep + 4);
}

static __always_inline bool compat_all_none(const pte_t *ptep, unsigned int nr)
{
	pteval_t bits = nr == 4 ? compat_four(ptep) : compat_eight(ptep);

	if (nr == 32)
		bits |= compat_eight(ptep + 8) | compat_eight(ptep + 16) |
			compat_eight(ptep + 24);
	return pte_none(native_make_pte(bits));
}
#else
static __always_inline bool compat_all_none(const pte_t *ptep, unsigned int nr)
{
	return false;
}
#endif

/*
 * From one swap entry to that of the next place, where that is the same number
 * for all of them (x86-64 keeps the inverted place in bits that are neighbours);
 * 0: look at each.
 */
#if defined(CONFIG_X86_64) && !defined(CONFIG_UML)
#define COMPAT_SWAP_STEP						\
	(pte_val(swp_entry_to_pte(swp_entry(0, 1))) -			\
	 pte_val(swp_entry_to_pte(swp_entry(0, 0))))
#else
#define COMPAT_SWAP_STEP	0UL
#endif

/* Xen PV pins page tables, and only the gather's freeing unpins them. */
#if defined(CONFIG_X86) && !defined(CONFIG_UML)
#define COMPAT_TABLES_PINNED	cpu_feature_enabled(X86_FEATURE_XENPV)
#else
#define COMPAT_TABLES_PINNED	false
#endif

/* Shrinkers have no number of their own where there are no memory control groups. */
static inline int compat_shrinker_id(const struct shrinker *shrinker)
{
#ifdef CONFIG_MEMCG
	return shrinker->id;
#else
	return 0;
#endif
}

/* Such architectures keep something beside an entry: arch_unmap_one(). */
#ifdef __HAVE_ARCH_UNMAP_ONE
#define COMPAT_UNMAPS_ONE	true
#else
#define COMPAT_UNMAPS_ONE	false
#endif

#endif /* __MM_UNMAP_COMPAT_H */
