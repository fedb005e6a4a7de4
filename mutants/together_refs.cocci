// SPDX-License-Identifier: GPL-2.0-only
@@
expression folio;
identifier i;
@@
batch_drop(...)
{
  <...
- if (!i)
+ if (!i || unmap_mutated(TOGETHER_REFS))
	folio_put(folio);
  ...>
}
