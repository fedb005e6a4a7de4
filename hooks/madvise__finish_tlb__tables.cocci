// SPDX-License-Identifier: GPL-2.0-only
/// Free the page tables that MADV_FREE leaves empty (since Linux 6.18).
///
/// Target:   mm/madvise.c, madvise_free_pte_range() and madvise_finish_tlb()
/// Why here: MADV_FREE frees swap entries at once, under the page-table lock: there it can be
///           seen that the last entry went.  The tables are freed together after the flush, which
///           one madvise() makes for all VMAs.  The lock of the VMA has been dropped by then.
/// Missing:  page tables of swapped-out memory stay after MADV_FREE until munmap().

@freed@
identifier mm, nr_swap, start_pte;
@@
madvise_free_pte_range(...) {
<...
- if (nr_swap)
- 	add_mm_counter(mm, MM_SWAPENTS, nr_swap);
+ if (nr_swap) {
+ 	add_mm_counter(mm, MM_SWAPENTS, nr_swap);
+ 	unmap_kept_swap_freed(mm, start_pte, end - 1);
+ }
  if (start_pte) {
  ...
  }
...>
}

@over@
expression B;
@@
madvise_finish_tlb(...) {
<...
- if (madvise_batch_tlb_flush(B))
+ if (madvise_batch_tlb_flush(B)) {
  	tlb_finish_mmu(...);
+ 	unmap_sweep_own();
+ }
...>
}
