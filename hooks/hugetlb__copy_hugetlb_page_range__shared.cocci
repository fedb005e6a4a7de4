// SPDX-License-Identifier: GPL-2.0-only
/// fork() takes a page for a shared page of PMDs only if it is one.
///
/// Target:   mm/hugetlb.c, copy_hugetlb_page_range()
/// Why here: stock asks the descriptor of any page table, whose word for that is set by nobody but for
///           pages of PMDs.  Of others it holds what was there before: an index in a file, a part of a
///           slab, or what mm/unmap/ keeps there.  This is a bug of stock: the hook serves with the
///           switch off, too.  Linux 6.12.118 has mended it: it no longer asks.
/// Missing:  a child misses private memory of hugetlb pages of 1 GiB (x86), or 64 KiB (arm64).

@size@
expression T, D, V, A;
identifier S;
@@
copy_hugetlb_page_range(...) {
<+...
  T = huge_pte_alloc(D, V, A, S);
...+>
}

@@
expression P;
identifier size.S;
statement Skip;
@@
copy_hugetlb_page_range(...) {
<...
- if (ptdesc_pmd_is_shared(P))
+ if (S == PMD_SIZE && ptdesc_pmd_is_shared(P))
  	Skip
...>
}
