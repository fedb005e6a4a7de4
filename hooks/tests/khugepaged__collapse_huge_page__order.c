// SPDX-License-Identifier: GPL-2.0-only
static int collapse_huge_page(struct mm *mm, unsigned long address)
{
	result = check_pmd_still_valid(mm, address, pmd);
	if (result != SCAN_SUCCEED)
		goto out_up_write;

	vma_start_write(vma);
	anon_vma_lock_write(vma->anon_vma);

	pmd_ptl = pmd_lock(mm, pmd);
	anon_vma_unlock_write(vma->anon_vma);
out_up_write:
	return result;
}
