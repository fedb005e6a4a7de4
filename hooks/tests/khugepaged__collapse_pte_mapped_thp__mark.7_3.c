// SPDX-License-Identifier: GPL-2.0-only
static int try_collapse_pte_mapped_thp(struct mm *mm, unsigned long addr, bool install_pmd)
{
	result = find_pmd_or_thp_or_none(mm, haddr, &pmd);
	switch (result) {
	case SCAN_SUCCEED:
		break;
	case SCAN_NO_PTE_TABLE:
		/* no table */
		goto maybe_install_pmd;
	default:
		goto drop_folio;
	}
	start_pte = map_lock(mm, pmd, haddr, &ptl);
maybe_install_pmd:
	result = install_pmd ? set_huge_pmd(vma, haddr, pmd) : SCAN_SUCCEED;
drop_folio:
	return result;
}
