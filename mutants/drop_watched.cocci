// SPDX-License-Identifier: GPL-2.0-only
@@
expression vma;
@@
drop_vma_may(...)
{
  <...
- !userfaultfd_armed(vma)
+ (!userfaultfd_armed(vma) || unmap_mutated(DROP_WATCHED))
  ...>
}
