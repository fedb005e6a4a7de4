// SPDX-License-Identifier: GPL-2.0-only
@@
identifier debt, nr;
@@
rmap_pay_debt(struct rmap_debt *debt)
{
  ...
  if (!nr)
	return;
+ if (unmap_mutated(STATISTICS))
+	nr--;
  ...
}
