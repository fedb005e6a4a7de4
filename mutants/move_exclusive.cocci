// SPDX-License-Identifier: GPL-2.0-only
@@
expression op;
@@
unmap_run_length_exclusive(...)
{
  <...
- folio_test_anon(op->folio)
+ (!unmap_mutated(MOVE_EXCLUSIVE) && folio_test_anon(op->folio))
  ...>
}
