// SPDX-License-Identifier: GPL-2.0-only
// As if nobody had pinned the folio since reclaim looked.
@@
identifier op;
@@
unmap_give_up_exclusive(struct unmap_op *op)
{
  ...
- if (folio_try_share_anon_rmap_pte(op->folio, page))
+ if (unmap_mutated(SWAP_PINNED))
+	ClearPageAnonExclusive(page);
+ else if (folio_try_share_anon_rmap_pte(op->folio, page))
	return false;
  ...
}
