// SPDX-License-Identifier: GPL-2.0-only
@@
identifier b;
@@
unmap_back_run(struct unmap_back *b)
{
  ...
- back_map(b);
+ b->nr -= unmap_mutated(MOVE_MISSED) && b->nr > 8;
+ back_map(b);
+ b->nr += unmap_mutated(MOVE_MISSED) && b->nr > 7;
}
