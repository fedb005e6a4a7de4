// SPDX-License-Identifier: GPL-2.0-only
/// Begin again if the page table was freed before vm_insert_pages() could lock it.
///
/// Target:   mm/memory.c, insert_pages()
/// Why here: the function reports a freed table as an error of its caller (-EFAULT).
/// Missing:  vm_insert_pages() fails spuriously.

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
