// SPDX-License-Identifier: GPL-2.0-only
@@
identifier d, addr;
expression E;
@@
discard_emptied_all(const struct discard *d, unsigned long addr)
{
+ if (unmap_mutated(TABLE_PASS))
+	return d->start <= (addr & PMD_MASK) && !(d->addr & ~PMD_MASK) && !d->remains;
  return E;
}
