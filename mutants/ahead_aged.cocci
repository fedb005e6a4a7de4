// SPDX-License-Identifier: GPL-2.0-only
@@
expression folio;
@@
unmap_ahead_is_hot(...)
{
  ...
- return compat_aging_kept(folio) || folio_test_young(folio);
+ return (!unmap_mutated(AHEAD_AGED) && compat_aging_kept(folio)) || folio_test_young(folio);
}
