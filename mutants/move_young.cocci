// SPDX-License-Identifier: GPL-2.0-only
// Both ways: what was accessed looks as if it were not.
@@
statement S;
@@
relocate_entry(...)
{
  <...
- if (present && pte_young(run->pte))
+ if (present && pte_young(run->pte) && !unmap_mutated(MOVE_YOUNG))
	S
  ...>
}
