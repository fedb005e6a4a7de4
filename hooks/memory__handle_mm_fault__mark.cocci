// SPDX-License-Identifier: GPL-2.0-only
/// Install no huge page where a page table was freed.
///
/// Target:   mm/memory.c, __handle_mm_fault()
/// Why here: create_huge_pmd() is the only way by which a fault gets a huge page for anonymous
///           memory, DAX, or a driver with huge_fault().  With a mark the fault continues as if
///           there were a table.
/// Missing:  memory that was purged in pieces comes back 2 MiB at a time.
//
// Point releases differ in what follows when create_huge_pmd() has failed, and in whether there
// is an else.

@@
expression F;
identifier vmf, ret;
statement S;
@@
__handle_mm_fault(...) {
<...
(
if (
-     pmd_none(*vmf.pmd)
+     unmap_pmd_untouched(*vmf.pmd)
      && F) {
	ret = create_huge_pmd(&vmf);
	...
}
|
if (
-     pmd_none(*vmf.pmd)
+     unmap_pmd_untouched(*vmf.pmd)
      && F) {
	ret = create_huge_pmd(&vmf);
	...
} else S
)
...>
}
