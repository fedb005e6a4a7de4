// SPDX-License-Identifier: GPL-2.0-only
static void retract_page_tables(struct mapping *mapping, pgoff_t pgoff)
{
	foreach_area(vma, pgoff) {
		mm = vma->vm_mm;
		if (find_pmd_or_thp_or_none(mm, addr, &pmd) != SCAN_SUCCEED)
			continue;
		if (exits(mm))
			continue;
		pml = pmd_lock(mm, pmd);
	}
}
