// SPDX-License-Identifier: GPL-2.0-only
@@
typedef pte_t;
identifier swp_pte;
@@
unmap_leave_marks(pte_t swp_pte, ...)
{
  ...
+ if (unmap_mutated(SWAP_MARKS))
+	return swp_pte;
  if (present ? pte_soft_dirty(...) : pte_swp_soft_dirty(...))
	swp_pte = pte_swp_mksoft_dirty(swp_pte);
  ...
}
