// SPDX-License-Identifier: GPL-2.0-only
/*
 * The policy: what becomes of tables that are seen empty.
 */
#include <linux/bitops.h>
#include <linux/mm.h>
#include <linux/string.h>
#include <linux/sysfs.h>

#include "../internal.h"
#include "table.h"

/* The last one is not offered without a shrinker. */
#define NR_TABLES_POLICIES	(TABLES_PRESSURE + IS_ENABLED(CONFIG_UNMAP_TABLES_PRESSURE))

static const char * const policy_names[] = {
	[TABLES_EAGER]		= "eager",
	[TABLES_HUGE]		= "huge",
	[TABLES_PRESSURE]	= "pressure",
};

enum tables_policy unmap_tables_policy = TABLES_EAGER;

/* Record the tables of the batch, to be freed later.  The batch is empty on return. */
static void policy_keep(struct table_batch *batch)
{
	unsigned long start = batch->addr + __ffs(batch->empty) * PMD_SIZE;
	unsigned long end = batch->addr + (__fls(batch->empty) + 1) * PMD_SIZE;

	unmap_kept_add(batch->vma->vm_mm, start, end, hweight_long(batch->empty));
	unmap_batch_forget(batch);
}

/**
 * unmap_batch_finish - free or record the tables of a batch, as the policy says
 * @batch: tables that were seen empty; holds none on return
 *
 * Tables are recorded, too, if the mmap lock cannot be had, or if the control groups of the mm
 * have no room for tables that wait for their grace period.  Locks as in unmap_batch_free().
 */
void unmap_batch_finish(struct table_batch *batch)
{
	/* Only sweeps lock another process's mm: they remember which tables were busy. */
	VM_WARN_ON_ONCE(batch->mmap_locked && !unmap_may_wait(batch->vma->vm_mm));
	if (unmap_policy_eager() && unmap_grace_has_room(batch->vma->vm_mm))
		unmap_batch_free(batch, 0);
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
