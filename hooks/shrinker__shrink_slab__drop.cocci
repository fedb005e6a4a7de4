// SPDX-License-Identifier: GPL-2.0-only
/// Let reclaim of a control group drop full page tables of its idle processes.
///
/// Target:   mm/shrinker.c, shrink_slab()
/// Why here: all of reclaim comes here, for each group and node, with its priority.  A shrinker
///           of a memory control group is called only after something was put into its list.
/// Missing:  page tables of idle processes stay, however short memory is.

@@
typedef gfp_t;
identifier gfp, nid, memcg, priority;
@@
unsigned long shrink_slab(gfp_t gfp, int nid, struct mem_cgroup *memcg, int priority) {
...
+ unmap_drop_tables(gfp, nid, memcg, priority);
  if (!mem_cgroup_disabled() && !mem_cgroup_is_root(memcg))
  	return shrink_slab_memcg(...);
...
}
