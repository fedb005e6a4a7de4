// SPDX-License-Identifier: GPL-2.0-only
/// Make print_bad_page_map() visible to mm/unmap/discard/discard.c (Linux 6.18).
///
/// Target:   mm/memory.c, print_bad_page_map()
/// Why here: discarding reports a page whose mapcount underflows as stock does, rate limit
///           included.
/// Missing:  mm/unmap/discard/discard.c does not link.

@@
@@
- static void print_bad_page_map
+ void print_bad_page_map
  (...) { ... }
