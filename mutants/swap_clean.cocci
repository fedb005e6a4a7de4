// SPDX-License-Identifier: GPL-2.0-only
@@
expression folio;
identifier done;
@@
ahead_swap_one(...)
{
  ...
  done = ahead_swap_has_room(folio) && compat_swap_alloc(folio);
+ if (done && unmap_mutated(SWAP_CLEAN))
+	folio_clear_dirty(folio);
  ...
}
