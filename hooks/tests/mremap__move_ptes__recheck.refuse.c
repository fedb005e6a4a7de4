// SPDX-License-Identifier: GPL-2.0-only
/* Both tables are locked as they are mapped. */
static int move_ptes(struct area *vma, pmd_t *old_pmd, pmd_t *new_pmd, unsigned long new_addr)
{
	old_pte = pte_offset_map_lock(mm, old_pmd, old_addr, &old_ptl);
	new_pte = pte_offset_map_lock(mm, new_pmd, new_addr, &new_ptl);
	move(old_pte, new_pte);
	return 0;
}
