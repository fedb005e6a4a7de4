// SPDX-License-Identifier: GPL-2.0-only
@@
expression folio;
@@
unmap_ahead_is_hot(...)
{
  ...
- return (lru_gen_enabled() && folio_test_referenced(folio)) || folio_test_young(folio);
+ return (!unmap_mutated(AHEAD_AGED) && lru_gen_enabled() && folio_test_referenced(folio)) ||
+	folio_test_young(folio);
}
