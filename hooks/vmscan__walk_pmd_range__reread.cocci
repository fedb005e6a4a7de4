// SPDX-License-Identifier: GPL-2.0-only
/// Let MGLRU read the PMD where it is, not a copy of it (since Linux 6.18).
///
/// Target:   mm/vmscan.c, walk_pmd_range()
/// Why here: the function passes a copy of the PMD that it read outside of any RCU section.
///           walk_pte_range() begins an RCU section, reads the PMD, locks the table, and compares
///           the PMD again: of a copy, that proves nothing.  6.12 holds the RCU read lock during
///           the whole walk.
/// Missing:  if the table is freed and the task preempted in between, the accessed bits of a page
///           are cleared that is no table any more.

@copy@
identifier val;
expression P;
@@
walk_pmd_range(...) {
<...
  pmd_t val = pmdp_get_lockless(P);
...>
}

@place@
identifier copy.val;
expression copy.P, A, N, X;
@@
walk_pmd_range(...) {
<...
- walk_pte_range(&val, A, N, X)
+ walk_pte_range(unmap_table_may_go() ? P : &val, A, N, X)
...>
}
