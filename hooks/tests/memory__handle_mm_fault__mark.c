// SPDX-License-Identifier: GPL-2.0-only
static int __handle_mm_fault(struct area *vma, unsigned long address)
{
	struct fault vmf = { .vma = vma };
	int ret;

	if (pud_none(*vmf.pud) && allowed(vma, PUD))
		return 1;
	if (pmd_none(*vmf.pmd) &&
	    allowed(vma, PMD)) {
		ret = create_huge_pmd(&vmf);
		if (ret & FALLBACK)
			goto fallback;
		else
			return ret;
	}
	vmf.orig_pmd = pmdp_get_lockless(vmf.pmd);
	if (pmd_none(vmf.orig_pmd))
		goto fallback;
fallback:
	return handle_pte_fault(&vmf);
}
