// SPDX-License-Identifier: GPL-2.0-only
/// Begin again if the page table was freed before UFFDIO_COPY and its kin could fill it (Linux 7.3).
///
/// Target:   mm/userfaultfd.c, mfill_establish_pmd(), the three functions that fill an entry, and
///           mfill_atomic(), which calls them
/// Why here: stock takes a PMD that is none after __pte_alloc() for a huge page and returns
///           -EEXIST ("the page is there").  A table freed while the page is allocated gives
///           -EAGAIN, which user space knows only as "the mappings are changing", and which
///           mfill_atomic() gets for that reason, too: so a freed table has an error of its own.
/// Missing:  user space takes a missing page for present, and its fault waits for ever.

@none@
identifier val;
@@
mfill_establish_pmd(...) {
<...
  val = pmdp_get_lockless(...);
+ if (unmap_table_may_go() && pmd_none(val))
+ 	return UNMAP_FILL_AGAIN;
  if (unlikely(!pmd_present(val) || pmd_leaf(val)))
  	return -EEXIST;
...>
}

@gone@
identifier fn = {mfill_atomic_install_pte, mfill_atomic_pte_zeropage, mfill_atomic_pte_poison};
identifier ret, pte;
expression M, P, A, L;
@@
fn(...) {
<...
  ret = -EAGAIN;
  pte = pte_offset_map_lock(M, P, A, L);
- if (!pte)
+ if (!pte) {
+ 	if (unmap_table_missed(P))
+ 		ret = UNMAP_FILL_AGAIN;
  	goto out;
+ }
...>
}

@again@
identifier err;
expression S;
@@
mfill_atomic(...) {
<...
  err = mfill_establish_pmd(S);
+ if (unmap_fill_again(&err))
+ 	continue;
  if (err)
  	break;
  err = mfill_atomic_pte(S);
  cond_resched();
+ if (unmap_fill_again(&err))
+ 	continue;
...>
}
