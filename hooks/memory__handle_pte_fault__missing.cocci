// SPDX-License-Identifier: GPL-2.0-only
/// A page fault takes a page table that goes before it is looked at for one that is missing.
///
/// Target:   mm/memory.c, handle_pte_fault()
/// Why here: without a table it takes for granted that there is a huge page, and returns;
///           KVM and VFIO, which fault in a page and look for it once, then give up.
/// Missing:  guests are killed, and DMA mappings fail, for no reason.

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
