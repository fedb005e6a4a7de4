// SPDX-License-Identifier: GPL-2.0-only
/// Look for accessed bits in entries that are present only.
///
/// Target:   mm/rmap.c, folio_referenced_one()
/// Why here: the rmap walk also finds entries of pages that a device has for itself, which are not
///           present.  Stock clears "the accessed bit" of such an entry, which on arm64 is a part
///           of its type: it becomes another entry.  7.3 also looks for a batch that begins with
///           it, and warns.  Only other MMUs can have used such a page: they are asked.
///           This is a bug of stock: the hook serves with the switch off, too.  6.12 has it where
///           the switch is off: law 12 asks before it looks.
/// Missing:  lazyfree -t device_exclusive: a warning with CONFIG_DEBUG_VM (7.3).

@@
symbol vma, address, referenced, pvmw, pra;
expression E;
statement S1, S2;
@@
folio_referenced_one(...) {
<...
(
+ if (unlikely(pvmw.pte && !pte_present(ptep_get(pvmw.pte)))) {
+ 	if (mmu_notifier_clear_flush_young(vma->vm_mm, address, address + PAGE_SIZE))
+ 		referenced++;
+ 	pra->mapcount--;
+ 	continue;
+ }
  if (pvmw.pte && folio_test_large(E)) S1
|
+ if (unlikely(pvmw.pte && !pte_present(ptep_get(pvmw.pte)))) {
+ 	if (mmu_notifier_clear_flush_young(vma->vm_mm, address, address + PAGE_SIZE))
+ 		referenced++;
+ 	pra->mapcount--;
+ 	continue;
+ }
  if (lru_gen_enabled() && pvmw.pte) S1 else S2
)
...>
}
