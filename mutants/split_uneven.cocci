// SPDX-License-Identifier: GPL-2.0-only
@@
expression page;
@@
split_singles(...)
{
  <...
- !PageCompound(page)
+ (unmap_mutated(SPLIT_UNEVEN) || !PageCompound(page))
  ...>
}
