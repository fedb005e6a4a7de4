// SPDX-License-Identifier: GPL-2.0-only
@@
typedef pmd_t;
identifier pmd, mark;
@@
unmap_pmd_unhook(pmd_t *pmd, bool mark)
{
- if (!mark)
+ if (!mark || unmap_mutated(TABLE_MARK))
	{ ... }
  ...
}
