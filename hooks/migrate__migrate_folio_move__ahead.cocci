// SPDX-License-Identifier: GPL-2.0-only
/// Map single pages of one page table together again.
///
/// Target:   mm/migrate.c, migrate_folio_move() and its callers
/// Why here: only here is it known which folios come next, and where their copies are.
/// Missing:  nothing is lost: each single page is mapped by a walk of its own.
//
// What was copied and mapped ahead is known when the loop comes to it.

@@
@@
- static int move_to_new_folio
+ int move_to_new_folio
  (...) { ... }

// What moves a folio; or (6.18) all of them.
@@
identifier call;
expression list before, after;
symbol folio, dst, retry;
@@
migrate_pages_batch(...)
{
<...
(
  call(before, folio, dst, after
+ 	, &migration
  	)
|
  call(before, &retry, after
+ 	, &migration
  	)
)
...>
}

@@
identifier call;
parameter list PS;
expression list before, after;
symbol folio, dst;
@@
  migrate_folios_move(PS
+ 	, struct unmap_migration *migration
  	)
{
<...
  call(before, folio, dst, after
+ 	, migration
  	)
...>
}

@@
parameter list PS;
@@
  migrate_folio_move(PS
+ 	, struct unmap_migration *migration
  	)
{
...
}

@place@
identifier new, prev, anon_vma;
@@
migrate_folio_move(...)
{
<...
  __migrate_folio_extract(new, ..., &anon_vma);
  prev = new->lru.prev;
...>
}

@@
identifier place.new, place.prev, place.anon_vma;
expression rc, old, mode;
@@
migrate_folio_move(...)
{
<...
- rc = move_to_new_folio(new, old, mode);
+ rc = unmap_migration_move(migration, new, old, prev, anon_vma, mode);
...>
}

@@
expression state, was_mapped;
identifier old, new;
@@
migrate_folio_move(...)
{
<...
  if (state & was_mapped)
- 	remove_migration_ptes(old, new, 0);
+ 	unmap_migration_back(migration, old, new);
...>
}
