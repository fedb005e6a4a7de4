// SPDX-License-Identifier: GPL-2.0-only
/// fork() hands on to the child that a page table was given back.
///
/// Target:   mm/memory.c, copy_page_range()
/// Why here: the child has a page of PMDs now for each of the parent's, and a table for each
///           table.  Not in copy_pmd_range(), which would pay for each entry of a table: the
///           compiler lays out the loop otherwise.  Not in dup_mmap(), which cannot tell
///           which VMAs have their tables copied.
/// Missing:  what the parent has purged in pieces takes huge pages in the child.

@initialize:python@
@@
fired = 0

@already@
@@
copy_page_range(...) {
<+... unmap_pmds_fork(...) ...+>
}

@copied depends on !already@
identifier dst_vma, src_vma, is_cow;
position p;
@@
copy_page_range(struct vm_area_struct *dst_vma, struct vm_area_struct *src_vma)
{
...
  if (is_cow) {
  	raw_write_seqcount_end@p(...);
  	mmu_notifier_invalidate_range_end(...);
  }
+ unmap_pmds_fork(dst_vma, src_vma);
...
}

@script:python@
p << copied.p;
@@
fired += 1

@finalize:python@
@@
import sys
if fired != 1:
    sys.stderr.write("copy_page_range() changed in %d places, want 1\n" % fired)
    sys.stderr.flush()
    sys.exit(7)
