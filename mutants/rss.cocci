// SPDX-License-Identifier: GPL-2.0-only
@evict@
expression mm, counter, nr;
@@
unmap_run_retire(...)
{
  ...
- add_mm_counter(mm, counter, -(long)nr);
+ add_mm_counter(mm, counter, unmap_mutated(RSS) ? -1L : -(long)nr);
  ...
}

@discard@
expression d, counter, nr;
@@
- d->rss[counter] -= nr;
+ d->rss[counter] -= unmap_mutated(RSS) ? 1 : nr;
