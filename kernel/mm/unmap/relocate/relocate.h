/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Relocating: migration entries stand in for a folio's entries while its pages move, or while it
 * is split.  relocate.c puts them in, relocate_back.c and, after a split, relocate_split.c take
 * them out.
 */
#ifndef __MM_UNMAP_RELOCATE_H
#define __MM_UNMAP_RELOCATE_H

#include <linux/mm.h>
#include <linux/pgtable.h>
#include <linux/rmap.h>
#include <linux/swap.h>
#include <linux/swapops.h>

#include <trace/events/migrate.h>

#include "../internal.h"

/*
 * The accessed bits of entries that agree in all else are gathered for no more than so many, so
 * that who looks at them one by one (smaps, DAMON) learns of few pages too many.  Blocks of so many
 * begin at a multiple of their size: contiguous blocks of arm64 are not cut.
 */
#define RELOCATE_YOUNG_TOGETHER	32

/* Whether the entry @nr behind that of @addr begins a block. */
static inline bool relocate_begins_block(unsigned long addr, unsigned int nr)
{
	return !(((addr >> PAGE_SHIFT) + nr) % RELOCATE_YOUNG_TOGETHER);
}

/*
 * Whether migration takes this folio's entries in runs.  A single page has one, and so has a
 * hugetlb folio (law 9); what belongs to a device has none that is present.
 */
static inline bool unmap_relocates(struct folio *folio)
{
	return unmap_enabled(UNMAP_BIT_RELOCATE) && folio_test_large(folio) &&
	       !folio_test_hugetlb(folio) && !folio_is_zone_device(folio);
}

/**
 * struct relocate - one folio being relocated in one VMA
 * @op: its @run is the current run
 * @exclusive: PageAnonExclusive of the run's pages, before it was cleared
 * @munlocked: the folio was munlocked, as it is once for each VMA
 * @kind: enum unmap_kind, known when the run is cleared
 */
struct relocate {
	struct unmap_op op;
	unsigned int kind;
	bool exclusive;
	bool munlocked;
};

/**
 * struct unmap_back - a run of migration entries that becomes present
 * @src: the folio that they refer to; of a folio that was split, one of its parts
 * @dst: the folio whose pages take their place, as large as @src; locked, as @src is
 * @vma: maps them
 * @ptep: the first entry; its table is locked
 * @addr: its user address
 * @nr: how many
 * @old: the first entry's value
 * @entry: the same, decoded
 * @young: whether any of the entries was accessed
 * @dirty: whether any of them was dirty
 * @page: the page of @dst that the first entry will map
 */
struct unmap_back {
	struct folio *src, *dst;
	struct vm_area_struct *vma;
	pte_t *ptep;
	unsigned long addr;
	unsigned int nr;
	pte_t old;
	softleaf_t entry;
	bool young, dirty;
	struct page *page;
};

/* Whether four migration entries from @ptep on are as @want, and those of the next offsets. */
static __always_inline bool relocate_four_alike(const pte_t *ptep, pte_t want)
{
	return UNMAP_ARCH_FOURS && UNMAP_ARCH_SWAP_STEP &&
	       !pte_val(unmap_arch_differ(ptep, want, UNMAP_ARCH_SWAP_STEP));
}

/* relocate.c: for relocate_batch.c. */
enum unmap_reason unmap_relocate_leave(struct relocate *r);

/* relocate_find.c; the second one for tests. */
void unmap_relocate_find(struct relocate *r);
void unmap_relocate_cut_young(struct pte_run *run);

/* relocate_back.c; the last one for tests. */
bool unmap_back_start(struct unmap_back *b, const struct page_vma_mapped_walk *pvmw);
void unmap_back_run(struct unmap_back *b);
pte_t unmap_back_pte(const struct unmap_back *b);
void unmap_back_find(struct unmap_back *b);

/* relocate_split.c: the first for relocate_batch_back.c, the others for tests. */
bool unmap_split_map_page(const struct unmap_back *b, unsigned int i, pte_t pte);
unsigned int unmap_split_limit(const struct unmap_back *b, unsigned long nr);
unsigned int unmap_split_alike(pte_t *ptep, unsigned int limit);

#endif /* __MM_UNMAP_RELOCATE_H */
