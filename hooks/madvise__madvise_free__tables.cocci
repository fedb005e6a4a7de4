// SPDX-License-Identifier: GPL-2.0-only
/// MADV_FREE gives back the page tables that it leaves empty.
///
/// Target:   mm/madvise.c, madvise_free_pte_range() and madvise_free_single_vma()
/// Why here: swap entries are freed at once, under the page-table lock, where a look tells
///           whether they were the last; all such tables go together when the walk is over.
/// Missing:  tables of swapped-out memory that is freed stay until the range is unmapped.

@freed@
identifier mm, nr_swap, start_pte;
@@
madvise_free_pte_range(...) {
<...
- if (nr_swap)
- 	add_mm_counter(mm, MM_SWAPENTS, nr_swap);
+ if (nr_swap) {
+ 	add_mm_counter(mm, MM_SWAPENTS, nr_swap);
+ 	unmap_tables_swap_freed(mm, start_pte, end - 1);
+ }
  if (start_pte) {
  ...
  }
...>
}

@over@
@@
madvise_free_single_vma(...) {
<...
  tlb_finish_mmu(...);
+ unmap_tables_sweep_emptied();
...>
}
