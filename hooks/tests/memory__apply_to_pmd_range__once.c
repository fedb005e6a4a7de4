// SPDX-License-Identifier: GPL-2.0-only
static int apply_to_pmd_range(struct mm *mm, pmd_t *pmd)
{
	if (pmd_none(*pmd) && !create)
		return 0;
	if (!pmd_none(*pmd) && WARN_ON_ONCE(pmd_bad(*pmd))) {
		if (!create)
			return 0;
		pmd_clear_bad(pmd);
	}
	return 1;
}
