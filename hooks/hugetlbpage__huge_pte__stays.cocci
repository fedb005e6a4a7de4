// SPDX-License-Identifier: GPL-2.0-only
/// Let hugetlb find entries only in page tables that stay.
///
/// Target:   arch/arm64/mm/hugetlbpage.c, huge_pte_alloc(), huge_pte_offset()
/// Why here: these are the only places where hugetlb gets at an entry of an ordinary page table
///           (a huge page of contiguous PTEs), and it uses such an entry without looking at the
///           PMD again.  The first marks the table, the second passes over tables without mark.
/// Missing:  hugetlb locks, reads and fills a table that was given back.

@include@
@@
#include <linux/sysctl.h>
+#include <linux/unmap.h>

@alloc@
expression M, P, A;
@@
huge_pte_alloc(...) {
<...
- pte_alloc_huge(M, P, A)
+ unmap_huge_pte_alloc(M, P, A)
...>
}

@offset@
expression P, A;
@@
huge_pte_offset(...) {
<...
- pte_offset_huge(P, A)
+ unmap_huge_pte_offset(P, A)
...>
}
