// SPDX-License-Identifier: GPL-2.0-only
static int insert_pages(struct area *vma, unsigned long addr)
{
	int ret;
more:
	pmd = walk(vma, addr);
	while (addr) {
		start_pte = map_lock(pmd, addr);
		if (!start_pte) {
			ret = -EFAULT;
			goto out;
		}
		addr--;
	}
	if (left)
		goto more;
	ret = 0;
out:
	return ret;
}
