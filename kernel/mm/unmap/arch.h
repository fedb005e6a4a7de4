/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What an architecture's page tables allow beyond the generic interface (compare several
 * entries at once, compute the next swap entry, one deferred flush for a whole mm), and
 * what they forbid.  The defaults assume neither: an architecture that pins page tables,
 * or keeps data beside an entry, must be named here.
 */
#ifndef __MM_UNMAP_ARCH_H
#define __MM_UNMAP_ARCH_H

#include <linux/mm_types.h>
#include <linux/pgtable.h>

#include <asm/tlbflush.h>

/* x86 makes one full flush for all deferred flushes of an mm; others flush by address. */
#define UNMAP_ARCH_ONE_FLUSH	\
	(IS_ENABLED(CONFIG_X86) && IS_ENABLED(CONFIG_ARCH_WANT_BATCHED_UNMAP_TLB_FLUSH))

/*
 * Whether that one flush goes to all CPUs, whatever they run: AMD's INVLPGB (since 6.18)
 * flushes the entries of all processes.
 */
#if defined(X86_FEATURE_INVLPGB) && !defined(CONFIG_UML)
#define UNMAP_ARCH_FLUSH_REACHES_ALL	cpu_feature_enabled(X86_FEATURE_INVLPGB)
#else
#define UNMAP_ARCH_FLUSH_REACHES_ALL	false
#endif

/* Whether reclaim defers flushes of this mm to the end of its batch. */
static inline bool unmap_arch_defers_flushes(struct mm_struct *mm)
{
#ifdef CONFIG_ARCH_WANT_BATCHED_UNMAP_TLB_FLUSH
	return arch_tlbbatch_should_defer(mm);
#else
	return false;
#endif
}

/*
 * Only x86 has an arch_check_zapped_pte(), and it only warns, with DEBUG_VM: without
 * DEBUG_VM save the call.  Check this again when another architecture gets one.
 */
static inline void unmap_arch_check_zapped(struct vm_area_struct *vma, pte_t pte)
{
	if (IS_ENABLED(CONFIG_DEBUG_VM))
		arch_check_zapped_pte(vma, pte);
}

/*
 * Several entries at a time.  The page-table lock is held, so nobody changes the entries
 * meanwhile, except that hardware sets accessed and dirty in present entries (x86; arm64: the
 * access flag, and it clears "read-only" where an entry may become dirty).  (drop_age.c looks
 * for one in use without that lock, and does not rely on what it finds.)
 *
 * On arm64:
 *
 * - All none: allowed.  Hardware updates only valid entries, each in one atomic access, so that
 *   a none entry stays zero, whatever its neighbours are.
 * - Compared: not done.  Entries of a contiguous block (contpte) have a bit that single ones
 *   have not (PTE_CONT), accessed and dirty of any of them count for all, and 52-bit addresses
 *   are not one number.  Blocks are taken whole instead: pte_batch_hint().
 * - Cleared by plain stores (UNMAP_PLAIN_CLEAR): not done.  Clearing is the break of
 *   break-before-make, and a store of zero would do for an entry that stands alone, since
 *   hardware cannot make a cleared entry valid again.  But a block must not be cleared in part:
 *   its other entries are first made single ones, with a flush in between, which the generic
 *   functions do.
 * - Read without its block (unmap_arch_peek()): allowed.  All entries of a block agree in all
 *   bits but the PFN, accessed and dirty, and ptep_get() reads 16 entries to gather those two.
 *
 * unmap_arch_peek() - an entry as it is: all bits are those of ptep_get(), but accessed and
 *	dirty may be missing.
 * unmap_arch_pte() - an entry made of bits as they are in the table.  On Xen PV that is no entry
 *	whose frame number may be read; pte_none() and pte_dirty() do not.
 * UNMAP_ARCH_FOURS - whether unmap_arch_differ() works.  Not on Xen PV: its entries hold
 *	machine frame numbers, which are not consecutive for consecutive pages.
 * unmap_arch_all_none() - whether @nr (4, 8 or 64) entries from @ptep on are none.  Loads
 *	each, and tests the OR of them once: pte_none() ignores the same bits in that.
 *	May return false where this is not implemented.
 * unmap_arch_any_dirty() - whether any of @nr entries from @ptep on is dirty: all of them are
 *	present, and the last contiguous block of arm64 may reach beyond them.
 * unmap_arch_differ() - the bits in which any of four entries from @ptep on differs from
 *	its expected value: @want for the first, and @step more for each that follows.
 * unmap_arch_gather() - @sum, made dirty and young if @pte is.  Callers use only these two
 *	bits of the result.
 * UNMAP_ARCH_SWAP_STEP - the difference between the swap PTEs of consecutive offsets,
 *	where it is constant (the offset is in adjacent bits: x86-64, which inverts it, and
 *	arm64).  0: it is not, compare entry by entry.
 */
#ifdef CONFIG_ARM64
#define unmap_arch_peek		__ptep_get
#define unmap_arch_pte		__pte
#else
#define unmap_arch_peek		ptep_get
#define unmap_arch_pte		native_make_pte
#endif

#if (defined(CONFIG_X86_64) && !defined(CONFIG_UML)) || defined(CONFIG_ARM64)
#define UNMAP_ARCH_SWAP_STEP						\
	(pte_val(swp_entry_to_pte(swp_entry(0, 1))) -			\
	 pte_val(swp_entry_to_pte(swp_entry(0, 0))))

static inline pteval_t unmap_arch_four(const pte_t *ptep)
{
	/* Races with hardware, which sets accessed and dirty in present entries. */
	return data_race(ptep[0].pte | ptep[1].pte | ptep[2].pte | ptep[3].pte);
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

	BUILD_BUG_ON(nr != 4 && nr != 8 && nr != 64);
	if (nr == 4)
		bits = unmap_arch_four(ptep);
	else if (nr == 8)
		bits = unmap_arch_eight(ptep);
	else
		bits = unmap_arch_thirty_two(ptep) | unmap_arch_thirty_two(ptep + 32);
	return pte_none(unmap_arch_pte(bits));
}
#else
#define UNMAP_ARCH_SWAP_STEP	0UL

static __always_inline bool unmap_arch_all_none(const pte_t *ptep, unsigned int nr)
{
	return false;
}
#endif

#if defined(CONFIG_X86_64) && !defined(CONFIG_UML)
#define UNMAP_ARCH_FOURS	(!cpu_feature_enabled(X86_FEATURE_XENPV))

static inline bool unmap_arch_any_dirty(pte_t *ptep, unsigned int nr)
{
	const pte_t *end = ptep + nr;
	pteval_t bits = 0;

	for (; ptep + 4 <= end; ptep += 4)
		bits |= unmap_arch_four(ptep);
	for (; ptep < end; ptep++)
		bits |= ptep->pte;
	return pte_dirty(native_make_pte(bits));
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
#else
#define UNMAP_ARCH_FOURS	false

static inline bool unmap_arch_any_dirty(pte_t *ptep, unsigned int nr)
{
	pte_t *end = ptep + nr, pte;

	for (; ptep < end; ptep += pte_batch_hint(ptep, pte)) {
		pte = ptep_get(ptep);
		if (pte_dirty(pte))
			return true;
	}
	return false;
}

static __always_inline pte_t unmap_arch_differ(const pte_t *ptep, pte_t want, u64 step)
{
	return want;	/* never called */
}

static inline pte_t unmap_arch_gather(pte_t sum, pte_t pte)
{
	if (pte_dirty(pte) && !pte_dirty(sum))
		sum = pte_mkdirty(sum);
	if (pte_young(pte) && !pte_young(sum))
		sum = pte_mkyoung(sum);
	return sum;
}
#endif

/*
 * set_pte_at(), of an entry that is not present, over one that is none.  On arm64 neither
 * belongs to a contiguous block: there is none to be split, and none to be made.
 */
static __always_inline void unmap_arch_set_nonpresent(struct mm_struct *mm, unsigned long addr,
						      pte_t *ptep, pte_t pte)
{
	VM_WARN_ON_ONCE(!pte_none(unmap_arch_peek(ptep)) || pte_present(pte));
#ifdef CONFIG_ARM64
	__set_ptes(mm, addr, ptep, pte, 1);
#else
	set_pte_at(mm, addr, ptep, pte);
#endif
}

/* Clear the entry at @ptep[@i], and gather its dirty and accessed bits in @sum. */
static __always_inline pte_t unmap_arch_clear_gather(struct mm_struct *mm, unsigned long addr,
						     pte_t *ptep, unsigned int i, int full,
						     pte_t sum)
{
	return unmap_arch_gather(sum, ptep_get_and_clear_full(mm, addr + i * PAGE_SIZE,
							      ptep + i, full));
}

/* The same for the three entries after @ptep[0]. */
static __always_inline pte_t unmap_arch_clear_three(struct mm_struct *mm, unsigned long addr,
						    pte_t *ptep, int full, pte_t sum)
{
	sum = unmap_arch_clear_gather(mm, addr, ptep, 1, full, sum);
	sum = unmap_arch_clear_gather(mm, addr, ptep, 2, full, sum);
	return unmap_arch_clear_gather(mm, addr, ptep, 3, full, sum);
}

/*
 * get_and_clear_full_ptes(): the architecture's own, if it has one.  The generic one calls
 * pte_mkdirty() and pte_mkyoung() for every dirty or young entry; this one calls each at
 * most once, at the end.  Four entries a step: the loop costs as much as clearing does.
 */
static __always_inline pte_t unmap_arch_clear(struct mm_struct *mm, unsigned long addr,
					      pte_t *ptep, unsigned int nr, int full)
{
#ifdef get_and_clear_full_ptes
	return get_and_clear_full_ptes(mm, addr, ptep, nr, full);
#else
	pte_t first = ptep_get_and_clear_full(mm, addr, ptep, full), sum = first;
	const pte_t *end = ptep + nr;
	unsigned int step = 1;

	if (nr == 1)
		return first;
	if (nr >= 4) {
		sum = unmap_arch_clear_three(mm, addr, ptep, full, sum);
		step = 4;
	}
	addr += step * PAGE_SIZE;
	for (ptep += step; ptep + 4 <= end; ptep += 4, addr += 4 * PAGE_SIZE) {
		sum = unmap_arch_clear_gather(mm, addr, ptep, 0, full, sum);
		sum = unmap_arch_clear_three(mm, addr, ptep, full, sum);
	}
	for (; ptep < end; ptep++, addr += PAGE_SIZE)
		sum = unmap_arch_clear_gather(mm, addr, ptep, 0, full, sum);
	if (pte_dirty(sum) && !pte_dirty(first))
		first = pte_mkdirty(first);
	if (pte_young(sum) && !pte_young(first))
		first = pte_mkyoung(first);
	return first;
#endif
}

/* ptep_clear_flush() is the architecture's own: s390 has one instruction for both steps. */
#ifdef __HAVE_ARCH_PTEP_CLEAR_FLUSH
#define UNMAP_ARCH_CLEARS_AND_FLUSHES	true
#else
#define UNMAP_ARCH_CLEARS_AND_FLUSHES	false
#endif

/*
 * Flush the page tables that translate @start to @end from the page-walk caches of all
 * processors.  The TLBs hold no translation from them any more.  x86 flushes one address
 * in each table: INVLPG drops the cached upper-level entries that lead to the address
 * (AMD's translation cache extension), or all of them (SDM vol. 3A, 4.10.4.1).
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

/*
 * Flush all of an mm, but no tables were freed.  x86 does not interrupt processors that are idle
 * with this mm: they flush before they run it again.
 */
static inline void unmap_arch_flush_mm(struct mm_struct *mm)
{
#if defined(CONFIG_X86) && !defined(CONFIG_UML)
	flush_tlb_mm_range(mm, 0, TLB_FLUSH_ALL, 0, false);
#else
	flush_tlb_mm(mm);
#endif
}

/* Xen PV pins page tables, and only freeing them through an mmu_gather unpins them. */
#if defined(CONFIG_X86) && !defined(CONFIG_UML)
#define UNMAP_ARCH_TABLES_PINNED	cpu_feature_enabled(X86_FEATURE_XENPV)
#else
#define UNMAP_ARCH_TABLES_PINNED	false
#endif

/* The architecture keeps data beside an entry, which arch_unmap_one() saves. */
#ifdef __HAVE_ARCH_UNMAP_ONE
#define UNMAP_ARCH_UNMAPS_ONE	true
#else
#define UNMAP_ARCH_UNMAPS_ONE	false
#endif

/* A number of an mm that no other has or had; elsewhere its address, which the next one may get. */
static inline unsigned long unmap_arch_mm_number(const struct mm_struct *mm)
{
#if defined(CONFIG_X86) && !defined(CONFIG_UML)
	return mm->context.ctx_id;
#else
	return (unsigned long)mm;
#endif
}

#endif /* __MM_UNMAP_ARCH_H */
