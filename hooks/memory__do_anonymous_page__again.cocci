// SPDX-License-Identifier: GPL-2.0-only
/// Allocate the page table again if it was freed before do_anonymous_page() could lock it.
///
/// Target:   mm/memory.c, do_anonymous_page()
/// Why here: a folio is allocated and cleared between ensuring the table and locking it.  A
///           process that keeps emptying the table in that time would keep this fault from ever
///           succeeding.
/// Missing:  first touches take more faults while another process punches holes next to them.

@@
expression M, P, A, L;
@@
do_anonymous_page(...) {
<...
- pte_offset_map_lock(M, P, A, L)
+ unmap_fault_map_lock(M, P, A, L)
...>
}
