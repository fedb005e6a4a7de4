// SPDX-License-Identifier: GPL-2.0-only
/* It no longer says when the copy is done: the hook has to be looked at. */
int
copy_page_range(struct vm_area_struct *dst_vma, struct vm_area_struct *src_vma)
{
	int ret;

	ret = copy(dst_vma, src_vma);
	if (ret)
		untrack(dst_vma);
	return ret;
}
