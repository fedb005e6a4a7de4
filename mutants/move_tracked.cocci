// SPDX-License-Identifier: GPL-2.0-only
@@
@@
back_is_writable(...)
{
- return softleaf_is_migration_write(b->entry) && !pte_swp_uffd(b->old) && (...);
+ return softleaf_is_migration_write(b->entry) && !pte_swp_uffd(b->old) &&
+	 (unmap_mutated(MOVE_TRACKED) || !vma_soft_dirty_enabled(b->vma) ||
+	  pte_swp_soft_dirty(b->old));
}
