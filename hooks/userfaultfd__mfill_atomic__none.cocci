// SPDX-License-Identifier: GPL-2.0-only
/// Begin again if the page table was freed before UFFDIO_COPY and its kin could fill it.
///
/// Target:   mm/userfaultfd.c, mfill_atomic()
/// Why here: stock takes a PMD that is none after __pte_alloc() for a huge page and returns
///           -EEXIST ("the page is there").  A table freed while the page is allocated gives
///           -EAGAIN, which user space knows only as "the mappings are changing".
/// Missing:  user space takes a missing page for present, and its fault waits for ever.

@again@
identifier val;
expression pmd, filled;
@@
mfill_atomic(...) {
<...
  val = pmdp_get_lockless(pmd);
+ if (unmap_table_may_go() && pmd_none(val))
+ 	continue;
  if (unlikely(filled)) {
  	err = -EEXIST;
  	break;
  }
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
