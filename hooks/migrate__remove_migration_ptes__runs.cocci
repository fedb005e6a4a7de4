// SPDX-License-Identifier: GPL-2.0-only
/// Hand remove_migration_ptes() over to mm/unmap/relocate/relocate_back.c.
///
/// Target:   mm/migrate.c, remove_migration_ptes()
/// Why here: what try_to_migrate() has put in is taken out here, and nowhere else.
/// Missing:  Kconfig leaves out mm/unmap/relocate/: nothing is relocated in runs.
//
// The stock function becomes stock_remove_migration_ptes().  It serves while the switch is off,
// hugetlb and device memory, and the splitting of folios that may be full of zeroes.

@@
@@
- void remove_migration_ptes
+ void stock_remove_migration_ptes
  (...) { ... }
