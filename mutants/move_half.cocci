// SPDX-License-Identifier: GPL-2.0-only
@@
@@
back(...)
{
  ...
- rmap_note_if_partly_mapped(dst);
+ if (!unmap_mutated(MOVE_HALF))
+	rmap_note_if_partly_mapped(dst);
}
