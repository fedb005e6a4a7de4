// SPDX-License-Identifier: GPL-2.0-only
/// A file's huge folio is mapped by a table where one was given back.
///
/// Target:   mm/memory.c, do_set_pmd()
/// Why here: finish_fault() and filemap_map_pmd() both come here, and map entries where
///           it says that there is something already.
/// Missing:  a file's memory that was purged in pieces is mapped by a PMD again.

@initialize:python@
@@
fired = 0

@huge@
identifier vmf;
position p;
@@
do_set_pmd(...) {
<...
if (unlikely(
-     !pmd_none@p(*vmf->pmd)
+     !unmap_pmd_untouched(*vmf->pmd)
   )) goto out;
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
    sys.stderr.write("do_set_pmd() changed in %d places, want 1\n" % fired)
    sys.stderr.flush()
    sys.exit(7)
