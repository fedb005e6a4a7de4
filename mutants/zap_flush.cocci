// SPDX-License-Identifier: GPL-2.0-only
// Another address is flushed.
@@
expression tlb, ptep, nr, addr, d;
@@
discard_note_cleared(...)
{
  ...
- tlb_remove_tlb_entries(tlb, ptep, nr, addr);
- discard_assert_recorded(d, nr);
+ tlb_remove_tlb_entries(tlb, ptep, nr, unmap_mutated(ZAP_FLUSH) ? 0 : addr);
+ if (!unmap_mutated(ZAP_FLUSH))
+	discard_assert_recorded(d, nr);
  ...
}
