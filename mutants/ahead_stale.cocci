// SPDX-License-Identifier: GPL-2.0-only
@@
expression ahead;
@@
unmap_ahead_end(...)
{
  ...
- if (ahead->nr)
+ if (ahead->nr && (!unmap_mutated(AHEAD_STALE) || ahead->kind == UNMAP_KIND_SWAP))
	try_to_unmap_flush();
- VM_WARN_ON_ONCE(ahead->nr && unmap_flush_is_due());
+ VM_WARN_ON_ONCE(!unmap_mutated(AHEAD_STALE) && ahead->nr && unmap_flush_is_due());
  ...
}

@@
expression ahead;
@@
ahead_clear(...)
{
  ...
- if (ahead->kind == UNMAP_KIND_LAZYFREE)
+ if (ahead->kind == UNMAP_KIND_LAZYFREE && !unmap_mutated(AHEAD_STALE))
	try_to_unmap_flush();
}
