/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The policy: what becomes of tables that are seen empty (policy.c), and the worker that frees
 * those which have waited long enough (tables_worker.c).
 */
#ifndef __MM_UNMAP_POLICY_H
#define __MM_UNMAP_POLICY_H

#include <linux/compiler.h>
#include <linux/kconfig.h>

#include "table.h"

enum tables_policy {
	TABLES_ADAPTIVE,	/* free empty tables at once, or soon if they came back last time */
	TABLES_EAGER,		/* free empty tables at once */
	TABLES_HUGE,		/* the same, without marks: a fault may get a huge page */
	TABLES_PRESSURE,	/* keep empty tables until memory is short */
};

extern enum tables_policy unmap_tables_policy;

/* Whether empty tables may be freed before memory is short. */
static inline bool unmap_policy_eager(void)
{
	return !IS_ENABLED(CONFIG_UNMAP_TABLES_PRESSURE) ||
	       READ_ONCE(unmap_tables_policy) != TABLES_PRESSURE;
}

/* Whether a table of @mm at @addr, which is empty, is to wait. */
static inline bool unmap_policy_waits(const struct mm_struct *mm, unsigned long addr)
{
	if (READ_ONCE(unmap_tables_policy) == TABLES_ADAPTIVE)
		return unmap_table_came_back(mm, addr);
	return !unmap_policy_eager();
}

/* For how many ticks. */
static inline unsigned long unmap_policy_age(void)
{
	return READ_ONCE(unmap_tables_policy) == TABLES_ADAPTIVE ? TABLE_TICKS : 0;
}

/* Law 11: whether freed tables leave a mark in their PMD. */
static inline bool unmap_policy_marks(void)
{
	return READ_ONCE(unmap_tables_policy) != TABLES_HUGE;
}

void unmap_worker_wake(void);
void unmap_worker_policy_changed(void);
ssize_t unmap_policy_show(char *buf);
int unmap_policy_store(const char *text);

#endif /* __MM_UNMAP_POLICY_H */
