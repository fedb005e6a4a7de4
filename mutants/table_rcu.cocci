// SPDX-License-Identifier: GPL-2.0-only
@@
expression head;
@@
free_gone(...)
{
  ...
- call_rcu_hurry(head, free_chain);
+ if (unmap_mutated(TABLE_RCU))
+	free_chain(head);
+ else
+	call_rcu_hurry(head, free_chain);
}
