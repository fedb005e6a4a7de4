// SPDX-License-Identifier: GPL-2.0-only
/*
 * folio_referenced(): learn whether the mappings of a folio were used, and age them, a run of
 * entries at a time (law 12).  Only where stock looks at one entry at a time.
 *
 * A run here is a stretch of present entries in one page table that map consecutive pages of
 * the folio.  They may differ in all bits.
 */
#include <linux/memcontrol.h>
#include <linux/mm.h>
#include <linux/mm_inline.h>
#include <linux/mmu_notifier.h>
#include <linux/oom.h>
#include <linux/page_idle.h>
#include <linux/pgtable.h>

#include "../compat_rmap.h"
#include "../internal.h"
#include "../knobs.h"
#include "reference.h"
#include "../rmap.h"
#include "../run.h"
#include "../stat.h"

/**
 * struct reference_sum - what the rmap walk has found
 * @mapcount: mappings not seen yet
 * @referenced: VMAs through which the folio was used; -1: leave the folio alone
 * @vm_flags: the flags of these VMAs; VM_LOCKED if the folio is mlocked
 * @memcg: look only at mms of this control group; NULL: at all
 */
struct reference_sum {
	int mapcount;
	int referenced;
	unsigned long vm_flags;
	struct mem_cgroup *memcg;
};

/*
 * Age the walk's entry as stock does, and tell whether it was young.  With MGLRU this also ages
 * up to 64 entries around it.
 */
static bool reference_age(struct page_vma_mapped_walk *pvmw)
{
	if (lru_gen_enabled())
		return lru_gen_look_around(pvmw);
	return ptep_clear_flush_young_notify(pvmw->vma, pvmw->address, pvmw->pte);
}

/*
 * An entry that is not present was not used by this processor: only other MMUs can have used the
 * page.  Stock's functions take such an entry for one with an accessed bit; on arm64 that bit is
 * a part of the swap type, and clearing it makes another entry.  (MGLRU would ask without a flush.
 * These entries are of device memory and of pages that a device has for itself.)
 */
static bool reference_age_nonpresent(struct page_vma_mapped_walk *pvmw)
{
	return mmu_notifier_clear_flush_young(pvmw->vma->vm_mm, pvmw->address,
					      pvmw->address + PAGE_SIZE);
}

static bool reference_age_pmd(struct page_vma_mapped_walk *pvmw)
{
	if (IS_ENABLED(CONFIG_TRANSPARENT_HUGEPAGE))
		return pmdp_clear_flush_young_notify(pvmw->vma, pvmw->address, pvmw->pmd);
	WARN_ON_ONCE(1);
	return false;
}

/* Law 2, and the entries that the walk would visit. */
static unsigned int reference_limit(struct page_vma_mapped_walk *pvmw, unsigned long pfn)
{
	unsigned long last = min(pvmw->address | ~PMD_MASK, vma_address_end(pvmw) - 1);
	unsigned long nr = ((last - pvmw->address) >> PAGE_SHIFT) + 1;

	nr = min(nr, pvmw->pfn + pvmw->nr_pages - pfn);
	return min_t(unsigned long, nr, READ_ONCE(unmap_max_run));
}

/*
 * How many of @left entries from @ptep on are old and map consecutive pages, compared four at a
 * time.  The first is expected to be @want, but for its dirty bit, each further one to be larger
 * by @page.
 */
static __always_inline unsigned int reference_old_fours(const pte_t *ptep, pte_t want, u64 page,
							unsigned int left)
{
	unsigned int nr = 0;

	while (UNMAP_ARCH_FOURS && nr + 4 <= left &&
	       !pte_val(pte_mkclean(unmap_arch_differ(ptep + nr, want, page)))) {
		want = __pte(pte_val(want) + 4 * page);
		nr += 4;
	}
	return nr;
}

/*
 * The walk's entry: age it if it is young.  Returns the number of entries done: one, or an old
 * contiguous block of arm64 (pte_batch_hint()), which may reach beyond the run; 0: the entry
 * does not map @pfn.
 */
static unsigned int reference_step(struct page_vma_mapped_walk *pvmw, unsigned long pfn,
				   bool *young)
{
	pte_t pte = ptep_get(pvmw->pte);

	if (!pte_present(pte) || pte_pfn(pte) != pfn)
		return 0;
	if (!pte_young(pte))
		return pte_batch_hint(pvmw->pte, pte);
	*young |= reference_age(pvmw);
	return 1;
}

/* Law 12: the run ends with the walk's entry, and lies within the folio. */
static void reference_assert_run(const struct page_vma_mapped_walk *pvmw, unsigned long pfn,
				 unsigned int nr)
{
	VM_WARN_ON_ONCE(pfn < pvmw->pfn || pfn + nr > pvmw->pfn + pvmw->nr_pages);
	VM_WARN_ON_ONCE(pte_pfn(ptep_get(pvmw->pte)) != pfn + nr - 1);
}

static void reference_move(struct page_vma_mapped_walk *pvmw, pte_t *ptep, unsigned long addr,
			   unsigned int nr)
{
	pvmw->pte = ptep + nr;
	pvmw->address = addr + nr * PAGE_SIZE;
}

/*
 * Age the run that starts at the walk's present entry, and move the walk to its last entry.
 * Not inline: single pages would save and restore the registers (law 9).
 */
static noinline unsigned int reference_run(struct page_vma_mapped_walk *pvmw, bool *young)
{
	pte_t *ptep = pvmw->pte, pte = unmap_arch_peek(ptep), want = pte_mkold(pte_mkclean(pte));
	const u64 page = unmap_run_step(want);
	const unsigned long addr = pvmw->address, pfn = pte_pfn(pte);
	unsigned int limit = reference_limit(pvmw, pfn), nr = 0, step;

	do {
		reference_move(pvmw, ptep, addr, nr);
		step = reference_old_fours(ptep + nr, __pte(pte_val(want) + nr * page), page,
					   limit - nr);
		step = step ?: reference_step(pvmw, pfn + nr, young);
		nr += step;
	} while (step && nr < limit);

	nr = min(nr, limit);
	reference_move(pvmw, ptep, addr, nr - 1);
	reference_assert_run(pvmw, pfn, nr);
	unmap_count(UNMAP_STAT_AGED_RUNS, 1);
	unmap_count(UNMAP_STAT_AGED_ENTRIES, nr);
	return nr;
}

/**
 * unmap_reference_entries - age the entries at a walk's position
 * @pvmw: found an entry of a folio; returns at the last entry that was aged
 * @young: set to true if one of them was young
 *
 * Law 12: MMU notifiers are asked page by page, as in stock, because an architecture's KVM may
 * know no other sizes (riscv warns).
 *
 * Page-table lock (pvmw->ptl) held on entry and return.
 *
 * Return: the number of entries, at least 1.
 */
unsigned int unmap_reference_entries(struct page_vma_mapped_walk *pvmw, bool *young)
{
	if (unlikely(!pvmw->pte)) {
		*young |= reference_age_pmd(pvmw);
		return 1;
	}
	if (unlikely(!pte_present(unmap_arch_peek(pvmw->pte)))) {
		*young |= reference_age_nonpresent(pvmw);
		return 1;
	}
	if (pvmw->nr_pages == 1 || mm_has_notifiers(pvmw->vma->vm_mm)) {
		*young |= reference_age(pvmw);
		return 1;
	}
	return reference_run(pvmw, young);
}

/*
 * Whether a mlocked VMA maps the whole of a large folio by one page table, where the walk has
 * counted @mlocked entries.  If not, reclaim may take the folio.
 */
static bool reference_mlocks_all(struct folio *folio, struct vm_area_struct *vma,
				 unsigned long addr, unsigned int mlocked)
{
	return mlocked == folio_nr_pages(folio) && folio_within_vma(folio, vma) &&
	       !((addr ^ (addr + folio_size(folio) - 1)) & PMD_MASK);
}

/*
 * Whether to mlock the folio at the walk's position, with the page-table lock held.  Older kernels
 * decide on a large folio when they have seen it whole.
 */
static bool reference_mlocks_here(const struct page_vma_mapped_walk *pvmw, unsigned int mlocked)
{
	if (!COMPAT_MLOCKS_LARGE)
		return pvmw->nr_pages == 1 || !pvmw->pte;
	return (!pvmw->pte || mlocked == pvmw->nr_pages) &&
	       !(pvmw->flags & PVMW_PGTABLE_CROSSED);
}

/* The mlock was missed before.  False: the rmap walk ends, because reclaim keeps the folio. */
static bool reference_mlock(struct folio *folio, struct vm_area_struct *vma,
			    struct reference_sum *sum)
{
	mlock_vma_folio(folio, vma);
	sum->vm_flags |= VM_LOCKED;
	return false;
}

/* Add what one VMA has shown.  False: no mapping is left to look at. */
static bool reference_add(struct folio *folio, const struct vm_area_struct *vma, bool young,
			  struct reference_sum *sum)
{
	if (young)
		folio_clear_idle(folio);
	/* Page idle tracking, clear_refs or DAMON took the accessed bit and left this note. */
	if (folio_test_clear_young(folio) || young) {
		sum->referenced++;
		sum->vm_flags |= vma->vm_flags & ~VM_LOCKED;
	}
	return sum->mapcount;
}

/*
 * Look at one VMA.  Called by the rmap walk with the VMA's rmap lock held for read.  References
 * through mlocked VMAs do not count.  False ends the rmap walk.
 */
static bool reference_in_vma(struct folio *folio, struct vm_area_struct *vma,
			     unsigned long address, void *arg)
{
	DEFINE_FOLIO_VMA_WALK(pvmw, folio, vma, address, 0);
	unsigned int nr, mlocked = 0;
	struct reference_sum *sum = arg;
	bool young = false;

	while (page_vma_mapped_walk(&pvmw)) {
		if (unlikely(vma->vm_flags & VM_LOCKED)) {
			mlocked++;
			sum->mapcount--;
			if (!reference_mlocks_here(&pvmw, mlocked))
				continue;
			page_vma_mapped_walk_done(&pvmw);
			return reference_mlock(folio, vma, sum);
		}
		if (rmap_is_dying(vma, folio)) {
			page_vma_mapped_walk_done(&pvmw);
			sum->referenced = -1;
			return false;
		}
		nr = unmap_reference_entries(&pvmw, &young);
		sum->mapcount -= nr;
		if (nr == pvmw.nr_pages) {
			page_vma_mapped_walk_done(&pvmw);
			break;
		}
	}
	if (!COMPAT_MLOCKS_LARGE && unlikely(mlocked) && vma->vm_flags & VM_LOCKED &&
	    reference_mlocks_all(folio, vma, address, mlocked))
		return reference_mlock(folio, vma, sum);
	return reference_add(folio, vma, young, sum);
}

/* True: uses through this VMA say nothing, or are another control group's affair. */
static bool reference_ignores_vma(struct vm_area_struct *vma, void *arg)
{
	struct reference_sum *sum = arg;

	return !vma_has_recency(vma) ||
	       (sum->memcg && !mm_match_cgroup(vma->vm_mm, sum->memcg));
}

static int referenced(struct folio *folio, bool locked, struct mem_cgroup *memcg,
		      unsigned long *vm_flags)
{
	struct reference_sum sum = { .mapcount = folio_mapcount(folio), .memcg = memcg };
	struct rmap_walk_control rwc = {
		.rmap_one = reference_in_vma,
		.arg = &sum,
		.anon_lock = folio_lock_anon_vma_read,
		.try_lock = true,
		.invalid_vma = reference_ignores_vma,
	};
	bool lock = !locked && (!folio_test_anon(folio) || folio_test_ksm(folio));

	VM_WARN_ON_ONCE_FOLIO(folio_test_hugetlb(folio), folio);
	*vm_flags = 0;
	if (!sum.mapcount || !folio_raw_mapping(folio))
		return 0;
	if (lock && !folio_trylock(folio))
		return 1;

	rmap_walk(folio, &rwc);
	*vm_flags = sum.vm_flags;
	if (lock)
		folio_unlock(folio);
	return rwc.contended ? -1 : sum.referenced;
}

/**
 * folio_referenced - look at a folio's mappings, and age them
 * @folio: referenced by the caller, and off the LRU lists
 * @is_locked: whether the caller has locked the folio; if not, it is locked here where the rmap
 *	walk needs that
 * @memcg: count only uses by this control group's processes; NULL: by all
 * @vm_flags: gets the flags of the VMAs through which the folio was used; VM_LOCKED says that
 *	the folio is mlocked
 *
 * Return: the number of VMAs through which the folio was used since the last look; 1 if the
 * folio is locked by somebody else; -1 if the rmap lock is, or if the process that maps the
 * folio is about to go.
 */
int folio_referenced(struct folio *folio, int is_locked, struct mem_cgroup *memcg,
		     unsigned long *vm_flags)
{
	if (unmap_enabled(UNMAP_BIT_EVICT))
		return referenced(folio, is_locked, memcg, vm_flags);
	return stock_folio_referenced(folio, is_locked, memcg, vm_flags);
}
