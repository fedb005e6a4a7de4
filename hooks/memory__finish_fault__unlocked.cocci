// SPDX-License-Identifier: GPL-2.0-only
/// A fault does not allocate a page table while it holds the lock of a folio.
///
/// Target:   mm/memory.c, finish_fault()
/// Why here: __do_fault() preallocates one if there is none, so that the allocation may wait for
///           writeback (memcg v1) without the folio's lock; but the table it has seen may be
///           given back before it is used.  The fault begins again then.
/// Missing:  two tasks wait for each other: one for the folio's lock, one for its writeback.

@initialize:python@
@@
fired = 0

@already@
@@
finish_fault(...) {
<+... unmap_tables_may_go() ...+>
}

@unlocked depends on !already@
expression M, P;
position p;
@@
finish_fault(...) {
<...
+ if (!vmf->prealloc_pte && unmap_tables_may_go())
+ 	return VM_FAULT_NOPAGE;
  if (vmf->prealloc_pte)
  	pmd_install@p(...);
  else if (unlikely(pte_alloc(M, P)))
  	return VM_FAULT_OOM;
...>
}

@script:python@
p << unlocked.p;
@@
fired += len(p)

@finalize:python@
@@
import sys
if fired != 1:
    sys.stderr.write("finish_fault() changed in %d places, want 1\n" % fired)
    sys.stderr.flush()
    sys.exit(7)
