// SPDX-License-Identifier: GPL-2.0-only
@@
expression d;
@@
drop_mm_may(...)
{
  <...
- check_stable_address_space(d->mm)
+ (check_stable_address_space(d->mm) && !unmap_mutated(DROP_REAPED))
  ...>
}
