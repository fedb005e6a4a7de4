// SPDX-License-Identifier: GPL-2.0-only
@@
expression zero, page, first;
identifier i;
@@
split_takes_zero(...)
{
  <...
- zero & BIT(page + i - first)
+ zero & BIT(unmap_mutated(SPLIT_ZERO) ? i : page + i - first)
  ...>
}
