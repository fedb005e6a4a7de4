// SPDX-License-Identifier: GPL-2.0-only
/// The first touch of anonymous memory makes another page table if the one it has made goes.
///
/// Target:   mm/memory.c, do_anonymous_page()
/// Why here: between making sure of a table and using it, a page is allocated and cleared, or a
///           megabyte of them; whoever empties the table again and again meanwhile would keep
///           this fault from ever succeeding.
/// Missing:  first touches take more faults while others punch holes beside them.

@@
expression M, P, A, L;
@@
do_anonymous_page(...) {
<...
- pte_offset_map_lock(M, P, A, L)
+ unmap_fault_map_lock(M, P, A, L)
...>
}
