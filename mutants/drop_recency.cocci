// SPDX-License-Identifier: GPL-2.0-only
@@
expression addr, E;
@@
drop_has_recency(...)
{
  <...
- if (addr < E->vm_start || addr >= E->vm_end)
+ if ((addr < E->vm_start || addr >= E->vm_end) && !unmap_mutated(DROP_RECENCY))
	E = vma_lookup(...);
  ...>
}
