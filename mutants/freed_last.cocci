// SPDX-License-Identifier: GPL-2.0-only
@@
identifier debt;
@@
lru_debt_settle(struct lru_debt *debt)
{
  ...
+ if (unmap_mutated(FREED_LAST))
+	debt->pages = debt->key = 0;
  lru_debt_pay(debt);
  ...
}
