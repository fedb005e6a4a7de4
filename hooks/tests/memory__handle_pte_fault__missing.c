// SPDX-License-Identifier: GPL-2.0-only
static int handle_pte_fault(struct fault *vmf)
{
	if (pmd_none(*vmf->pmd)) {
		vmf->pte = NULL;
	} else {
		vmf->pte = map(vmf->pmd);
		if (unlikely(!vmf->pte))
			return 0;
		vmf->orig = *vmf->pte;
	}
	return 1;
}

static int others(struct fault *vmf)
{
	if (unlikely(!vmf->pte))
		return 0;
	return 1;
}
