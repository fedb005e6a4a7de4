// SPDX-License-Identifier: GPL-2.0-only
/// Queue a folio that moved before its entries are back.
///
/// Target:   mm/migrate.c, migrate_folio_move()
/// Why here: the new folio takes the old one's place in the queue of folios to be split, with what
///           was known of the old one.  What is found when its entries are back must come later.
/// Missing:  a folio of which a part was unmapped while it moved, or just after, is queued as
///           mapped in full: stock warns, and splits it only if it is full of zeroes.
//
// Linux 7.3 does so itself.  Another hook changes what is called.

@@
expression rc, dst, partly;
identifier move = {move_to_new_folio, unmap_migration_move};
identifier was_queued, out;
@@
migrate_folio_move(...) {
...
  rc = move(...);
  if (rc)
  	goto out;
+ if (was_queued)
+ 	deferred_split_folio(dst, partly);
...
- if (was_queued)
- 	deferred_split_folio(dst, partly);
...
}
