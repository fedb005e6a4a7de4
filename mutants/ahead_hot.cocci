// SPDX-License-Identifier: GPL-2.0-only
@look@
expression ahead;
@@
unmap_ahead_is_hot(...)
{
- if (!ahead->references)
+ if (!ahead->references || unmap_mutated(AHEAD_HOT))
	return false;
  ...
}

@clear@
expression ahead, pte;
@@
ahead_leave(...)
{
  ...
- if (unlikely(ahead->references && pte_young(pte)))
+ if (unlikely(ahead->references && pte_young(pte)) && !unmap_mutated(AHEAD_HOT))
	return UNMAP_STAYS_REFERENCED;
  ...
}
