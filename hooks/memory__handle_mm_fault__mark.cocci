// SPDX-License-Identifier: GPL-2.0-only
/// A fault puts nothing huge where a page table was given back.
///
/// Target:   mm/memory.c, __handle_mm_fault()
/// Why here: the one place from which anonymous memory, and drivers and DAX with their
///           huge_fault(), get something huge; with the mark it goes on as with a table.
/// Missing:  memory purged in pieces comes back 2 MiB at a time.

@initialize:python@
@@
fired = 0

@huge@
expression F;
identifier vmf, ret;
position p;
@@
__handle_mm_fault(...) {
<...
if (
-     pmd_none@p(*vmf.pmd)
+     unmap_pmd_untouched(*vmf.pmd)
      && F) {
	ret = create_huge_pmd(&vmf);
	...
}
...>
}

@script:python@
p << huge.p;
@@
fired += 1

@finalize:python@
@@
import sys
if fired != 1:
    sys.stderr.write("__handle_mm_fault() changed in %d places, want 1\n" % fired)
    sys.stderr.flush()
    sys.exit(7)
