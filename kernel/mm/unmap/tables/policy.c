// SPDX-License-Identifier: GPL-2.0-only
/*
 * The policy: what becomes of tables that are seen empty.
 */
#include <linux/bitops.h>
#include <linux/mm.h>
#include <linux/pgtable.h>
#include <linux/string.h>
#include <linux/sysfs.h>

#include "../internal.h"
#include "policy.h"
#include "table.h"

/* The last one is not offered without a shrinker. */
#define NR_TABLES_POLICIES	(TABLES_PRESSURE + IS_ENABLED(CONFIG_UNMAP_TABLES_PRESSURE))

static const char * const policy_names[] = {
	[TABLES_ADAPTIVE]	= "adaptive",
	[TABLES_EAGER]		= "eager",
	[TABLES_HUGE]		= "huge",
	[TABLES_PRESSURE]	= "pressure",
};

enum tables_policy unmap_tables_policy = TABLES_ADAPTIVE;

/* Let those tables of the batch wait that are still there, and empty.  Empties the batch. */
static void policy_keep(struct table_batch *batch)
{
	struct mm_struct *mm = batch->vma->vm_mm;
	unsigned long addr;
	unsigned int i;
	spinlock_t *ptl;	/* the table's */
	pte_t *table;

	for_each_set_bit(i, &batch->empty, TABLE_BATCH) {
		addr = batch->addr + i * PMD_SIZE;
		table = pte_offset_map_lock(mm, batch->pmd + i, addr, &ptl);
		if (!table)
			continue;
		if (unmap_table_search(table))
			unmap_table_wait(mm, table, addr);
		pte_unmap_unlock(table, ptl);
	}
	unmap_batch_forget(batch);
}

/* Which tables of the batch the policy lets wait.  Those that stock frees do not: law 11. */
static unsigned long policy_lets_wait(const struct table_batch *batch)
{
	unsigned long may = batch->empty & ~batch->whole, waits = 0;
	unsigned int i;

	for_each_set_bit(i, &may, TABLE_BATCH)
		if (unmap_policy_waits(batch->vma->vm_mm, batch->addr + i * PMD_SIZE))
			waits |= BIT(i);
	return waits;
}

/**
 * unmap_batch_finish - free the tables of a batch, or let them wait, as the policy says
 * @batch: tables that were seen empty; holds none on return
 *
 * Tables wait, too, if the mmap lock cannot be had, or if the control groups of the mm
 * have no room for tables that wait for their grace period.  Locks as in unmap_batch_free().
 */
void unmap_batch_finish(struct table_batch *batch)
{
	unsigned long waits;

	/* Only tasks that free what waits lock another process's mm. */
	VM_WARN_ON_ONCE(batch->mmap_locked && !unmap_may_wait(batch->vma->vm_mm));
	if (unmap_policy_eager() && unmap_grace_has_room(batch->vma->vm_mm)) {
		waits = policy_lets_wait(batch);
		batch->empty &= ~waits;
		if (batch->empty)
			unmap_batch_free(batch, 0);
		batch->empty |= waits;
	}
	if (batch->empty)
		policy_keep(batch);
}

/* Prints all policies, the current one in brackets.  Returns the length of the text. */
ssize_t unmap_policy_show(char *buf)
{
	ssize_t len = 0;
	int i;

	for (i = 0; i < NR_TABLES_POLICIES; i++)
		len += sysfs_emit_at(buf, len, i == READ_ONCE(unmap_tables_policy) ?
				     "[%s] " : "%s ", policy_names[i]);
	len += sysfs_emit_at(buf, len - 1, "\n");
	return len - 1;
}

/* Sets the policy by name.  Returns 0, or -EINVAL if @text names no policy of this kernel. */
int unmap_policy_store(const char *text)
{
	int i = __sysfs_match_string(policy_names, NR_TABLES_POLICIES, text);

	if (i < 0)
		return -EINVAL;
	WRITE_ONCE(unmap_tables_policy, i);
	unmap_worker_policy_changed();
	return 0;
}
