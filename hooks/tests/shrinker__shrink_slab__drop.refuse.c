// SPDX-License-Identifier: GPL-2.0-only
/* The function does not know the group. */
unsigned long shrink_slab(gfp_t how, int node, int urgency)
{
	if (!mem_cgroup_disabled())
		return shrink_slab_memcg(how, node, urgency);
	return 0;
}
