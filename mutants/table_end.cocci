// SPDX-License-Identifier: GPL-2.0-only
@@
identifier addr, vma;
@@
unmap_run_table_end(unsigned long addr, struct vm_area_struct *vma)
{
- return min(addr | ~PMD_MASK, vma->vm_end - 1) + 1;
+ return min(unmap_mutated(TABLE_END) ? ULONG_MAX : addr | ~PMD_MASK, vma->vm_end - 1) + 1;
}
