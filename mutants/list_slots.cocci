// SPDX-License-Identifier: GPL-2.0-only
@@
identifier f, a;
@@
list_may_get_swap(struct folio *f, struct unmap_ahead *a)
{
+ if (unmap_mutated(LIST_SLOTS))
+	return true;
  ...
}
