// SPDX-License-Identifier: GPL-2.0-only
/// collapse_huge_page() checks the PMD once nobody can change it any more.
///
/// Target:   mm/khugepaged.c, collapse_huge_page()
/// Why here: it checks before it locks the VMA and its anon_vma; reclaim gives tables
///           back under the latter.
/// Missing:  it collapses, or puts back, a table that is gone.

@initialize:python@
@@
fired = 0

@already@
@@
collapse_huge_page(...) {
<+...
anon_vma_lock_write(vma->anon_vma);
result = check_pmd_still_valid(mm, address, pmd);
...+>
}

@check depends on !already@
position p;
@@
collapse_huge_page(...) {
<...
  anon_vma_lock_write@p(vma->anon_vma);
+ result = check_pmd_still_valid(mm, address, pmd);
+ if (result != SCAN_SUCCEED) {
+ 	anon_vma_unlock_write(vma->anon_vma);
+ 	goto out_up_write;
+ }
...>
}

@script:python@
p << check.p;
@@
fired += 1

@finalize:python@
@@
import sys
if fired != 1:
    sys.stderr.write("collapse_huge_page() changed in %d places, want 1\n" % fired)
    sys.stderr.flush()
    sys.exit(7)
