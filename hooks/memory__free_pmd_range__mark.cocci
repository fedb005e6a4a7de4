// SPDX-License-Identifier: GPL-2.0-only
/// munmap() forgets that a page table was given back.
///
/// Target:   mm/memory.c, free_pmd_range()
/// Why here: it passes all PMDs that are without a VMA from now on; a table would go here.
/// Missing:  address ranges that are used again get no huge pages.

@initialize:python@
@@
fired = 0

@already@
@@
free_pmd_range(...) {
<+... unmap_pmd_unmapped(...) ...+>
}

@passed depends on !already@
expression pmd;
position p;
@@
free_pmd_range(...) {
<...
- if (pmd_none_or_clear_bad@p(pmd))
+ if (pmd_none_or_clear_bad(pmd)) {
+ 	unmap_pmd_unmapped(pmd);
  	continue;
+ }
...>
}

@script:python@
p << passed.p;
@@
fired += 1

@finalize:python@
@@
import sys
if fired != 1:
    sys.stderr.write("free_pmd_range() changed in %d places, want 1\n" % fired)
    sys.stderr.flush()
    sys.exit(7)
