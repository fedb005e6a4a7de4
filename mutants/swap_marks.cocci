// SPDX-License-Identifier: GPL-2.0-only
@@
typedef pte_t;
identifier swp_pte;
@@
swap_add_marks(pte_t swp_pte, ...)
{
  ...
  if (exclusive)
	swp_pte = pte_swp_mkexclusive(swp_pte);
+ if (unmap_mutated(SWAP_MARKS))
+	return swp_pte;
  ...
}
