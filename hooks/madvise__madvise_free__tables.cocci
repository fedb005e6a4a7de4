// SPDX-License-Identifier: GPL-2.0-only
/// MADV_FREE gives back the page tables that it leaves empty.
///
/// Target:   mm/madvise.c, madvise_free_pte_range() and madvise_free_single_vma()
/// Why here: swap entries are freed at once, under the page-table lock, where a look tells
///           whether they were the last; all such tables go together when the walk is over.
/// Missing:  tables of swapped-out memory that is freed stay until the range is unmapped.

@initialize:python@
@@
fired = 0

@freed@
identifier mm, nr_swap, start_pte;
position p;
@@
madvise_free_pte_range(...) {
<...
- if (nr_swap)
- 	add_mm_counter@p(mm, MM_SWAPENTS, nr_swap);
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
position p;
@@
madvise_free_single_vma(...) {
<...
  tlb_finish_mmu@p(...);
+ unmap_tables_sweep_emptied();
...>
}

@script:python@
p << freed.p;
@@
fired += 1

@script:python@
p << over.p;
@@
fired += 1

@finalize:python@
@@
import sys
if fired != 2:
    sys.stderr.write("madvise_free_pte_range() and _single_vma() changed in %d places, want 2\n" % fired)
    sys.stderr.flush()
    sys.exit(7)
