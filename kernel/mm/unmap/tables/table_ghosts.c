// SPDX-License-Identifier: GPL-2.0-only
/*
 * Ghosts: where page tables were given back, and when.
 *
 * If a table is empty again where one was given back a short while ago, it came back in between,
 * and will probably come back again: to give it back cost more than it gained.  So it waits for a
 * while.
 *
 * The array is lossy.  A hash says in which bucket a place has its ghost; if the bucket is full,
 * the oldest ghost goes.  A table taken for another one's ghost waits in vain for that while.  If
 * more tables come and go than there are places, some are not recognised.  No lock: a ghost is
 * one word, and if two tasks write to one bucket, one ghost may be lost.
 */
#include <linux/bits.h>
#include <linux/hash.h>
#include <linux/init.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "../arch.h"
#include "../internal.h"
#include "../stat.h"
#include "table.h"

#define BUCKET_BITS	12
#define BUCKET		4U
#define TAG_BITS	16
#define TIME_BITS	16
#define TIMES		GENMASK(TIME_BITS - 1, 0)

/* For so long, in ticks, a table that was given back is remembered: ten seconds. */
#define GHOST_AGE	(10 * TABLE_TICKS)

struct ghosts {
	u32 of[BUCKET];		/* [tag][time]; 0: none */
};

/* Null: not allocated. */
static struct ghosts *buckets;

/* The upper bits of the hash say which bucket, those below are the tag. */
static u32 ghost_hash(const struct mm_struct *mm, unsigned long addr)
{
	u64 number = hash_64(unmap_arch_mm_number(mm), 64);

	return hash_64(number ^ addr >> PMD_SHIFT, BUCKET_BITS + TAG_BITS);
}

static u32 ghost_word(u32 hash)
{
	return hash << TIME_BITS | (unmap_table_now() & TIMES);
}

static u32 ghost_age(u32 ghost, u32 now)
{
	return (now - ghost) & TIMES;
}

/**
 * unmap_ghost_is_young - is a ghost that of a table, and younger than ten seconds?
 * @ghost: found in the array
 * @now: what the table's ghost would be now
 */
bool unmap_ghost_is_young(u32 ghost, u32 now)
{
	return ghost && !((ghost ^ now) >> TIME_BITS) && ghost_age(ghost, now) < GHOST_AGE;
}

/* Where to put a ghost: in place of the table's last one, or of the oldest. */
static u32 *ghost_place(struct ghosts *bucket, u32 now)
{
	u32 ghost, age, oldest = 0;
	unsigned int i, place = 0;

	for (i = 0; i < BUCKET; i++) {
		ghost = READ_ONCE(bucket->of[i]);
		if (!ghost || !((ghost ^ now) >> TIME_BITS))
			return &bucket->of[i];
		age = ghost_age(ghost, now);
		if (age >= oldest) {
			oldest = age;
			place = i;
		}
	}
	return &bucket->of[place];
}

/**
 * unmap_ghost_leave - remember that a table was given back
 * @mm: of the table
 * @addr: any address that it translated
 */
void unmap_ghost_leave(const struct mm_struct *mm, unsigned long addr)
{
	u32 hash = ghost_hash(mm, addr), now = ghost_word(hash);

	if (likely(buckets))
		WRITE_ONCE(*ghost_place(&buckets[hash >> TAG_BITS], now), now);
}

/**
 * unmap_table_came_back - was a table given back here a short while ago?
 * @mm: of a table that is empty
 * @addr: any address that it translates
 */
bool unmap_table_came_back(const struct mm_struct *mm, unsigned long addr)
{
	u32 hash = ghost_hash(mm, addr), now = ghost_word(hash);
	bool found = false;
	unsigned int i;

	if (unlikely(!buckets))
		return false;
	for (i = 0; i < BUCKET && !found; i++)
		found = unmap_ghost_is_young(READ_ONCE(buckets[hash >> TAG_BITS].of[i]), now);
	unmap_count(UNMAP_STAT_TABLES_CAME_BACK, found);
	return found;
}

static int __init ghosts_init(void)
{
	buckets = kvcalloc(1 << BUCKET_BITS, sizeof(*buckets), GFP_KERNEL);
	return buckets ? 0 : -ENOMEM;
}
core_initcall(ghosts_init);
