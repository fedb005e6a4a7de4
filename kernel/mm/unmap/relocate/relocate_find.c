// SPDX-License-Identifier: GPL-2.0-only
/*
 * How long the runs are that are relocated.  Law 16.
 */
#include <linux/mm.h>
#include <linux/pgtable.h>

#include "../internal.h"
#include "../run.h"
#include "relocate.h"

static bool relocate_has(pte_t pte, bool young)
{
	return young ? pte_young(pte) : pte_dirty(pte);
}

/* How many entries of a run agree in accessed (@young), or in dirty, with the first one. */
static unsigned int relocate_alike(const struct pte_run *run, bool young)
{
	pte_t first = unmap_arch_peek(run->ptep);
	const pte_t *ptep = run->ptep;
	unsigned int i = 0;

	/* In their page frames they differ, too. */
	while (UNMAP_ARCH_FOURS && i + 4 <= run->nr &&
	       !relocate_has(unmap_arch_differ(ptep + i, first, 0), young))
		i += 4;
	while (i < run->nr && relocate_has(unmap_arch_peek(run->ptep + i), young) ==
			      relocate_has(first, young))
		i++;
	return i;
}

/**
 * unmap_relocate_cut_young - end a long run where accessed differs
 * @run: present; ends afterwards with the first block, or with the last one that agrees
 *
 * Page-table lock held on entry and return.
 */
void unmap_relocate_cut_young(struct pte_run *run)
{
	unsigned int alike;

	if (run->nr <= RELOCATE_YOUNG_TOGETHER)
		return;
	alike = relocate_alike(run, true);
	if (alike == run->nr)
		return;
	while (alike && !relocate_begins_block(run->addr, alike))
		alike--;
	if (!alike)
		alike = RELOCATE_YOUNG_TOGETHER -
			(run->addr >> PAGE_SHIFT) % RELOCATE_YOUNG_TOGETHER;
	run->nr = min(run->nr, alike);
}

/*
 * A poisoned page gets a poison entry of its own.  memory_failure() marks a page without the folio
 * lock, and its folio before it splits it; it counts the page when it is done.  Until then the page
 * has a reference, because of which the folio does not move, or memory_failure() gives up.
 */
static void relocate_cut_poisoned(const struct folio *folio, struct pte_run *run)
{
	unsigned int i = 0;

	if (!IS_ENABLED(CONFIG_MEMORY_FAILURE) ||
	    likely(!atomic_long_read(&num_poisoned_pages) && !folio_test_has_hwpoisoned(folio)))
		return;
	while (i < run->nr && !PageHWPoison(run->page + i))
		i++;
	run->nr = max(i, 1U);
}

/**
 * unmap_relocate_find - find the pages of a run, and its length
 * @r: its run begins at an entry that maps a page of the folio
 *
 * Law 3 allows entries to gain accessed and dirty, but:
 *
 * - A read-only entry of a file must not gain dirty: mprotect() would make it writable at once,
 *   although the file system was never told that the page will be written.
 * - Few pages gain accessed.  Hardware may set it in more of a long run until its entries are
 *   cleared: then all gain it.
 *
 * Page-table lock held on entry and return.
 */
void unmap_relocate_find(struct relocate *r)
{
	struct unmap_op *op = &r->op;
	struct pte_run *run = &op->run;

	run->page = folio_page(op->folio, unmap_run_pfn(run->pte) - folio_pfn(op->folio));
	r->exclusive = folio_test_anon(op->folio) && compat_anon_exclusive(run->page);
	if (!pte_present(run->pte))
		return;
	run->nr = unmap_run_length_exclusive(op);
	relocate_cut_poisoned(op->folio, run);
	if (!folio_test_anon(op->folio) && !pte_write(run->pte))
		run->nr = relocate_alike(run, false);
	unmap_relocate_cut_young(run);
}
