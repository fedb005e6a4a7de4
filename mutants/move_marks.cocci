// SPDX-License-Identifier: GPL-2.0-only
@@
@@
unmap_back_pte(...)
{
  ...
- bool uffd = pte_swp_uffd(b->old);
+ bool uffd = pte_swp_uffd(b->old) && !unmap_mutated(MOVE_MARKS);
  ...
}
