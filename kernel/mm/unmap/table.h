/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Page tables that have become empty: noticing, and giving back.
 *
 * NOTICING costs one look.  The table's descriptor remembers one entry last seen in
 * use, the WATCHED entry: as long as it is in use the table is not empty.  When a
 * clear hits it, another one in use is looked for and watched from then on; if
 * there is none, the table is empty.  Nobody who fills entries has to know.
 *
 * The word in the descriptor (pt_index, which nobody else uses for these tables)
 * is written with the page-table lock held.  It is not initialised, nor does stock
 * code that clears entries care for it: a wrong value costs a look at the table,
 * never more, since tables are given back only as law 7 says.
 */
#ifndef __MM_UNMAP_TABLE_H
#define __MM_UNMAP_TABLE_H

#include <linux/bits.h>
#include <linux/mm.h>
#include <linux/pgtable.h>
#include <linux/sysfs.h>

#include "internal.h"

struct mmu_gather;

/*
 * Tables given back together: their TLB flush is one.  So many that the PMD lock is
 * not held for long, and that one word has a bit for each.
 */
#define TABLE_BATCH	BITS_PER_LONG
#define TABLE_BATCH_MASK	(~(TABLE_BATCH * PMD_SIZE - 1))

/**
 * struct table_batch - tables seen empty, neighbours under one PMD lock
 * @vma: of their mm; whose range may be another
 * @tlb: a gather of that mm, which can be flushed with them; or null
 * @mmap_locked: the caller holds the mmap lock, for reading at least
 * @pmd: the first PMD of the batch, aligned to a batch
 * @addr: the first address it translates
 * @noted: a bit for each table that was seen empty
 * @whole: of those, one for each that one MADV_DONTNEED has emptied alone
 */
struct table_batch {
	struct vm_area_struct *vma;
	struct mmu_gather *tlb;
	bool mmap_locked;
	pmd_t *pmd;
	unsigned long addr;
	unsigned long noted;
	unsigned long whole;
};

static inline void unmap_batch_begin(struct table_batch *batch,
				     struct vm_area_struct *vma,
				     struct mmu_gather *tlb)
{
	batch->vma = vma;
	batch->tlb = tlb;
	batch->mmap_locked = false;
	batch->noted = 0;
	batch->whole = 0;
}

#ifdef CONFIG_UNMAP_TABLES
#define unmap_tables_enabled()	unmap_enabled(UNMAP_BIT_TABLES)

/* The table that an entry is in. */
static inline pte_t *unmap_table_of(pte_t *ptep)
{
	return (pte_t *)((unsigned long)ptep & PAGE_MASK);
}

/* Which entry is watched; the bits above it are the time the table was seen empty. */
static inline unsigned int unmap_table_watched(pte_t *table)
{
	return READ_ONCE(virt_to_ptdesc(table)->pt_index) % PTRS_PER_PTE;
}

void unmap_table_noticed(pte_t *table);
bool unmap_table_look(pte_t *table);

/* Whether the table is empty.  Its lock is held on entry and return. */
static __always_inline bool unmap_table_emptied(pte_t *table)
{
	if (likely(!pte_none(ptep_get(table + unmap_table_watched(table)))))
		return false;
	return unmap_table_look(table);
}

/* The table's PMD is in the batch, or there is none in it yet.  Nothing is locked. */
static inline bool unmap_batch_fits(const struct table_batch *batch,
				    unsigned long addr)
{
	return !batch->noted || batch->addr == (addr & TABLE_BATCH_MASK);
}

/* @addr is anywhere in what the table translates. */
static inline void unmap_batch_note(struct table_batch *batch, pmd_t *pmd,
				    unsigned long addr)
{
	unsigned int i = (addr >> PMD_SHIFT) % TABLE_BATCH;

	VM_WARN_ON_ONCE(!unmap_batch_fits(batch, addr));
	batch->pmd = pmd - i;
	batch->addr = addr & TABLE_BATCH_MASK;
	batch->noted |= BIT(i);
}

/* As stock kernels do that give tables back: such a one leaves no mark (law 11). */
static inline void unmap_batch_note_whole(struct table_batch *batch, unsigned long addr)
{
	batch->whole |= BIT((addr >> PMD_SHIFT) % TABLE_BATCH);
}

unsigned int unmap_batch_free(struct table_batch *batch, unsigned long age);
void unmap_batch_finish(struct table_batch *batch);

/* What was noted is dealt with as the policy says.  No page-table lock is held. */
static inline void unmap_batch_settle(struct table_batch *batch)
{
	if (batch->noted)
		unmap_batch_finish(batch);
}

/* table_readers.c */
void unmap_table_set_gone(pte_t *table);

/* tables_waiting.c */
unsigned int unmap_grace_begin(struct mm_struct *mm, long nr);
void unmap_grace_end(unsigned int slot, long nr);
bool unmap_grace_has_room(struct mm_struct *mm);

/* tables_kept.c, tables_worker.c */
bool unmap_policy_eager(void);
void unmap_worker_wake(void);
void unmap_worker_policy_changed(void);
bool unmap_policy_marks(void);
void unmap_kept_add(struct mm_struct *mm, unsigned long start,
		    unsigned long end, unsigned int nr);
void unmap_kept_evicted(struct mm_struct *mm, unsigned long addr);
ssize_t unmap_policy_show(char *buf);
int unmap_policy_store(const char *text);
#else
#define unmap_tables_enabled()	false

static inline pte_t *unmap_table_of(pte_t *ptep)
{
	return ptep;
}

static inline void unmap_table_noticed(pte_t *table)
{
}

static inline bool unmap_table_emptied(pte_t *table)
{
	return false;
}

static inline bool unmap_batch_fits(const struct table_batch *batch,
				    unsigned long addr)
{
	return true;
}

static inline void unmap_batch_note(struct table_batch *batch, pmd_t *pmd,
				    unsigned long addr)
{
}

static inline void unmap_batch_note_whole(struct table_batch *batch, unsigned long addr)
{
}

static inline void unmap_batch_settle(struct table_batch *batch)
{
}

static inline void unmap_kept_evicted(struct mm_struct *mm, unsigned long addr)
{
}

static inline void unmap_worker_policy_changed(void)
{
}

static inline ssize_t unmap_policy_show(char *buf)
{
	return sysfs_emit(buf, "none\n");
}

static inline int unmap_policy_store(const char *text)
{
	return -EINVAL;
}
#endif /* CONFIG_UNMAP_TABLES */

/* Room for the next table: what is noted of others is settled before. */
static inline void unmap_batch_make_room(struct table_batch *batch, unsigned long addr)
{
	if (!unmap_batch_fits(batch, addr))
		unmap_batch_settle(batch);
}

#endif /* __MM_UNMAP_TABLE_H */
