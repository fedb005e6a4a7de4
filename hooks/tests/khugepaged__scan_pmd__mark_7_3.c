// SPDX-License-Identifier: GPL-2.0-only
static int collapse_scan_pmd(struct mm *mm, unsigned long addr, struct control *cc)
{
	result = find_pmd_or_thp_or_none(mm, addr, &pmd);
	if (result != SCAN_SUCCEED)
		goto out;
	pte = map_lock(mm, pmd, addr, &ptl);
out:
	return result;
}
