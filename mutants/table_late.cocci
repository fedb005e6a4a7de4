// SPDX-License-Identifier: GPL-2.0-only
@@
typedef pte_t;
identifier pte;
expression E;
@@
unmap_table_gone(pte_t *pte)
{
- return E;
+ return E && !unmap_mutated(TABLE_LATE);
}
