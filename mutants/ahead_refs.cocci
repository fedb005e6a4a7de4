// SPDX-License-Identifier: GPL-2.0-only
@@
expression ahead;
@@
ahead_leave(...)
{
  ...
- if (ahead->kind == UNMAP_KIND_LAZYFREE)
+ if (ahead->kind == UNMAP_KIND_LAZYFREE && !unmap_mutated(AHEAD_REFS))
	return unmap_lazyfree_judge(...);
  ...
}
