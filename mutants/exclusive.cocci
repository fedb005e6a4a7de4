// SPDX-License-Identifier: GPL-2.0-only
@@
expression folio;
@@
unmap_run_length(...)
{
  ...
- if (folio_test_anon(folio) && folio_test_swapbacked(folio))
+ if (folio_test_anon(folio) && folio_test_swapbacked(folio) && !unmap_mutated(EXCLUSIVE))
	return ...;
  ...
}
