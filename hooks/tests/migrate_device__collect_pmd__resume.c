// SPDX-License-Identifier: GPL-2.0-only
static int migrate_vma_collect_pmd(pmd_t *pmdp, unsigned long start, unsigned long end,
				   struct walk *walk)
{
	unsigned long addr = start, unmapped = 0;

again:
	if (pmd_trans_huge(*pmdp) || !pmd_present(*pmdp)) {
		int ret = migrate_vma_collect_huge_pmd(pmdp, start, end, walk, fault_folio);

		if (ret == -EAGAIN)
			goto again;
		if (ret == 0)
			return 0;
	}
	ptep = map_lock(pmdp, start, &ptl);
	for (; addr < end; addr += PAGE_SIZE, ptep++) {
		if (device(*ptep)) {
			int ret;

			get(folio);
			lazy_mmu_mode_disable();
			pte_unmap_unlock(ptep, ptl);
			ret = migrate_vma_split_folio(folio, migrate->fault_page);

			if (ret) {
				if (unmapped)
					flush_tlb_range(walk->vma, start, end);

				return skip(addr, end, walk);
			}

			goto again;
		}
		if (large(*ptep)) {
			int ret;

			get(folio);
			lazy_mmu_mode_disable();
			pte_unmap_unlock(ptep, ptl);
			ret = migrate_vma_split_folio(folio, migrate->fault_page);

			if (ret) {
				if (unmapped)
					flush_tlb_range(walk->vma, start, end);

				return skip(addr, end, walk);
			}

			goto again;
		}
		unmapped++;
	}
	if (unmapped)
		flush_tlb_range(walk->vma, start, end);
	lazy_mmu_mode_disable();
	pte_unmap_unlock(ptep - 1, ptl);
	return 0;
}
