// SPDX-License-Identifier: GPL-2.0-only
/* The anon_vma is locked by another function. */
static int collapse_huge_page(struct mm *mm, unsigned long address)
{
	vma_start_write(vma);
	lock_all(vma);
	return check_pmd_still_valid(mm, address, pmd);
}
