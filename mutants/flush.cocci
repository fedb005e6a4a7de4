// SPDX-License-Identifier: GPL-2.0-only
@note@
@@
run_note_flush(struct unmap_op *op)
{
  ...
+ if (unmap_mutated(FLUSH))
+	return;
  run->deferred = true;
  ...
}

@one@
expression mm, pte;
@@
run_flush_one(...)
{
  ...
- if (!pte_accessible(mm, pte))
+ if (unmap_mutated(FLUSH) || !pte_accessible(mm, pte))
	return;
  ...
}

@range@
expression mm, pte;
@@
run_flush_range(...)
{
  ...
- if (!pte_accessible(mm, pte))
+ if (unmap_mutated(FLUSH) || !pte_accessible(mm, pte))
	return;
  ...
}
