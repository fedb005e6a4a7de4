// SPDX-License-Identifier: GPL-2.0-only
/* What was there is looked at in an else branch. */
static int __handle_mm_fault(struct area *vma, unsigned long address)
{
	struct fault vmf = { .vma = vma };
	int ret;

	if (pud_none(*vmf.pud) && allowed(vma, PUD))
		return 1;
	if (pmd_none(*vmf.pmd) &&
	    allowed(vma, PMD)) {
		ret = create_huge_pmd(&vmf);
		if (!(ret & FALLBACK))
			return ret;
	} else {
		vmf.orig_pmd = pmdp_get_lockless(vmf.pmd);
	}
	return handle_pte_fault(&vmf);
}
