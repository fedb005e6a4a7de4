// SPDX-License-Identifier: GPL-2.0-only
@@
expression folio;
@@
drop_entry_may(...)
{
  <...
- !folio_test_anon(folio)
+ (!folio_test_anon(folio) || unmap_mutated(DROP_COPIED))
  ...>
}
