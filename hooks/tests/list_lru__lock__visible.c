// SPDX-License-Identifier: GPL-2.0-only
#ifdef CONFIG_MEMCG
static inline struct list_lru_one *
lock_list_lru_of_memcg(struct lru *lru, int nid, struct memcg *memcg)
{
	return lock(lru, nid, memcg);
}

static inline void unlock_list_lru(struct list_lru_one *list)
{
	unlock(list);
}
#else
static inline struct list_lru_one *
lock_list_lru_of_memcg(struct lru *lru, int nid, struct memcg *memcg)
{
	return lock(lru, nid);
}

static inline void unlock_list_lru(struct list_lru_one *list)
{
	unlock(list);
}
#endif
