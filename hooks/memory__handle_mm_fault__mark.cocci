// SPDX-License-Identifier: GPL-2.0-only
/// A fault puts nothing huge where a page table was given back.
///
/// Target:   mm/memory.c, __handle_mm_fault()
/// Why here: the one place from which anonymous memory, and drivers and DAX with their
///           huge_fault(), get something huge; with the mark it goes on as with a table.
/// Missing:  memory purged in pieces comes back 2 MiB at a time.

@@
expression F;
identifier vmf, ret;
@@
__handle_mm_fault(...) {
<...
if (
-     pmd_none(*vmf.pmd)
+     unmap_pmd_untouched(*vmf.pmd)
      && F) {
	ret = create_huge_pmd(&vmf);
	...
}
...>
}
