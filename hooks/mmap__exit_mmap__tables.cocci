// SPDX-License-Identifier: GPL-2.0-only
/// Tell mm/unmap/ that nobody uses an mm any more.
///
/// Target:   mm/mmap.c, exit_mmap()
/// Why here: its last user has gone, its memory has not.
/// Missing:  what is known of its empty page tables outlives it.

@initialize:python@
@@
fired = 0

@already@
@@
exit_mmap(...) {
<+... unmap_tables_exit(...) ...+>
}

@tell depends on !already@
identifier mm;
position p;
@@
exit_mmap(...) {
...
+ unmap_tables_exit(mm);
  mmu_notifier_release@p(mm);
...
}

@script:python@
p << tell.p;
@@
fired += 1

@finalize:python@
@@
import sys
if fired != 1:
    sys.stderr.write("exit_mmap() changed in %d places, want 1\n" % fired)
    sys.stderr.flush()
    sys.exit(7)
