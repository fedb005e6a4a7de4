// SPDX-License-Identifier: GPL-2.0-only
/// munmap() forgets that a page table was given back.
///
/// Target:   mm/memory.c, free_pmd_range()
/// Why here: it passes all PMDs that are without a VMA from now on; a table would go here.
/// Missing:  address ranges that are used again get no huge pages.

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
