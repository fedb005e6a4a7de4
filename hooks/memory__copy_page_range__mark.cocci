// SPDX-License-Identifier: GPL-2.0-only
/// fork() copies the marks of freed page tables to the child.
///
/// Target:   mm/memory.c, copy_page_range()
/// Why here: the child has a page of PMDs for each of the parent's by now.  A hook in
///           copy_pmd_range() costs an instruction for each entry of a table, because the compiler
///           lays out the loop differently; dup_mmap() does not know which VMAs have their
///           tables copied.
/// Missing:  memory that the parent purged in pieces takes huge pages in the child.

@@
identifier dst_vma, src_vma, is_cow;
@@
copy_page_range(struct vm_area_struct *dst_vma, struct vm_area_struct *src_vma)
{
...
  if (is_cow) {
  	raw_write_seqcount_end(...);
  	mmu_notifier_invalidate_range_end(...);
  }
+ unmap_pmds_fork(dst_vma, src_vma);
...
}
