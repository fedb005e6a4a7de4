// SPDX-License-Identifier: GPL-2.0-only
/// Drivers that go through user memory look at a PMD once, not twice, to judge it.
///
/// Target:   mm/memory.c, apply_to_pmd_range()
/// Why here: of two looks, the second may find none what was a table in the first.
/// Missing:  a warning of a bad PMD, which is then cleared: i915 and SGX map in page faults.

@@
expression P;
@@
apply_to_pmd_range(...) {
<...
- !pmd_none(*P) && WARN_ON_ONCE(pmd_bad(*P))
+ WARN_ON_ONCE(unmap_pmd_bad(P))
...>
}
