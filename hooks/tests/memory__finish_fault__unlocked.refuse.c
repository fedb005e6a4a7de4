// SPDX-License-Identifier: GPL-2.0-only
/* No table is preallocated. */
int finish_fault(struct fault *vmf)
{
	if (unlikely(pte_alloc(vma->vm_mm, vmf->pmd)))
		return VM_FAULT_OOM;
	return 0;
}
