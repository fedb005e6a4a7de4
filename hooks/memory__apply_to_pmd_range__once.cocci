// SPDX-License-Identifier: GPL-2.0-only
/// Drivers that go through user memory look at a PMD once, not twice, to judge it.
///
/// Target:   mm/memory.c, apply_to_pmd_range()
/// Why here: of two looks, the second may find none what was a table in the first.
/// Missing:  a warning of a bad PMD, which is then cleared: i915 and SGX map in page faults.

@initialize:python@
@@
fired = 0

@once@
expression P;
position p;
@@
apply_to_pmd_range(...) {
<...
- !pmd_none(*P) && WARN_ON_ONCE(pmd_bad@p(*P))
+ WARN_ON_ONCE(unmap_pmd_bad(P))
...>
}

@script:python@
p << once.p;
@@
fired += len(p)

@finalize:python@
@@
import sys
if fired != 1:
    sys.stderr.write("apply_to_pmd_range() changed in %d places, want 1\n" % fired)
    sys.stderr.flush()
    sys.exit(7)
