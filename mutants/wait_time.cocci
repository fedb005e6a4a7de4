// SPDX-License-Identifier: GPL-2.0-only
@@
expression E;
@@
ghost_age(...)
{
- return E;
+ return unmap_mutated(WAIT_TIME) ? 0 : E;
}
