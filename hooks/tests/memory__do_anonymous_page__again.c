// SPDX-License-Identifier: GPL-2.0-only
static int do_anonymous_page(struct fault *vmf)
{
	if (!(vmf->flags & FAULT_FLAG_WRITE)) {
		vmf->pte = pte_offset_map_lock(vma->vm_mm, vmf->pmd,
				vmf->address, &vmf->ptl);
		return 0;
	}
	vmf->pte = pte_offset_map_lock(vma->vm_mm, vmf->pmd, addr, &vmf->ptl);
	return 1;
}

static int others(struct fault *vmf)
{
	vmf->pte = pte_offset_map_lock(vma->vm_mm, vmf->pmd, addr, &vmf->ptl);
	return 1;
}
