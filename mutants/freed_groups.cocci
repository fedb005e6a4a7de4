// SPDX-License-Identifier: GPL-2.0-only
@@
expression folio, debt;
@@
joins_stretch(...)
{
  <...
- unmap_charge(folio) == debt->charge
+ (unmap_mutated(FREED_GROUPS) || unmap_charge(folio) == debt->charge)
  ...>
}

// The lists must tell, not the assertion.
@@
expression folio;
@@
assert_in_stretch(...)
{
  ...
- VM_WARN_ON_ONCE_FOLIO(!folio_matches_lruvec(folio, debt->lruvec), folio);
+ VM_WARN_ON_ONCE_FOLIO(!unmap_mutated(FREED_GROUPS) &&
+			!folio_matches_lruvec(folio, debt->lruvec), folio);
  ...
}
