// SPDX-License-Identifier: GPL-2.0-only
/// A page fault begins again if the page table goes before it is looked at.
///
/// Target:   mm/memory.c, handle_pte_fault()
/// Why here: without a table it takes for granted that there is a huge page, and returns;
///           KVM and VFIO, which fault in a page and look for it once, then give up.
/// Missing:  guests are killed, and DMA mappings fail, for no reason.

@initialize:python@
@@
fired = 0

@again@
position p;
@@
handle_pte_fault(...) {
<...
if (unlikely@p(!vmf->pte))
- return 0;
+ return unmap_table_missed(vmf->pmd) ? handle_pte_fault(vmf) : 0;
...>
}

@script:python@
p << again.p;
@@
fired += 1

@finalize:python@
@@
import sys
if fired != 1:
    sys.stderr.write("handle_pte_fault() changed in %d places, want 1\n" % fired)
    sys.stderr.flush()
    sys.exit(7)
