// SPDX-License-Identifier: GPL-2.0-only
/* Another function finds the PMD. */
static int hpage_collapse_scan_pmd(struct mm *mm, unsigned long address)
{
	result = look(mm, address, &pmd);
	if (result != SCAN_SUCCEED)
		return result;
	return SCAN_FAIL;
}
