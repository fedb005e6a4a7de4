// SPDX-License-Identifier: GPL-2.0-only
@@
expression vma, addr, ptep, pte, nr;
@@
unmap_run_leave_markers(...)
{
...
  cond_install_uffd_wp_ptes(vma, addr, ptep, pte,
- nr
+ unmap_mutated(MARKER) ? 1 : nr
  );
...
}
