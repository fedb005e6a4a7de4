// SPDX-License-Identifier: GPL-2.0-only
@@
expression E;
@@
ahead_may_be_next(...)
{
  <...
- if (pte_dirty(pte) && E)
+ if (pte_dirty(pte) && E && !unmap_mutated(AHEAD_DIRTY))
	return false;
  ...>
}

@@
@@
ahead_leave(...)
{
  <...
- if (unlikely(pte_dirty(pte)))
+ if (unlikely(pte_dirty(pte) && !unmap_mutated(AHEAD_DIRTY)))
	return UNMAP_STAYS_REDIRTIED;
  ...>
}
