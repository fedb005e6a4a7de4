// SPDX-License-Identifier: GPL-2.0-only
@@
identifier d, addr;
expression E;
@@
discard_emptied_all(const struct discard *d, unsigned long addr)
{
+ if (unmap_mutated(TABLE_PASS))
+	return discard_takes_all(d, addr, d->addr) && !d->remains;
  return E;
}
