// SPDX-License-Identifier: GPL-2.0-only
/* A missing table does not end the fault. */
static int handle_pte_fault(struct fault *vmf)
{
	vmf->pte = map(vmf->pmd);
	if (unlikely(!vmf->pte))
		return do_pte_missing(vmf);
	return 1;
}
