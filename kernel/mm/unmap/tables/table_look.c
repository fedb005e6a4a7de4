// SPDX-License-Identifier: GPL-2.0-only
/*
 * Look at the entries of one page table: is it empty, and which entry shows that it is not.
 */
#include <linux/mm.h>
#include <linux/pgtable.h>

#include "../internal.h"
#include "../stat.h"
#include "policy.h"
#include "table.h"

/**
 * unmap_table_next_used - search entries for one in use
 * @table: its lock is held, or nobody relies on what is found
 * @from: index of the first entry
 * @end: index behind the last
 *
 * Return: the index of the first entry that is not none; @end if all of them are none.
 */
unsigned int unmap_table_next_used(pte_t *table, unsigned int from, unsigned int end)
{
	while (from + 64 <= end && unmap_arch_all_none(table + from, 64))
		from += 64;
	while (from + 4 <= end && unmap_arch_all_none(table + from, 4))
		from += 4;
	while (from < end && pte_none(unmap_arch_peek(table + from)))
		from++;
	return from;
}

/* Programs mostly give memory back from its start on: the last entry is in use for longest. */
static bool table_last_used(pte_t *table)
{
	return !pte_none(unmap_arch_peek(table + PTRS_PER_PTE - 1));
}

/*
 * Index of an entry in use: the last one, or searched from the watched entry to the end of the
 * table, then from the start; PTRS_PER_PTE if all entries are none.
 */
static unsigned int table_any_used(pte_t *table)
{
	unsigned int watched = unmap_table_watched(table);
	unsigned int i;

	if (table_last_used(table))
		return PTRS_PER_PTE - 1;
	i = unmap_table_next_used(table, watched, PTRS_PER_PTE);
	if (i == PTRS_PER_PTE) {
		i = unmap_table_next_used(table, 0, watched);
		if (i == watched)
			i = PTRS_PER_PTE;
	}
	return i;
}

/**
 * unmap_table_noticed - remember when a table was seen empty
 * @table: all of its entries are none, or those at which unmap_table_seems_empty() has looked
 *
 * Stores the time.  Page-table lock held on entry and return.
 */
void unmap_table_noticed(pte_t *table)
{
	unmap_table_set_word(table, unmap_table_word_at(unmap_table_word(table),
							unmap_table_now()));
	unmap_count(UNMAP_STAT_TABLES_NOTICED, 1);
}

/*
 * The search of a table has come to entry @i.  If that is @end, all entries are none: returns true.
 * Otherwise it is in use, and watched from now on.
 */
static bool table_saw_none(pte_t *table, unsigned int i, unsigned int end)
{
	if (i == end)
		return true;
	unmap_table_watch(table, i);
	return false;
}

/**
 * unmap_table_search - search a whole table for an entry in use
 * @table: its lock is held on entry and return
 *
 * Return: true if all entries are none; otherwise false, and the entry that was found is watched
 * from now on.
 */
bool unmap_table_search(pte_t *table)
{
	return table_saw_none(table, table_any_used(table), PTRS_PER_PTE);
}

/**
 * unmap_table_look - search a table for another entry in use
 * @table: its watched entry is none
 *
 * Page-table lock held on entry and return.
 *
 * Return: true if the table is empty; otherwise false, and the entry that was found is
 * watched from now on.  False of a table that stays.
 */
bool unmap_table_look(pte_t *table)
{
	if (unmap_table_stays(table) || !unmap_table_search(table))
		return false;
	unmap_table_noticed(table);
	return true;
}

/* Once a glance has listed a table, it is looked at: or each of its entries would list it again. */
static bool table_waits_rightly(struct mm_struct *mm, pte_t *table)
{
	if (unmap_table_look(table))
		return true;
	unmap_table_wait_no_more(mm, table);
	return false;
}

/**
 * unmap_table_seems_empty - may a table be empty that is about to be noted or listed?
 * @mm: of the table
 * @table: its watched entry is none
 *
 * Looks at the last and the next few entries only, because who frees the table looks at all of them
 * (law 7).  If one further on is in use, he watches it, and the table stays.  A table that waits is
 * looked at here, and leaves the list if it is in use.
 *
 * Page-table lock held on entry and return.
 *
 * Return: false if an entry is in use; it is watched from now on.  False of a table that stays.
 */
bool unmap_table_seems_empty(struct mm_struct *mm, pte_t *table)
{
	unsigned int watched = unmap_table_watched(table);
	unsigned int end = min_t(unsigned int, watched + TABLE_GLANCE, PTRS_PER_PTE);

	if (UNMAP_ARCH_TABLES_PINNED || unmap_table_stays(table))
		return unmap_table_look(table);
	if (unmap_table_waits(mm, virt_to_ptdesc(table)))
		return table_waits_rightly(mm, table);
	if (table_last_used(table)) {
		unmap_table_watch(table, PTRS_PER_PTE - 1);
		return false;
	}
	if (!table_saw_none(table, unmap_table_next_used(table, watched, end), end))
		return false;
	unmap_table_noticed(table);
	return true;
}

/**
 * unmap_table_glance - may a table be empty that is about to be noted?
 * @mm: of the table
 * @table: its watched entry is none
 *
 * A task only glances at its own process's table, if the policy is to free it in a moment.  Others'
 * tables may have to wait for their mmap lock.
 *
 * Page-table lock held on entry and return.
 */
bool unmap_table_glance(struct mm_struct *mm, pte_t *table)
{
	if (mm != current->mm || !unmap_policy_eager())
		return unmap_table_look(table);
	return unmap_table_seems_empty(mm, table);
}
