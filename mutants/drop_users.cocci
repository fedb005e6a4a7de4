// SPDX-License-Identifier: GPL-2.0-only
@@
identifier mm;
@@
drop_gather_one(...)
{
  <...
  mmgrab(mm);
+ if (unmap_mutated(DROP_USERS))
+	mmget(mm);
  ...>
}

@@
expression mm;
@@
drop_mms(...)
{
  <...
+ if (unmap_mutated(DROP_USERS))
+	mmput_async(mm);
  mmdrop(mm);
  ...>
}
