// SPDX-License-Identifier: GPL-2.0-only
@@
expression A, F, P;
@@
list_suits(...)
{
  <...
- unmap_ahead_is_hot(A, F, P)
+ (!unmap_mutated(LIST_HOT) && unmap_ahead_is_hot(A, F, P))
  ...>
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
