/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Empty page tables that wait before they are freed (tables_wait.c), who frees them
 * (tables_shrink.c, tables_worker.c), and tables that came back (table_ghosts.c).
 */
#ifndef __MM_UNMAP_TABLES_WAIT_H
#define __MM_UNMAP_TABLES_WAIT_H

#include <linux/list_lru.h>
#include <linux/mm_types.h>

#include "policy.h"
#include "table.h"

/* tables_wait.c: null nodes: not initialised yet. */
extern struct list_lru unmap_waiting;

bool unmap_waiting_free(int nid, struct mem_cgroup *memcg, unsigned long nr, unsigned long age,
			enum table_by by, unsigned int *freed);
bool unmap_waiting_has_list(struct mem_cgroup *memcg);
void unmap_free_all_waiting(int nid, struct mem_cgroup *memcg);

/* tables_shrink.c */
#ifdef CONFIG_UNMAP_TABLES_PRESSURE
int unmap_shrinker_init(void);
#else
static inline int unmap_shrinker_init(void)
{
	return list_lru_init(&unmap_waiting);
}
#endif

/* tables_grace.c */
void unmap_grace_await_room(long few);

#endif /* __MM_UNMAP_TABLES_WAIT_H */
