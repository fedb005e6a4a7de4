// SPDX-License-Identifier: GPL-2.0-only
/// A fault does not allocate a page table while it holds the lock of a folio.
///
/// Target:   mm/memory.c, finish_fault()
/// Why here: __do_fault() preallocates one if there is none, so that the allocation may wait for
///           writeback (memcg v1) without the folio's lock; but the table it has seen may be
///           given back before it is used.  The fault begins again then.
/// Missing:  two tasks wait for each other: one for the folio's lock, one for its writeback.

@@
expression M, P;
@@
finish_fault(...) {
<...
+ if (!vmf->prealloc_pte && unmap_tables_may_go())
+ 	return VM_FAULT_NOPAGE;
  if (vmf->prealloc_pte)
  	pmd_install(...);
  else if (unlikely(pte_alloc(M, P)))
  	return VM_FAULT_OOM;
...>
}
