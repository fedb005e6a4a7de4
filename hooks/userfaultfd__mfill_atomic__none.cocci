// SPDX-License-Identifier: GPL-2.0-only
/// UFFDIO_COPY and its like try again if the page table goes before it is filled.
///
/// Target:   mm/userfaultfd.c, mfill_atomic()
/// Why here: a PMD that is none after __pte_alloc() means a huge page to it, of which it
///           says -EEXIST, "the page is there"; and one that goes while memory for the page
///           is found is -EAGAIN, which was known of changes to the mappings only.
/// Missing:  who fills the range believes in a page that is not there, and waits for ever.

@again@
identifier val;
expression pmd;
@@
mfill_atomic(...) {
<...
  val = pmdp_get_lockless(pmd);
+ if (unmap_tables_may_go() && pmd_none(val))
+ 	continue;
  if (unlikely(!pmd_present(val) || pmd_trans_huge(val) || pmd_devmap(val))) { ... }
...>
}

@filled@
identifier pmd;
@@
mfill_atomic(...) {
<...
  err = mfill_atomic_pte(pmd, ...);
  cond_resched();
+ if (err == -EAGAIN && !folio && unmap_table_missed(pmd) && !fatal_signal_pending(current))
+ 	continue;
...>
}
