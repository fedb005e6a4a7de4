// SPDX-License-Identifier: GPL-2.0-only
@look@
typedef pmd_t;
identifier pmd, pmdval;
@@
unmap_table_missed(pmd_t *pmd)
{
  pmd_t pmdval = pmdp_get_lockless(pmd);
+ if (unmap_mutated(TABLE_MISSED))
+	return false;
  ...
}

@disturb@
expression E;
@@
unmap_table_may_go(void)
{
  ...
- return E;
+ return E && !unmap_mutated(TABLE_MISSED);
}
