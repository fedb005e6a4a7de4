// SPDX-License-Identifier: GPL-2.0-only
/* One place only. */
static int do_anonymous_page(struct fault *vmf)
{
	vmf->pte = pte_offset_map_lock(vma->vm_mm, vmf->pmd, addr, &vmf->ptl);
	return 1;
}
