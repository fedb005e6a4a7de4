// SPDX-License-Identifier: GPL-2.0-only
@limit@
typedef pmd_t;
identifier d, nr;
@@
discard_run_limit(const struct discard *d, ...)
{
  ...
- nr = min_t(unsigned long, nr, discard_left(d));
+ nr = min_t(unsigned long, nr,
+	    discard_left(d) + (unmap_mutated(ZAP_BOUNDS) && d->end & ~PMD_MASK));
  ...
}

// The caller relies on a stretch that ends where it was asked to end.
@stop@
identifier d, pmd, addr;
@@
discard_range(struct discard *d, pmd_t *pmd, ...)
{
  ...
  unsigned long addr = d->addr;
+ unsigned long end_asked = d->end;
  ...
- return d->addr;
+ return unmap_mutated(ZAP_BOUNDS) ? min(d->addr, end_asked) : d->addr;
}
