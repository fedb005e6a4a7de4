// SPDX-License-Identifier: GPL-2.0-only
@@
expression E;
@@
ahead_must_flush(...)
{
- return E;
+ return unmap_mutated(AHEAD_STALE) ? ahead->kind == UNMAP_KIND_SWAP : E;
}
