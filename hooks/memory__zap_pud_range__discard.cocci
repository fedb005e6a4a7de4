// SPDX-License-Identifier: GPL-2.0-only
/// Discard what the page tables below one PUD map in mm/unmap/discard/discard_tables.c.
///
/// Target:   mm/memory.c, zap_pud_range()
/// Why here: munmap(), exit, MADV_DONTNEED, truncation and the OOM reaper all come here, once for
///           each gigabyte, so that neighbouring empty tables can be freed together.
/// Missing:  memory is discarded as in stock, and its page tables stay.
//
// The stock function serves while the switch is off, and is still inlined: switched off, the
// hook costs one static branch.  On 7.3 it serves MADV_DONTNEED, too, where mm/unmap/ frees no
// tables, because stock frees them then (PT_RECLAIM); the marks of tables that are gone already
// are removed before.  6.12 has no PT_RECLAIM: there unmap_discards_range() is that branch alone.

@@
expression tlb, vma, pud, addr, details;
symbol next;
@@
zap_pud_range(...) {
<...
- next = zap_pmd_range(tlb, vma, pud, addr, next, details);
+ if (unmap_discards_range(tlb->mm, pud, addr, next, details))
+ 	next = unmap_zap_pmd_range(tlb, vma, pud, addr, next, details);
+ else
+ 	next = zap_pmd_range(tlb, vma, pud, addr, next, details);
...>
}
