// SPDX-License-Identifier: GPL-2.0-only
@@
expression zero, page, first;
@@
split_takes_zero(..., unsigned int i)
{
  <...
- zero & BIT(page - first)
+ zero & BIT(unmap_mutated(SPLIT_ZERO) ? i : page - first)
  ...>
}
