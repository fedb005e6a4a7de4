// SPDX-License-Identifier: GPL-2.0-only
static long change_pmd_range(struct area *vma, pmd_t *pmd, unsigned long cp_flags)
{
	do {
again:
		ret = prepare(vma, pmd, cp_flags);
		if (ret)
			break;
		if (pmd_none(*pmd))
			goto next;
		if (change(vma, pmd) < 0)
			goto again;
next:
		resched();
	} while (pmd++, more);
	return 0;
}
