// SPDX-License-Identifier: GPL-2.0-only
/* The table is mapped in one place instead of two. */
static int do_anonymous_page(struct fault *vmf)
{
	vmf->pte = pte_offset_map_lock(vma->vm_mm, vmf->pmd, addr, &vmf->ptl);
	return 1;
}
