// SPDX-License-Identifier: GPL-2.0-only
/*
 * Looking for empty page tables, to give them back: in ranges, and where records say
 * that there were some.
 *
 * Who sweeps an mm that is not its own holds a lock that others may want more urgently,
 * and may have a lower priority than they, or little time of the processor (cpu.max).  So
 * the mmap lock is only ever tried for, given up as soon as somebody waits for it, and
 * never held by a task that is not running.
 */
#include <linux/fs.h>
#include <linux/mmap_lock.h>
#include <linux/oom.h>
#include <linux/pagewalk.h>
#include <linux/preempt.h>
#include <linux/sched.h>

#include "internal.h"
#include "table.h"
#include "tables_kept.h"

/* How many tables are looked at before the mmap lock is let go of. */
#define STEP	(2 * TABLE_BATCH)

/**
 * struct sweep - one pass over parts of an mm
 * @batch: tables that look empty
 * @policy: do as the policy says; otherwise they are given back now
 * @lent: the mmap lock is another's, who may want it back
 * @age: spare those that have not been empty for so many ticks
 * @looked: how many places were looked at in this step
 * @freed: how many tables were given back
 * @stop: where the walk ended early
 * @spared: those that looked empty and were not given back
 */
struct sweep {
	struct table_batch batch;
	bool policy, lent;
	unsigned long age;
	unsigned int looked, freed;
	unsigned long stop;
	struct places spared;
};

static void sweep_begin(struct sweep *s)
{
	unmap_batch_begin(&s->batch, NULL, NULL);
	s->batch.mmap_locked = true;
	s->policy = false;
	s->lent = false;
	s->age = 0;
	s->looked = 0;
	s->freed = 0;
	unmap_places_clear(&s->spared);
}

static void sweep_batch(struct sweep *s)
{
	struct table_batch *batch = &s->batch;
	unsigned int nr = hweight_long(batch->noted), freed;
	unsigned long start, end;

	if (!nr)
		return;
	if (s->policy) {
		unmap_batch_finish(batch);
		return;
	}
	start = batch->addr + __ffs(batch->noted) * PMD_SIZE;
	end = batch->addr + (__fls(batch->noted) + 1) * PMD_SIZE;
	freed = unmap_batch_free(batch, s->age);
	s->freed += freed;
	if (s->age && freed < nr)
		unmap_places_add(&s->spared, start, end, nr);
}

/* One look, without a lock: it is only to find out whether to lock at all. */
static bool sweep_looks_empty(pmd_t *pmd, unsigned long addr)
{
	pte_t *table = pte_offset_map(pmd, addr & PMD_MASK);
	bool empty;

	if (!table)
		return false;
	empty = pte_none(ptep_get_lockless(table + unmap_table_watched(table)));
	pte_unmap(table);
	return empty;
}

static void sweep_table(struct sweep *s, struct vm_area_struct *vma, pmd_t *pmd,
			unsigned long addr)
{
	if (!sweep_looks_empty(pmd, addr))
		return;
	if (!unmap_batch_fits(&s->batch, addr))
		sweep_batch(s);
	s->batch.vma = vma;
	unmap_batch_note(&s->batch, pmd, addr);
}

static bool sweep_step_is_over(struct sweep *s, struct mm_struct *mm)
{
	s->looked++;
	return need_resched() ||
	       (s->lent && (s->looked >= STEP || mmap_lock_is_contended(mm)));
}

/* Where the walk goes on in the next step, if it ends here. */
static int sweep_end_step(struct mm_walk *walk, unsigned long next)
{
	struct sweep *s = walk->private;

	s->stop = next;
	return sweep_step_is_over(s, walk->mm);
}

static int sweep_pmd(pmd_t *pmd, unsigned long addr, unsigned long next,
		     struct mm_walk *walk)
{
	sweep_table(walk->private, walk->vma, pmd, addr);
	return sweep_end_step(walk, next);
}

static int sweep_hole(unsigned long addr, unsigned long next, int depth,
		      struct mm_walk *walk)
{
	return sweep_end_step(walk, next);
}

/*
 * The walk would split a huge PUD.  One read decides: a PUD that holds a page of PMDs keeps
 * it while the mmap lock is held, and any other one may change at once.
 */
static int sweep_pud(pud_t *pud, unsigned long addr, unsigned long next,
		     struct mm_walk *walk)
{
	pud_t pudval = pudp_get(pud);

	if (!pud_present(pudval) || pud_leaf(pudval))
		walk->action = ACTION_CONTINUE;
	return 0;
}

/* Mappings of devices have page tables as well. */
static int sweep_vma(unsigned long start, unsigned long end, struct mm_walk *walk)
{
	return is_vm_hugetlb_page(walk->vma);
}

static const struct mm_walk_ops sweep_ops = {
	.pud_entry = sweep_pud,
	.pmd_entry = sweep_pmd,
	.pte_hole = sweep_hole,
	.test_walk = sweep_vma,
	.walk_lock = PGWALK_RDLOCK,
};

/* The mmap lock is held.  Returns where it stopped: at @end, or when the step is over. */
static unsigned long sweep_part(struct sweep *s, struct mm_struct *mm,
				unsigned long start, unsigned long end)
{
	return walk_page_range(mm, start, end, &sweep_ops, s) > 0 ? s->stop : end;
}

/* mm_find_pmd() does not expect what is larger than a PMD. */
static bool sweep_vma_may_be_huge(const struct vm_area_struct *vma)
{
	return vma->vm_file && (vma_is_dax(vma) || vma->vm_flags & VM_PFNMAP);
}

/*
 * The table that translates @addr.  Its VMA is nearly always there still; a table without
 * any may be free_pgtables()'s already.
 */
static void sweep_place(struct sweep *s, struct mm_struct *mm, unsigned long addr)
{
	unsigned long start = addr & PMD_MASK, end = start + PMD_SIZE;
	struct vm_area_struct *vma = vma_lookup(mm, addr);
	pmd_t *pmd;

	if (!vma)
		vma = find_vma_intersection(mm, start, end);
	if (!vma || is_vm_hugetlb_page(vma))
		return;
	if (sweep_vma_may_be_huge(vma)) {
		sweep_part(s, mm, start, end);
		return;
	}
	pmd = mm_find_pmd(mm, addr);
	if (pmd)
		sweep_table(s, vma, pmd, addr);
}

/**
 * unmap_sweep_range - give back the empty tables of a range
 * @mm: its mmap lock is held, and on return
 * @start: where the range begins; tables that reach into it are looked at
 * @end: its end
 *
 * For stock code that clears entries itself.  The policy may be to keep them.
 */
void unmap_sweep_range(struct mm_struct *mm, unsigned long start,
		       unsigned long end)
{
	struct sweep s __uninitialized;

	sweep_begin(&s);
	s.policy = true;
	while (unmap_tables_enabled() && start < end) {
		start = sweep_part(&s, mm, start, end);
		sweep_batch(&s);
		cond_resched();
	}
}

/**
 * unmap_sweep_vma_range - the same, where the mmap lock need not be held
 * @vma: overlaps the range; it is locked, for reading at least
 * @start: where the range begins
 * @end: its end
 *
 * If no table looks empty no lock is taken.
 */
void unmap_sweep_vma_range(struct vm_area_struct *vma, unsigned long start,
			   unsigned long end)
{
	struct table_batch batch;
	unsigned long addr;
	pmd_t *pmd;

	if (!unmap_tables_enabled())
		return;
	if (!rwsem_is_locked(&vma->vm_mm->mmap_lock))
		vma_assert_locked(vma);
	unmap_batch_begin(&batch, vma, NULL);
	for (addr = start & PMD_MASK; addr < end; addr += PMD_SIZE) {
		pmd = mm_find_pmd(vma->vm_mm, addr);
		if (!pmd || !sweep_looks_empty(pmd, addr))
			continue;
		unmap_batch_make_room(&batch, addr);
		unmap_batch_note(&batch, pmd, addr);
	}
	unmap_batch_settle(&batch);
}

static void sweep_places(struct sweep *s, struct mm_struct *mm, struct places *p)
{
	bool over = false;

	while (p->nr_places && !over) {
		sweep_place(s, mm, p->place[--p->nr_places]);
		over = sweep_step_is_over(s, mm);
	}
	if (p->end && !over)
		p->start = sweep_part(s, mm, p->start, p->end);
	if (p->start >= p->end) {
		p->start = 0;
		p->end = 0;
	}
	if (!places_left(p))
		p->nr = 0;
	sweep_batch(s);
}

/*
 * With the mmap lock of another the task stays where it is: nobody who is to run first
 * keeps it from letting go.
 */
static void sweep_pin_task(bool here)
{
	if (IS_ENABLED(CONFIG_PREEMPT_RT))
		return;
	if (here)
		preempt_disable();
	else
		preempt_enable();
}

/* False if the mmap lock is not to be had. */
static bool sweep_step(struct sweep *s, struct mm_struct *mm, struct places *p)
{
	bool locked;

	s->looked = 0;
	sweep_pin_task(true);
	locked = mmap_read_trylock(mm);
	/* An mm whose fork() failed halfway has VMAs that are not its own. */
	if (locked && check_stable_address_space(mm))
		unmap_places_clear(p);
	else if (locked)
		sweep_places(s, mm, p);
	if (locked)
		mmap_read_unlock(mm);
	sweep_pin_task(false);
	return locked;
}

/**
 * unmap_kept_sweep - give back the tables of a record that are still empty
 * @record: the caller has taken it; what it could not look at, or spared, is left in it
 * @age: spare those that have not been empty for so many ticks
 *
 * The mmap lock is tried for, and dropped whenever others should run or want it.
 *
 * Return: how many were given back.
 */
unsigned int unmap_kept_sweep(struct kept *record, unsigned long age)
{
	struct sweep s __uninitialized;
	struct places *p = &record->places;

	sweep_begin(&s);
	s.lent = true;
	s.age = age;
	while (places_left(p) && sweep_step(&s, record->mm, p))
		cond_resched();
	unmap_places_copy(p, &s.spared);
	return s.freed;
}
