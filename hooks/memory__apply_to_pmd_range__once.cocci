// SPDX-License-Identifier: GPL-2.0-only
/// Read the PMD once to decide whether it is bad.
///
/// Target:   mm/memory.c, apply_to_pmd_range()
/// Why here: the function reads the PMD twice.  If the table is freed in between, the second
///           read finds none where the first found a table.
/// Missing:  a false "bad PMD" warning, and the PMD is cleared.  i915 and SGX get here in page
///           faults.

@@
expression P;
@@
apply_to_pmd_range(...) {
<...
- !pmd_none(*P) && WARN_ON_ONCE(pmd_bad(*P))
+ WARN_ON_ONCE(unmap_pmd_bad(P))
...>
}
