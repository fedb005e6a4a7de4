// SPDX-License-Identifier: GPL-2.0-only
int do_set_pmd(struct fault *vmf, struct page *page)
{
	int ret = FALLBACK;

	vmf->ptl = pmd_lock(vma->vm_mm, vmf->pmd);
	if (unlikely(!pmd_none(*vmf->pmd)))
		goto out;
	set_pmd_at(vmf->pmd, entry);
	ret = 0;
out:
	spin_unlock(vmf->ptl);
	return ret;
}

#ifndef HUGE
int do_set_pmd(struct fault *vmf, struct page *page)
{
	return FALLBACK;
}
#endif
