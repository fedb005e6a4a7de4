// SPDX-License-Identifier: GPL-2.0-only
@@
expression addr, end;
@@
ahead_following(...)
{
  <...
- min(addr | ~PMD_MASK, end - 1)
+ (unmap_mutated(AHEAD_VMA) ? addr | ~PMD_MASK : min(addr | ~PMD_MASK, end - 1))
  ...>
}
