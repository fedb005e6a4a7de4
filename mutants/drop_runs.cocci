// SPDX-License-Identifier: GPL-2.0-only
@@
expression pfn;
@@
drop_first_stand_in(...)
{
+ if (unmap_mutated(DROP_RUNS))
+	return swp_entry_to_pte(make_readable_migration_entry(pfn));
  return swp_entry_to_pte(make_writable_migration_entry(pfn));
}
