// SPDX-License-Identifier: GPL-2.0-only
@@
expression E;
@@
unmap_policy_age(...)
{
- return E;
+ return unmap_mutated(WAIT_AGE) ? 0 : E;
}
