// SPDX-License-Identifier: GPL-2.0-only
/// Make print_bad_pte() visible to mm/unmap/discard.c.
///
/// Target:   mm/memory.c, print_bad_pte()
/// Why here: a page that was unmapped more often than it was mapped is reported
///           as stock reports it, and as seldom.
/// Missing:  mm/unmap/discard.c does not link.

@@
@@
- static void print_bad_pte
+ void print_bad_pte
  (...) { ... }
