// SPDX-License-Identifier: GPL-2.0-only
/// MGLRU looks at the PMD, not at a copy of it.

@@
expression A, N, X;
@@
walk_pmd_range(...) {
<...
- walk_pte_range(&val, A, N, X)
+ walk_pte_range(pmd + i, A, N, X)
...>
}
