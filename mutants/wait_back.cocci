// SPDX-License-Identifier: GPL-2.0-only
@@
expression E;
@@
unmap_ghost_is_young(...)
{
- return E;
+ return !unmap_mutated(WAIT_BACK) && (E);
}
