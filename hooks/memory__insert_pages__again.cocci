// SPDX-License-Identifier: GPL-2.0-only
/// vm_insert_pages() begins again if the page table goes before it is filled.
///
/// Target:   mm/memory.c, insert_pages()
/// Why here: it takes a table that has gone for an error of its caller.
/// Missing:  vm_insert_pages() fails for no reason.

@@
@@
insert_pages(...) {
<...
if (!start_pte) {
+ if (unmap_table_missed(pmd))
+ 	goto more;
  ret = -EFAULT;
  goto out;
}
...>
}
