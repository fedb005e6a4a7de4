// SPDX-License-Identifier: GPL-2.0-only
/* The PMD is not checked. */
static int apply_to_pmd_range(struct mm *mm, pmd_t *pmd)
{
	if (pmd_none(*pmd) && !create)
		return 0;
	return 1;
}
