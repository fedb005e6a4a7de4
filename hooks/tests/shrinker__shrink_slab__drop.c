// SPDX-License-Identifier: GPL-2.0-only
unsigned long shrink_slab(gfp_t how, int node, struct mem_cgroup *group, int urgency)
{
	unsigned long freed = 0;
	struct shrinker *shrinker;

	/* Groups have their own lists. */
	if (!mem_cgroup_disabled() && !mem_cgroup_is_root(group))
		return shrink_slab_memcg(how, node, group, urgency);
	freed += shrink_all(how, node);
	return freed;
}

unsigned long shrink_slab_others(gfp_t how, int node, struct mem_cgroup *group, int urgency)
{
	if (!mem_cgroup_disabled() && !mem_cgroup_is_root(group))
		return shrink_slab_memcg(how, node, group, urgency);
	return 0;
}
