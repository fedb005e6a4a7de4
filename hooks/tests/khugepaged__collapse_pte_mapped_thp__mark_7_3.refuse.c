// SPDX-License-Identifier: GPL-2.0-only
/* A missing table ends the function. */
static int try_collapse_pte_mapped_thp(struct mm *mm, unsigned long addr, bool install_pmd)
{
	result = find_pmd_or_thp_or_none(mm, haddr, &pmd);
	if (result != SCAN_SUCCEED)
		return result;
	start_pte = map_lock(mm, pmd, haddr, &ptl);
	return install_pmd ? set_huge_pmd(vma, haddr, pmd) : SCAN_SUCCEED;
}
