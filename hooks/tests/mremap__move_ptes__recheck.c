// SPDX-License-Identifier: GPL-2.0-only
static int move_ptes(struct area *vma, pmd_t *old_pmd, pmd_t *new_pmd, unsigned long new_addr)
{
	lock_t *old_ptl, *new_ptl;

	old_pte = pte_offset_map_lock(mm, old_pmd, old_addr, &old_ptl);
	new_pte = pte_offset_map_nolock(mm, new_pmd, new_addr, &new_ptl);
	if (!new_pte)
		return -EAGAIN;
	if (new_ptl != old_ptl)
		spin_lock_nested(new_ptl, SINGLE_DEPTH_NESTING);
	move(old_pte, new_pte);
	if (new_ptl != old_ptl)
		spin_unlock(new_ptl);
	return 0;
}
