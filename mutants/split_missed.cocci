// SPDX-License-Identifier: GPL-2.0-only
@@
identifier s, b;
@@
split_map(struct split *s)
{
  struct unmap_back *b = ...;
  ...
- split_map_run(s);
+ b->nr -= unmap_mutated(SPLIT_MISSED) && b->nr > 8;
+ split_map_run(s);
+ b->nr += unmap_mutated(SPLIT_MISSED) && b->nr > 7;
}
