// SPDX-License-Identifier: GPL-2.0-only
/// Let reclaim of a control group drop full page tables of its idle processes, and free all empty
/// ones before a process is OOM-killed.
///
/// Target:   mm/shrinker.c, shrink_slab()
/// Why here: all of reclaim comes here, for each group and node, with its priority.  A shrinker
///           of a memory control group is called only after something was put into its list.
/// Missing:  page tables of idle processes stay, however short memory is; a process can be
///           OOM-killed while empty tables are young, or wait for their grace period.
//
// The call is put behind the declarations, because a comment about the test stands before that.

@@
typedef gfp_t;
identifier gfp, nid, memcg, priority, shrinker;
@@
unsigned long shrink_slab(gfp_t gfp, int nid, struct mem_cgroup *memcg, int priority) {
...
  struct shrinker *shrinker;
+
+ unmap_shrink_slab(gfp, nid, memcg, priority);
  if (!mem_cgroup_disabled() && !mem_cgroup_is_root(memcg))
  	return shrink_slab_memcg(...);
...
}
