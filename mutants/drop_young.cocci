// SPDX-License-Identifier: GPL-2.0-only
@@
expression vma, addr, pmd;
@@
drop_look_again(...)
{
  <...
- pmdp_test_and_clear_young(vma, addr, pmd)
+ (pmdp_test_and_clear_young(vma, addr, pmd) && !unmap_mutated(DROP_YOUNG))
  ...>
}
