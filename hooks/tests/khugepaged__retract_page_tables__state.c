// SPDX-License-Identifier: GPL-2.0-only
static void retract_page_tables(struct mapping *mapping)
{
	for_each(vma, mapping) {
		pml = pmd_lock(mm, pmd);
		ptl = pte_lockptr(mm, pmd);
		if (ptl != pml)
			spin_lock_nested(ptl, SINGLE_DEPTH_NESTING);
		if (unlikely(vma->anon_vma || userfaultfd_wp(vma)))
			skipped = true;
		else
			gone = flush(vma, pmd);
	}
}

static void others(struct mm *mm, pmd_t *pmd)
{
	ptl = pte_lockptr(mm, pmd);
}
