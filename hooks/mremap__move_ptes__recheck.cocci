// SPDX-License-Identifier: GPL-2.0-only
/// mremap() looks at the PMD again after it has locked the table it moves entries to.
///
/// Target:   mm/mremap.c, move_ptes()
/// Why here: it maps the new table, then locks it, and believes that the mmap lock keeps
///           the table there; reclaim gives tables back under the rmap lock alone.
/// Missing:  pages may be moved into a table that is gone, and are lost.

@initialize:python@
@@
fired = 0

@recheck@
expression pte, mm, pmd, addr;
identifier ptl;
position p;
@@
move_ptes(...) {
<...
- pte = pte_offset_map_nolock@p(mm, pmd, addr, &ptl);
+ pte = unmap_map_lock_second(mm, pmd, addr, &ptl, old_ptl);
...>
}

@unlocked depends on recheck@
identifier recheck.ptl;
position p;
@@
move_ptes(...) {
<...
- if (ptl != old_ptl)
- 	spin_lock_nested@p(ptl, SINGLE_DEPTH_NESTING);
...>
}

@script:python@
p << recheck.p;
@@
fired += 1

@script:python@
p << unlocked.p;
@@
fired += 1

@finalize:python@
@@
import sys
if fired != 2:
    sys.stderr.write("move_ptes() changed in %d places, want 2\n" % fired)
    sys.stderr.flush()
    sys.exit(7)
