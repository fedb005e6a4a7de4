// SPDX-License-Identifier: GPL-2.0-only
/* Visible already. */
struct list_lru_one *
lock_list_lru_of_memcg(struct lru *lru, int nid, struct memcg *memcg)
{
	return lock(lru, nid);
}
