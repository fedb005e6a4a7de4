// SPDX-License-Identifier: GPL-2.0-only
/* The PMD is checked under the lock already. */
static void retract_page_tables(struct mapping *mapping)
{
	pml = pmd_lock(mm, pmd);
	if (check_pmd_state(pmd))
		ptl = pte_lockptr(mm, pmd);
}
