// SPDX-License-Identifier: GPL-2.0-only
@@
expression op;
@@
unmap_ahead_suits(...)
{
  <...
- userfaultfd_armed(op->vma)
+ (userfaultfd_armed(op->vma) && !unmap_mutated(AHEAD_ARMED))
  ...>
}
