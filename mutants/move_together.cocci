// SPDX-License-Identifier: GPL-2.0-only
// Of a long run, all pages look accessed if one was.
@@
identifier run;
@@
unmap_relocate_cut_young(struct pte_run *run)
{
  ...
- if (run->nr <= RELOCATE_YOUNG_TOGETHER)
+ if (run->nr <= RELOCATE_YOUNG_TOGETHER || unmap_mutated(MOVE_TOGETHER))
	return;
  ...
}
