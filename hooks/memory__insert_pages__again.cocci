// SPDX-License-Identifier: GPL-2.0-only
/// vm_insert_pages() begins again if the page table goes before it is filled.
///
/// Target:   mm/memory.c, insert_pages()
/// Why here: it takes a table that has gone for an error of its caller.
/// Missing:  vm_insert_pages() fails for no reason.

@initialize:python@
@@
fired = 0

@again@
position p;
@@
insert_pages(...) {
<...
if (!start_pte) {
+ if (unmap_table_missed(pmd))
+ 	goto more;
  ret@p = -EFAULT;
  goto out;
}
...>
}

@script:python@
p << again.p;
@@
fired += 1

@finalize:python@
@@
import sys
if fired != 1:
    sys.stderr.write("insert_pages() changed in %d places, want 1\n" % fired)
    sys.stderr.flush()
    sys.exit(7)
