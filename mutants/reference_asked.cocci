// SPDX-License-Identifier: GPL-2.0-only
@@
expression mm;
@@
unmap_reference_entries(...)
{
<...
- mm_has_notifiers(mm)
+ (mm_has_notifiers(mm) && !unmap_mutated(REFERENCE_ASKED))
...>
}
