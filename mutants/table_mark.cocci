// SPDX-License-Identifier: GPL-2.0-only
@@
typedef pmd_t;
identifier mm, pmd, mark;
@@
unmap_pmd_unhook(struct mm_struct *mm, pmd_t *pmd, bool mark)
{
  <...
- if (!mark)
+ if (!mark || unmap_mutated(TABLE_MARK))
	pmd_clear(pmd);
  else
	mark_leave(mm, pmd);
  ...>
}
