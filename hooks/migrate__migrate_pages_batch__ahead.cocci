// SPDX-License-Identifier: GPL-2.0-only
/// Unmap single pages together that one page table maps.
///
/// Target:   mm/migrate.c, migrate_pages_batch() and migrate_folio_unmap()
/// Why here: only here is it known which folios come next.
/// Missing:  nothing is lost: each single page is unmapped by a walk of its own.
//
// What is unmapped ahead is locked, and has a reference to its anon_vma.  When the loop comes to
// it, or ends before, it is mapped again in any case.

@@
declarer name LIST_HEAD;
identifier from, unmapped, others;
parameter list PS;
type T;
@@
 migrate_pages_batch(T from, PS)
 {
<...
 LIST_HEAD(unmapped);
 LIST_HEAD(others);
+struct unmap_migration migration = unmap_migration_of(from, &unmapped);
...>
 }

// What unmaps a folio.
@@
identifier call;
expression list before, after;
symbol dst;
@@
migrate_pages_batch(...)
{
<...
  call(before, &dst, after
+ 	, &migration
  	)
...>
}

@@
@@
migrate_pages_batch(...)
{
<...
+ unmap_migration_release(&migration);
  try_to_unmap_flush();
...>
}

@@
parameter list PS;
@@
  migrate_folio_unmap(PS
+ 	, struct unmap_migration *migration
  	)
  {
  ...
  }

@@
identifier dst;
@@
migrate_folio_unmap(...)
{
<...
- if (!dst)
+ if (!dst) {
+ 	unmap_migration_release(migration);
  	return -ENOMEM;
+ }
...>
}

@mapped@
identifier state, was_mapped;
expression src, flags;
@@
migrate_folio_unmap(...)
{
<...
- try_to_migrate(src, flags);
+ unmap_migration_unmap(migration, src, flags);
  state |= was_mapped;
...>
}

@@
identifier mapped.state, mapped.was_mapped;
identifier src;
statement S;
@@
migrate_folio_unmap(...)
{
<...
+ anon_vma = unmap_migration_take(migration, src);
+ if (anon_vma)
+ 	state |= was_mapped;
  if (
-     !folio_trylock(src)
+     !anon_vma && !folio_trylock(src)
     ) S
...>
}

@@
identifier src, anon_vma;
@@
migrate_folio_unmap(...)
{
<...
- if (folio_test_anon(src) && !folio_test_ksm(src))
+ if (!anon_vma && folio_test_anon(src) && !folio_test_ksm(src))
  	anon_vma = folio_get_anon_vma(src);
...>
}
