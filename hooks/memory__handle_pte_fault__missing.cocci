// SPDX-License-Identifier: GPL-2.0-only
/// Treat a page table that was freed during the fault as a missing one.
///
/// Target:   mm/memory.c, handle_pte_fault()
/// Why here: if there is no table, the function assumes that a huge page was installed, and
///           returns.  KVM and VFIO fault a page in once, look for it once, and give up.
/// Missing:  spurious failures: guests are killed, DMA mappings fail.

@@
@@
handle_pte_fault(...) {
<...
- if (unlikely(!vmf->pte))
+ if (unlikely(!vmf->pte)) {
+ 	if (unmap_table_missed(vmf->pmd)) {
+ 		vmf->flags &= ~FAULT_FLAG_ORIG_PTE_VALID;
+ 		return do_pte_missing(vmf);
+ 	}
  	return 0;
+ }
...>
}
