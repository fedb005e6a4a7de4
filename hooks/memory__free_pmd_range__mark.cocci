// SPDX-License-Identifier: GPL-2.0-only
/// Remove the mark of a freed page table when its addresses are unmapped.
///
/// Target:   mm/memory.c, free_pmd_range()
/// Why here: munmap() passes every PMD that no VMA needs any more; a table would be freed here.
/// Missing:  address ranges that are mapped again get no huge pages.

@@
expression pmd;
@@
free_pmd_range(...) {
<...
- if (pmd_none_or_clear_bad(pmd))
+ if (pmd_none_or_clear_bad(pmd)) {
+ 	unmap_pmd_unmapped(pmd);
  	continue;
+ }
...>
}
