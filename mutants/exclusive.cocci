// SPDX-License-Identifier: GPL-2.0-only
@@
identifier folio, swap;
@@
unmap_run_length(...)
{
  ...
- bool swap = folio_test_anon(folio) && folio_test_swapbacked(folio);
+ bool swap = folio_test_anon(folio) && folio_test_swapbacked(folio) &&
+	    !unmap_mutated(EXCLUSIVE);
  ...
}
