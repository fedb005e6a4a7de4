// SPDX-License-Identifier: GPL-2.0-only
/* Nothing returns without a table. */
static int handle_pte_fault(struct fault *vmf)
{
	vmf->pte = map(vmf->pmd);
	return !vmf->pte;
}
