// SPDX-License-Identifier: GPL-2.0-only
@@
typedef pmd_t;
identifier d, pmd, addr;
expression E;
@@
discard_range(struct discard *d, pmd_t *pmd, ...)
{
  ...
  unsigned long addr = d->addr;
+ unsigned long end_wanted = d->end;
  ...
  discard_free_gathered(d);
  discard_gather_table(...);
- return E;
+ return unmap_mutated(ZAP_REST) && d->force_flush ? end_wanted : E;
}
