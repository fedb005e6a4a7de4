// SPDX-License-Identifier: GPL-2.0-only
/* A missing table ends the function instead of the step. */
static long change_pmd_range(struct area *vma, pmd_t *pmd, unsigned long cp_flags)
{
	if (pmd_none(*pmd))
		return 0;
	return change(vma, pmd);
}
