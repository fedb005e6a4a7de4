// SPDX-License-Identifier: GPL-2.0-only
/// Drop the PMD lock if the page table was gone when it was mapped the second time.

@remapped@
@@
try_collapse_pte_mapped_thp(...) {
<...
  start_pte = pte_offset_map_rw_nolock(...);
- if (!start_pte)
- 	goto abort;
+	if (!start_pte)		/* MADV_DONTNEED may have freed it */
+		goto abort;
...>
}

@unlock@
@@
try_collapse_pte_mapped_thp(...) {
<...
  if (start_pte)
  	pte_unmap_unlock(start_pte, ptl);
- if (pml && pml != ptl)
- 	spin_unlock(pml);
+	/* Without split locks, pml is ptl: dropped above, if there is a table. */
+	if (pml && (pml != ptl || !start_pte))
+		spin_unlock(pml);
...>
}
