// SPDX-License-Identifier: GPL-2.0-only
/// UFFDIO_MOVE tries again if one of the page tables is gone.

@@
@@
move_pages_ptes(...) {
<...
  if (pmd_none(*dst_pmd) || pmd_none(*src_pmd) || pmd_trans_huge(*dst_pmd) || pmd_trans_huge(*src_pmd)) {
- 	ret = -EINVAL;
+		/* MADV_DONTNEED freed a page table: move_pages() looks again. */
+		ret = -EAGAIN;
  	goto out;
  }
...>
}
