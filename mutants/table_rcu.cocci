// SPDX-License-Identifier: GPL-2.0-only
@@
expression head;
@@
unmap_table_free_chain(...)
{
  ...
- call_rcu_hurry(head, table_free_rcu);
+ if (unmap_mutated(TABLE_RCU))
+	table_free_rcu(head);
+ else
+	call_rcu_hurry(head, table_free_rcu);
}
