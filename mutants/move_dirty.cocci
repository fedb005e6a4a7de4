// SPDX-License-Identifier: GPL-2.0-only
@@
expression op;
statement S;
@@
relocate_cleared(...)
{
  <...
- if (pte_present(op->run.pte) && pte_dirty(op->run.pte))
+ if (!unmap_mutated(MOVE_DIRTY) && pte_present(op->run.pte) && pte_dirty(op->run.pte))
	S
  ...>
}

@@
statement S;
@@
relocate_entry(...)
{
  <...
- if (present && pte_dirty(run->pte))
+ if (present && pte_dirty(run->pte) && !unmap_mutated(MOVE_DIRTY))
	S
  ...>
}
