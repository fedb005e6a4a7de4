// SPDX-License-Identifier: GPL-2.0-only
@@
expression folio;
@@
drop_judge_entry(...)
{
  <...
- if (folio_test_anon(folio))
+ if (folio_test_anon(folio) && !unmap_mutated(DROP_COPIED))
	return 0;
  ...>
}
