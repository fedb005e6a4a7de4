// SPDX-License-Identifier: GPL-2.0-only
@@
identifier verdict;
@@
lazyfree_keeps_content(enum lazyfree_verdict verdict)
{
- return verdict == LAZYFREE_REDIRTIED;
+ return verdict == LAZYFREE_REDIRTIED || unmap_mutated(EXTRA_REF);
}
