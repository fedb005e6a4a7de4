// SPDX-License-Identifier: GPL-2.0-only
static enum scan_result __collapse_huge_page_swapin(struct mm *mm, pmd_t *pmd, unsigned long addr)
{
	pte = map(mm, pmd, addr);
	if (!pte) {
		result = SCAN_NO_PTE_TABLE;
		goto out;
	}
	result = SCAN_SUCCEED;
out:
	return result;
}

static int collapse_huge_page(struct mm *mm, unsigned long addr, struct control *cc)
{
	lock_read(mm);
	result = find_pmd_or_thp_or_none(mm, pmd_addr, &pmd);
	if (result != SCAN_SUCCEED)
		goto out;
	if (unmapped) {
		result = __collapse_huge_page_swapin(mm, vma, addr, pmd,
						     referenced, order);
		if (result != SCAN_SUCCEED)
			goto out;
	}
	lock_write(mm);
	result = check_pmd_still_valid(mm, pmd_addr, pmd);
	if (result != SCAN_SUCCEED)
		goto out;
	pte = pte_offset_map_lock(mm, &_pmd, addr, &ptl);
out:
	return result;
}

static int collapse_scan_pmd(struct mm *mm, unsigned long addr, struct control *cc)
{
	result = find_pmd_or_thp_or_none(mm, addr, &pmd);
	if (result != SCAN_SUCCEED)
		goto out;
	pte = pte_offset_map_lock(mm, pmd, addr, &ptl);
out:
	return result;
}

static int collapse_other(struct mm *mm, unsigned long addr, struct control *cc)
{
	result = find_pmd_or_thp_or_none(mm, addr, &pmd);
	pte = pte_offset_map_lock(mm, pmd, addr, &ptl);
	return SCAN_NO_PTE_TABLE;
}
