// SPDX-License-Identifier: GPL-2.0-only
/// Take a page table out of the list of those that wait before a huge page takes its place.
///
/// Target:   mm/khugepaged.c, collapse_huge_page(), retract_page_tables() and what collapses files
/// Why here: the table is out of its PMD.  It is deposited for the huge page, which links it through
///           the words that the list uses, or is handed to RCU, whose head lies over them.
/// Missing:  the list and the deposited tables become one.

@deposited@
expression M, P, T;
@@
+ unmap_table_leave(M, T);
  pgtable_trans_huge_deposit(M, P, T);

@deferred@
expression M, T;
@@
+ unmap_table_leave(M, T);
  pte_free_defer(M, T);
