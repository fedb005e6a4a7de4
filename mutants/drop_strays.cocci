// SPDX-License-Identifier: GPL-2.0-only
@@
expression seen;
@@
drop_has_strays(...)
{
  <...
- if (seen->covered == PTRS_PER_PTE)
+ if (seen->covered == PTRS_PER_PTE || unmap_mutated(DROP_STRAYS))
	return false;
  ...>
}
