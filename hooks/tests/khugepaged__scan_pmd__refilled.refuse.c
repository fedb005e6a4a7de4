// SPDX-License-Identifier: GPL-2.0-only
/* Another function finds the PMD. */
static int collapse_scan_pmd(struct mm *mm, unsigned long addr, struct control *cc)
{
	result = look(mm, addr, &pmd);
	if (result != SCAN_SUCCEED)
		return result;
	return SCAN_FAIL;
}
