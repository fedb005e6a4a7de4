// SPDX-License-Identifier: GPL-2.0-only
/// Free the page tables that MADV_FREE leaves empty.
///
/// Target:   mm/madvise.c, madvise_free_pte_range()
/// Why here: MADV_FREE frees swap entries at once, under the page-table lock: there it can be
///           seen that the last entry went.
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
+ 	unmap_swap_freed(mm, start_pte, end - 1);
+ }
  if (start_pte) {
  ...
  }
...>
}
