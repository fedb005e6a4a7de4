// SPDX-License-Identifier: GPL-2.0-only
@@
expression E, N;
@@
swap_prepare(...)
{
...
  if (!compat_swap_take(E, N))
	return UNMAP_STAYS_SWAP_COUNT;
+ if (unmap_mutated(SWAP_LEAK) && N > 1)
+	compat_swap_take(E, N);
...
}
