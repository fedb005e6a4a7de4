// SPDX-License-Identifier: GPL-2.0-only
@@
@@
list_is_hot(...)
{
  ...
+ if (unmap_mutated(LIST_HOT))
+	return false;
  for (...;...;...) { ... }
  ...
}

@@
expression A, P;
@@
list_evict(...)
{
  <...
- !A->references || !pte_young(P)
+ unmap_mutated(LIST_HOT) || !A->references || !pte_young(P)
  ...>
}
