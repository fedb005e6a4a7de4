// SPDX-License-Identifier: GPL-2.0-only
@@
expression folio, op;
@@
unmap_lazyfree_judge(...)
{
  <...
- if (folio_test_dirty(folio) && !(op->vma->vm_flags & VM_DROPPABLE))
+ if (folio_test_dirty(folio) && !(op->vma->vm_flags & VM_DROPPABLE) &&
+     !unmap_mutated(REDIRTY))
	return UNMAP_STAYS_REDIRTIED;
  ...>
}
