// SPDX-License-Identifier: GPL-2.0-only
@@
expression E;
@@
unmap_ahead_may_go(...)
{
  <...
- if (pte_dirty(pte) || E)
+ if ((pte_dirty(pte) && !unmap_mutated(AHEAD_DIRTY)) || E)
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
