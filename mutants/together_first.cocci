// SPDX-License-Identifier: GPL-2.0-only
@@
expression batch, vma;
@@
batch_back_walk(...)
{
  <...
- batch_back_in_vma(batch, vma);
+ batch_back_in_vma(batch, vma);
+ if (unmap_mutated(TOGETHER_FIRST))
+	break;
  ...>
}
