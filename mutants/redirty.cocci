// SPDX-License-Identifier: GPL-2.0-only
@@
identifier op;
@@
lazyfree_dirty_counts(const struct unmap_op *op)
{
- return !(op->vma->vm_flags & VM_DROPPABLE);
+ return !(op->vma->vm_flags & VM_DROPPABLE) && !unmap_mutated(REDIRTY);
}
