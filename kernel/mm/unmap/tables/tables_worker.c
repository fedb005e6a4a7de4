// SPDX-License-Identifier: GPL-2.0-only
/*
 * A worker frees tables that have waited long enough, but with the policy "pressure", which leaves
 * them to the shrinker.
 *
 * The workqueue has no rescuer (WQ_MEM_RECLAIM), because no task waits for the worker.  It
 * is not freezable, because what the worker does is invisible to user space.
 */
#include <linux/list_lru.h>
#include <linux/memcontrol.h>
#include <linux/minmax.h>
#include <linux/nodemask.h>
#include <linux/sched.h>
#include <linux/workqueue.h>

#include "../internal.h"
#include "tables_wait.h"

/*
 * In jiffies: until the worker first looks, and until it looks again as long as tables wait.  To
 * look at the lists of very many groups takes time.
 */
#define FIRST	max(HZ / 50, 1)
#define AGAIN	max(HZ / 10, 1)
#define AGAIN_ADAPTIVE	max(HZ / 2, 1)
/* How many tables of one list are looked at before the next list gets its turn. */
#define AT_ONCE	1024UL

static void worker_free_list(int nid, struct mem_cgroup *memcg, unsigned long age)
{
	struct shrink_control sc = { .gfp_mask = GFP_KERNEL, .nid = nid, .memcg = memcg };
	unsigned int freed = 0;
	unsigned long nr;

	if (!unmap_waiting_has_list(memcg))
		return;
	nr = list_lru_shrink_count(&unmap_waiting, &sc);
	if (nr)
		unmap_waiting_free(nid, memcg, min(nr, AT_ONCE), age, TABLE_BY_WORKER, &freed);
}

/*
 * The lists of all groups.  Without a shrinker, or if kernel memory is not charged, there is one
 * for all of them.
 */
static void worker_free_node(int nid, unsigned long age)
{
	bool groups = IS_ENABLED(CONFIG_UNMAP_TABLES_PRESSURE) && memcg_kmem_online();
	struct mem_cgroup *memcg = NULL;

	if (groups)
		memcg = mem_cgroup_iter(NULL, NULL, NULL);
	do {
		worker_free_list(nid, memcg, age);
		cond_resched();
		if (groups)
			memcg = mem_cgroup_iter(NULL, memcg, NULL);
	} while (memcg);
}

/* Returns whether tables are left that wait for the worker. */
static bool worker_free(void)
{
	unsigned long left = 0;
	int nid;

	for_each_node_state(nid, N_MEMORY) {
		if (list_lru_count_node(&unmap_waiting, nid))
			worker_free_node(nid, unmap_policy_age());
		left += list_lru_count_node(&unmap_waiting, nid);
	}
	return left;
}

static void worker_run(struct work_struct *work);
static DECLARE_DELAYED_WORK(worker, worker_run);

static void worker_run(struct work_struct *work)
{
	if (unmap_waiting.node && unmap_tables_enabled() && unmap_policy_eager() && worker_free())
		queue_delayed_work(system_dfl_wq, &worker,
				   unmap_policy_age() ? AGAIN_ADAPTIVE : AGAIN);
}

/* After the policy or the switch has changed, there may be tables that only the worker frees. */
void unmap_worker_policy_changed(void)
{
	/*
	 * The caller's stores come before this test.  The worker ceases to be pending before
	 * it looks at the lists: if it is pending still, it will see them.
	 */
	smp_mb();
	if (!delayed_work_pending(&worker))
		queue_delayed_work(system_dfl_wq, &worker, FIRST);
}

/* Make sure that the worker runs: a table was listed.  Any lock may be held. */
void unmap_worker_wake(void)
{
	if (unmap_policy_eager())
		unmap_worker_policy_changed();
}
