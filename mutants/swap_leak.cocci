// SPDX-License-Identifier: GPL-2.0-only
@@
typedef swp_entry_t;
identifier entry, nr;
@@
unmap_swap_take_run(swp_entry_t entry, unsigned int nr)
{
+ if (unmap_mutated(SWAP_LEAK))
+	swap_refs_take_each(entry, nr);
  return ...;
}
