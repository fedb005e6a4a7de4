// SPDX-License-Identifier: GPL-2.0-only
/* The order is right. */
void memcg_reparent_list_lrus(struct mem_cgroup *memcg, struct mem_cgroup *parent)
{
	list_for_each_entry(lru, &memcg_list_lrus, list) {
		mlru = xa_load(&lru->xa, memcg->kmemcg_id);
		if (!mlru)
			continue;
		for_each_node(i)
			memcg_reparent_list_lru_one(lru, i, &mlru->node[i], parent);
		xa_erase_irq(&lru->xa, memcg->kmemcg_id);
	}
}
