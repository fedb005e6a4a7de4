// SPDX-License-Identifier: GPL-2.0-only
static int
copy_pte_range(struct area *dst_vma, struct area *src_vma, pmd_t *dst_pmd, pmd_t *src_pmd,
	       unsigned long addr)
{
	lock_t *src_ptl, *dst_ptl;
	pte_t *src_pte, *dst_pte;

	dst_pte = pte_alloc_map_lock(dst_vma->mm, dst_pmd, addr, &dst_ptl);
	src_pte = pte_offset_map_nolock(src_vma->mm, src_pmd, addr, &src_ptl);
	if (!src_pte)
		return 0;
	spin_lock_nested(src_ptl, SINGLE_DEPTH_NESTING);
	copy(dst_pte, src_pte);
	spin_unlock(src_ptl);
	return 1;
}

static int others(struct area *vma, pmd_t *pmd, unsigned long addr)
{
	lock_t *src_ptl;

	return !!pte_offset_map_nolock(vma->mm, pmd, addr, &src_ptl);
}
