// SPDX-License-Identifier: GPL-2.0-only
/// A child remembers that its parent's page table was given back.
///
/// Target:   mm/memory.c, copy_pmd_range()
/// Why here: it gives the child an empty table where the parent has one.
/// Missing:  the child takes huge pages where its parent does not.

@initialize:python@
@@
fired = 0

@already@
@@
copy_pmd_range(...) {
<+... unmap_pmd_inherit(...) ...+>
}

@inherit depends on !already@
identifier dst_pmd, src_pmd;
expression E, A, B, N;
position p;
@@
copy_pmd_range(...) {
...
dst_pmd = pmd_alloc(A, B, N);
<...
- if (pmd_none_or_clear_bad@p(src_pmd))
+ if (pmd_none_or_clear_bad(src_pmd)) {
+ 	unmap_pmd_inherit(dst_pmd, src_pmd);
  	continue;
+ }
...>
}

@script:python@
p << inherit.p;
@@
fired += 1

@finalize:python@
@@
import sys
if fired != 1:
    sys.stderr.write("copy_pmd_range() changed in %d places, want 1\n" % fired)
    sys.stderr.flush()
    sys.exit(7)
