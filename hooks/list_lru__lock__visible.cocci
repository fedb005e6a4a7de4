// SPDX-License-Identifier: GPL-2.0-only
/// Make what locks the list of a control group visible to mm/unmap/tables/ (Linux 6.18).
///
/// Target:   mm/list_lru.c, lock_list_lru_of_memcg()
/// Why here: between finding a removed group's successor and locking its list, that list's number
///           may go to a new group: who holds the lock can look again.  7.3 offers list_lru_lock().
/// Missing:  mm/unmap/tables/tables_wait.c does not link.

@@
type T;
@@
- static inline
  T lock_list_lru_of_memcg(...) { ... }
