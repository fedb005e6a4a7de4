// SPDX-License-Identifier: GPL-2.0-only
@@
expression pvmw, E;
@@
back_to_vma(...)
{
  <...
- while (unmap_run_walk(pvmw) && E)
+ while ((unmap_mutated(MOVE_BESIDE) ? page_vma_mapped_walk(pvmw) : unmap_run_walk(pvmw)) && E)
	;
  ...>
}
