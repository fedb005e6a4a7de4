// SPDX-License-Identifier: GPL-2.0-only
/* A missing table ends the function instead of the step. */
static void retract_page_tables(struct mapping *mapping, pgoff_t pgoff)
{
	foreach_area(vma, pgoff) {
		if (find_pmd_or_thp_or_none(mm, addr, &pmd))
			return;
		pml = pmd_lock(mm, pmd);
	}
}
