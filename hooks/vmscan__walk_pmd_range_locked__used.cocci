// SPDX-License-Identifier: GPL-2.0-only
/// Let reclaim of full page tables know which of them MGLRU has found in use.
///
/// Target:   mm/vmscan.c, walk_pmd_range_locked()
/// Why here: MGLRU's walk clears the accessed bit of a PMD that holds a table.  The PMD lock is
///           held.  The walk does not flush: processors that use the table do not set the bit again.
/// Missing:  tables that a running process uses all the time look old, and are dropped.

@@
expression vma, addr, pmd;
@@
walk_pmd_range_locked(...) {
<...
  if (!pmd_trans_huge(...)) {
  	if (...)
- 		pmdp_test_and_clear_young(vma, addr, pmd);
+ 		if (pmdp_test_and_clear_young(vma, addr, pmd))
+ 			unmap_table_was_used(pmd);
  	goto next;
  }
...>
}
