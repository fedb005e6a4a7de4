// SPDX-License-Identifier: GPL-2.0-only
static int hpage_collapse_scan_pmd(struct mm *mm, unsigned long address)
{
	result = find_pmd_or_thp_or_none(mm, address, &pmd);
	if (result != SCAN_SUCCEED)
		goto out;
	pte = map_lock(mm, pmd, address, &ptl);
out:
	return result;
}
