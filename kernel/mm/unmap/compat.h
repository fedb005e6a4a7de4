/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Linux 6.12 seen as the newest kernel.  The code is written for the newest;
 * each shim says what it replaces and when it can go.
 */
#ifndef __MM_UNMAP_COMPAT_H
#define __MM_UNMAP_COMPAT_H

#include <linux/mm_types.h>
#include <linux/pgtable.h>
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
 * Whether so many entries from @ptep on are none: a look at each that is there,
 * but one decision for all where none means no bit but those that do not count.
 */
#ifdef CONFIG_X86_64
#define COMPAT_NONE_AT_ONCE	8
static inline bool compat_all_none(const pte_t *ptep)
{
	pteval_t low = READ_ONCE(ptep[0].pte) | READ_ONCE(ptep[1].pte) |
		       READ_ONCE(ptep[2].pte) | READ_ONCE(ptep[3].pte);
	pteval_t high = READ_ONCE(ptep[4].pte) | READ_ONCE(ptep[5].pte) |
			READ_ONCE(ptep[6].pte) | READ_ONCE(ptep[7].pte);

	return pte_none(native_make_pte(low | high));
}
#else
#define COMPAT_NONE_AT_ONCE	1
static inline bool compat_all_none(pte_t *ptep)
{
	return pte_none(ptep_get(ptep));
}
#endif

/* Such architectures keep something beside an entry: arch_unmap_one(). */
#ifdef __HAVE_ARCH_UNMAP_ONE
#define COMPAT_UNMAPS_ONE	true
#else
#define COMPAT_UNMAPS_ONE	false
#endif

#endif /* __MM_UNMAP_COMPAT_H */
