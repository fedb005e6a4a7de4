// SPDX-License-Identifier: GPL-2.0-only
/// A page fault begins again instead of allocating a page table with the folio locked.

@@
@@
finish_fault(...) {
<...
- if (vmf->prealloc_pte)
- 	pmd_install(vma->vm_mm, vmf->pmd, &vmf->prealloc_pte);
- else if (unlikely(pte_alloc(vma->vm_mm, vmf->pmd)))
- 	return VM_FAULT_OOM;
+		/*
+		 * MADV_DONTNEED may have freed the page table that __do_fault()
+		 * saw. Do not allocate another with the folio locked, see
+		 * there: let the fault begin again.
+		 */
+		if (unlikely(!vmf->prealloc_pte))
+			return VM_FAULT_NOPAGE;
+		pmd_install(vma->vm_mm, vmf->pmd, &vmf->prealloc_pte);
...>
}
