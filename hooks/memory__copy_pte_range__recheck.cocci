// SPDX-License-Identifier: GPL-2.0-only
/// fork() looks at the PMD again after it has locked the parent's table.
///
/// Target:   mm/memory.c, copy_pte_range()
/// Why here: it maps the table, then locks it, and believes that the mmap lock keeps the
///           table there; reclaim gives tables back under the rmap lock alone.
/// Missing:  fork() may go on with a table that is no longer the parent's.

@initialize:python@
@@
fired = 0

@recheck@
expression pte, mm, pmd, addr;
identifier ptl;
position p;
@@
copy_pte_range(...) {
<...
- pte = pte_offset_map_nolock@p(mm, pmd, addr, &ptl);
+ pte = unmap_map_lock_second(mm, pmd, addr, &ptl, dst_ptl);
...>
}

@unlocked depends on recheck@
identifier recheck.ptl;
position p;
@@
copy_pte_range(...) {
<...
- spin_lock_nested@p(ptl, SINGLE_DEPTH_NESTING);
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
    sys.stderr.write("copy_pte_range() changed in %d places, want 2\n" % fired)
    sys.stderr.flush()
    sys.exit(7)
