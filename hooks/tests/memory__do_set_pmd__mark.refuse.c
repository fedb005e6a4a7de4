// SPDX-License-Identifier: GPL-2.0-only
/* The PMD is not checked under the lock. */
int do_set_pmd(struct fault *vmf, struct page *page)
{
	vmf->ptl = pmd_lock(vma->vm_mm, vmf->pmd);
	set_pmd_at(vmf->pmd, entry);
	spin_unlock(vmf->ptl);
	return 0;
}
