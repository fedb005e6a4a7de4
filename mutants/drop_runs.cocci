// SPDX-License-Identifier: GPL-2.0-only
@@
@@
drop_judge_run(...)
{
  ...
+ if (nr == 1 && unmap_mutated(DROP_RUNS))
+	return nr;
  __set_bit(...);
  ...
}
