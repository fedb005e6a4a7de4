// SPDX-License-Identifier: GPL-2.0-only
@@
expression folio, page, nr, vma;
@@
rmap_remove_moving(...)
{
- return __rmap_remove_large(folio, page, nr, vma, false);
+ return __rmap_remove_large(folio, page, nr, vma, unmap_mutated(MOVE_PARTLY));
}
