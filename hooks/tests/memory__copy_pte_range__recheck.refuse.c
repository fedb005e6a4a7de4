// SPDX-License-Identifier: GPL-2.0-only
/* It looks again already. */
static int copy_pte_range(struct area *vma, pmd_t *pmd, unsigned long addr)
{
	lock_t *src_ptl;
	pte_t *src_pte = pte_offset_map_rw_nolock(vma->mm, pmd, addr, &val, &src_ptl);

	spin_lock_nested(src_ptl, SINGLE_DEPTH_NESTING);
	return pmd_same(val, *pmd);
}
