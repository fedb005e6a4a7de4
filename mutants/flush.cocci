// SPDX-License-Identifier: GPL-2.0-only
@note@
@@
run_note_flush(struct unmap_op *op)
{
  ...
+ if (unmap_mutated(FLUSH))
+	return;
  run->noted = true;
  ...
}

@now@
expression mm, pte;
@@
run_flush_now(...)
{
- if (!pte_accessible(mm, pte))
+ if (unmap_mutated(FLUSH) || !pte_accessible(mm, pte))
	return;
  ...
}

// Another address is flushed.
@discard@
expression tlb, ptep, nr, addr, d;
@@
discard_note_cleared(...)
{
  ...
- tlb_remove_tlb_entries(tlb, ptep, nr, addr);
- discard_assert_recorded(d, nr);
+ tlb_remove_tlb_entries(tlb, ptep, nr, unmap_mutated(FLUSH) ? 0 : addr);
+ if (!unmap_mutated(FLUSH))
+	discard_assert_recorded(d, nr);
  ...
}
