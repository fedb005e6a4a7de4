// SPDX-License-Identifier: GPL-2.0-only
@@
identifier vma, run, i;
@@
unmap_run_leave_markers(...)
{
  ...
- for (i = 0; i < run->nr; i++)
+ for (i = 0; i < (unmap_mutated(MARKER) ? 1 : run->nr); i++)
	pte_install_uffd_wp_if_needed(vma, ...);
}
