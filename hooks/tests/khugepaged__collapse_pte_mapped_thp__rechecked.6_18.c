// SPDX-License-Identifier: GPL-2.0-only
int collapse_pte_mapped_thp(struct mm *mm, unsigned long addr)
{
	lock_t *pml = NULL;

	pte = pte_offset_map_lock(mm, pmd, addr, &ptl);
	if (!pte)		/* the locks should prevent this */
		goto drop_folio;
	touched = 0;
	if (userfaultfd_armed(vma) && !(vma->vm_flags & VM_SHARED))
		pml = pmd_lock(mm, pmd);
	pte = pte_offset_map_rw_nolock(mm, pmd, addr, &pgt_pmd, &ptl);
	if (!pte)		/* the locks should prevent this */
		goto abort;
	if (!pml)
		spin_lock(ptl);
	return 0;
abort:
	if (pte)
		pte_unmap_unlock(pte, ptl);
	if (pml && pml != ptl)
		spin_unlock(pml);
drop_folio:
	return 1;
}
