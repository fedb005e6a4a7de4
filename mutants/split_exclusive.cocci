// SPDX-License-Identifier: GPL-2.0-only
@@
expression entry;
statement S;
@@
unmap_split_map_page(...)
{
  <...
- if (!softleaf_is_migration_read(entry))
+ if (!softleaf_is_migration_read(entry) || unmap_mutated(SPLIT_EXCLUSIVE))
	S
  ...>
}
