// SPDX-License-Identifier: GPL-2.0-only
/* A missing table returns an error directly. */
static int insert_pages(struct area *vma, unsigned long addr)
{
	start_pte = map_lock(pmd, addr);
	if (!start_pte)
		return -EFAULT;
	return 0;
}
