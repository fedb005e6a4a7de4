// SPDX-License-Identifier: GPL-2.0-only
/// Begin the fault again instead of allocating a page table with a folio locked.
///
/// Target:   mm/memory.c, finish_fault()
/// Why here: __do_fault() preallocates a table only if there is none, because an allocation with
///           the folio locked may wait for writeback (memcg v1).  The table that __do_fault() saw
///           may have been freed since.
/// Missing:  deadlock: one task waits for the folio lock, the other for the writeback.

@@
expression M, P;
@@
finish_fault(...) {
<...
+ if (!vmf->prealloc_pte && unmap_table_may_go())
+ 	return VM_FAULT_NOPAGE;
  if (vmf->prealloc_pte)
  	pmd_install(...);
  else if (unlikely(pte_alloc(M, P)))
  	return VM_FAULT_OOM;
...>
}
