// SPDX-License-Identifier: GPL-2.0-only
@@
@@
batch_back_aim(...)
{
  <...
- softleaf_to_pfn(b->entry) != folio_pfn(batch->src[i])
+ (softleaf_to_pfn(b->entry) != folio_pfn(batch->src[i]) ||
+  (i && unmap_mutated(TOGETHER_MISSED)))
  ...>
}
