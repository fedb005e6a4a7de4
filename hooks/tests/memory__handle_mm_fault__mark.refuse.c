// SPDX-License-Identifier: GPL-2.0-only
/* No huge page is created. */
static int __handle_mm_fault(struct area *vma, unsigned long address)
{
	struct fault vmf = { .vma = vma };

	if (pmd_none(*vmf.pmd))
		return 0;
	return handle_pte_fault(&vmf);
}
