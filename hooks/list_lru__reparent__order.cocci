// SPDX-License-Identifier: GPL-2.0-only
/// Hand a removed control group's lists to its parent before nobody finds them any more (Linux 6.18).
///
/// Target:   mm/list_lru.c, memcg_reparent_list_lrus()
/// Why here: who does not find the group's list takes the lock of its parent's.  An item that he takes
///           out is still in the group's list then, under another lock.  7.3 has this order.
/// Missing:  a table that is freed at that moment may stay in the list.

@@
declarer name XA_STATE;
iterator name for_each_node;
identifier X, M, G;
expression F;
statement S;
@@
memcg_reparent_list_lrus(...) {
<...
XA_STATE(X, F, G->kmemcg_id);
...
xas_lock_irq(&X);
- M = xas_store(&X, NULL);
+ M = xas_load(&X);
xas_unlock_irq(&X);
  if (!M)
  	continue;
  for_each_node(...) S
+ xa_erase_irq(F, G->kmemcg_id);
...>
}
