// SPDX-License-Identifier: GPL-2.0-only
/*
 * Search for empty page tables and free them: in ranges, and in the places that records
 * name.
 *
 * A task that sweeps the mm of another process holds an mmap lock that other tasks may need
 * more urgently, while it may have a lower priority than they or little CPU time (cpu.max).
 * So it only tries for the mmap lock, releases it as soon as another task waits for it, and
 * is not preempted while it holds it.  On PREEMPT_RT, where it could be preempted, only workers
 * sweep mms of other processes, and with the mmap lock they wait for no lock of a page table.
 */
#include <linux/fs.h>
#include <linux/mmap_lock.h>
#include <linux/oom.h>
#include <linux/pagewalk.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>

#include "../internal.h"
#include "table.h"
#include "tables_kept.h"

/* How many tables are examined before the mmap lock is released. */
#define STEP	(2 * TABLE_BATCH)

/**
 * struct sweep - one pass over parts of an mm
 * @batch: tables that look empty
 * @policy: free or record the tables as the policy says; otherwise free them now
 * @lent: release the mmap lock after STEP tables, or when another task waits for it
 * @age: skip tables that were seen empty less than this many ticks ago
 * @looked: how many places were examined in this step
 * @freed: how many tables were freed
 * @stop: the address at which the walk ended early
 * @spared: places of tables that looked empty and were not freed
 */
struct sweep {
	struct table_batch batch;
	bool policy, lent;
	unsigned long age;
	unsigned int looked, freed;
	unsigned long stop;
	struct places spared;
};

static void sweep_begin(struct sweep *s, enum table_by by)
{
	unmap_batch_begin(&s->batch, NULL, NULL);
	s->batch.by = by;
	s->batch.mmap_locked = true;
	s->batch.busy = 0;
	s->policy = false;
	s->lent = false;
	s->age = 0;
	s->looked = 0;
	s->freed = 0;
	unmap_places_clear(&s->spared);
}

/* The places of tables whose locks were not free (PREEMPT_RT) stay in the record. */
static void sweep_spare_busy(struct sweep *s)
{
	struct table_batch *batch = &s->batch;
	unsigned long addr;
	unsigned int i;

	if (!IS_ENABLED(CONFIG_PREEMPT_RT))
		return;
	for_each_set_bit(i, &batch->busy, TABLE_BATCH) {
		addr = batch->addr + i * PMD_SIZE;
		unmap_places_add(&s->spared, addr, addr + PMD_SIZE, 1);
	}
	batch->busy = 0;
}

static void sweep_batch(struct sweep *s)
{
	struct table_batch *batch = &s->batch;
	unsigned int nr = hweight_long(batch->empty), freed;
	unsigned long start, end;

	if (!nr)
		return;
	if (s->policy) {
		unmap_batch_finish(batch);
		return;
	}
	start = batch->addr + __ffs(batch->empty) * PMD_SIZE;
	end = batch->addr + (__fls(batch->empty) + 1) * PMD_SIZE;
	freed = unmap_batch_free(batch, s->age);
	s->freed += freed;
	if (s->age && freed < nr)
		unmap_places_add(&s->spared, start, end, nr);
	sweep_spare_busy(s);
}

/*
 * Reads the watched entry without a lock, only to decide whether to take the locks.  A table that
 * stays leaves the record: it would be found in it again and again.
 */
static bool sweep_looks_empty(pmd_t *pmd, unsigned long addr)
{
	pte_t *table = pte_offset_map(pmd, addr & PMD_MASK);
	bool empty;

	if (!table)
		return false;
	empty = !unmap_table_stays(table) &&
		pte_none(ptep_get_lockless(table + unmap_table_watched(table)));
	pte_unmap(table);
	return empty;
}

static void sweep_note(struct sweep *s, struct vm_area_struct *vma, pmd_t *pmd,
		       unsigned long addr)
{
	if (!unmap_batch_fits(&s->batch, addr))
		sweep_batch(s);
	s->batch.vma = vma;
	unmap_batch_note(&s->batch, pmd, addr);
}

static void sweep_table(struct sweep *s, struct vm_area_struct *vma, pmd_t *pmd,
			unsigned long addr)
{
	if (sweep_looks_empty(pmd, addr))
		sweep_note(s, vma, pmd, addr);
}

static bool sweep_step_is_over(struct sweep *s, struct mm_struct *mm)
{
	s->looked++;
	return need_resched() ||
	       (s->lent && (s->looked >= STEP || mmap_lock_is_contended(mm)));
}

/* Returns 1 to end the walk if the step is over; the next step continues at @next. */
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
 * Whether the PUD holds a page of PMDs.  It is read once: a PUD that holds a page of PMDs keeps
 * it while the mmap lock or the VMA's lock is held, but any other PUD may change at any time.
 */
static bool sweep_has_pmds(pud_t *pud)
{
	pud_t pudval = pudp_get(pud);

	return pud_present(pudval) && !pud_leaf(pudval);
}

/**
 * unmap_find_pmd - find the PMD of an address, if a page of PMDs is there
 * @mm: its mmap lock or the lock of a VMA at @addr is held
 * @addr: the address
 *
 * As mm_find_pmd(), which takes a huge PUD for a page of PMDs.  Drivers map huge PUDs in VMAs of
 * many kinds.
 *
 * Return: the PMD, or null.
 */
pmd_t *unmap_find_pmd(struct mm_struct *mm, unsigned long addr)
{
	pgd_t *pgd = pgd_offset(mm, addr);
	p4d_t *p4d;
	pud_t *pud;

	if (!pgd_present(*pgd))
		return NULL;
	p4d = p4d_offset(pgd, addr);
	if (!p4d_present(*p4d))
		return NULL;
	pud = pud_offset(p4d, addr);
	return sweep_has_pmds(pud) ? pmd_offset(pud, addr) : NULL;
}

/* Skip huge PUDs, which the walk would split. */
static int sweep_pud(pud_t *pud, unsigned long addr, unsigned long next,
		     struct mm_walk *walk)
{
	if (!sweep_has_pmds(pud))
		walk->action = ACTION_CONTINUE;
	return 0;
}

/* Skip only hugetlb: unlike the default test, this one lets VM_PFNMAP mappings be walked. */
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

/* mmap lock held.  Returns where the walk stopped: at @end, or where the step ended. */
static unsigned long sweep_part(struct sweep *s, struct mm_struct *mm,
				unsigned long start, unsigned long end)
{
	return walk_page_range(mm, start, end, &sweep_ops, s) > 0 ? s->stop : end;
}

/*
 * Examine the table that translates @addr.  The VMA of @addr nearly always still exists; if
 * not, any VMA that overlaps the table will do.  Without one, free_pgtables() may already be
 * freeing the table.  A task that has just emptied its own table need not look first.
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
	pmd = unmap_find_pmd(mm, addr);
	if (!pmd)
		return;
	if (s->batch.by == TABLE_BY_OWN)
		sweep_note(s, vma, pmd, addr);
	else
		sweep_table(s, vma, pmd, addr);
}

/**
 * unmap_sweep_range - free the empty tables of a range, or record them by policy
 * @mm: its mmap lock is held on entry and return
 * @start: start of the range; tables that only overlap the range are examined, too
 * @end: end of the range
 *
 * Called by stock code that clears entries itself.
 */
void unmap_sweep_range(struct mm_struct *mm, unsigned long start,
		       unsigned long end)
{
	struct sweep s __uninitialized;

	sweep_begin(&s, TABLE_BY_MOVE);
	s.policy = true;
	while (unmap_tables_enabled() && start < end) {
		start = sweep_part(&s, mm, start, end);
		sweep_batch(&s);
		cond_resched();
	}
}

/**
 * unmap_sweep_vma_range - as unmap_sweep_range(), with the mmap lock or only the VMA's lock
 * @vma: overlaps the range; locked for reading at least, unless the mmap lock is held
 * @start: start of the range
 * @end: end of the range
 *
 * If no table looks empty, no lock is taken.
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
	batch.by = TABLE_BY_MOVE;
	for (addr = start & PMD_MASK; addr < end; addr += PMD_SIZE) {
		pmd = unmap_find_pmd(vma->vm_mm, addr);
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
 * Disable preemption while another process's mmap lock is held, so that no task of higher
 * priority delays its release.  PREEMPT_RT cannot do so: see unmap_may_lock().
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

/* Sweep until the step is over.  Returns false if the mmap lock could not be taken. */
static bool sweep_step_used(struct sweep *s, struct mm_struct *mm, struct places *p)
{
	bool locked = mmap_read_trylock(mm);

	/* If fork() failed halfway, the child's mm still has VMAs of its parent. */
	if (locked && check_stable_address_space(mm))
		unmap_places_clear(p);
	else if (locked)
		sweep_places(s, mm, p);
	if (locked)
		mmap_read_unlock(mm);
	return locked;
}

/*
 * The mm is used only while the task is pinned: otherwise a process that exits would have its files
 * and its memory until this task runs again.  If it has exited, there is nothing left to sweep.
 */
static bool sweep_step(struct sweep *s, struct mm_struct *mm, struct places *p)
{
	bool more = false;

	VM_WARN_ON_ONCE(!unmap_may_lock(mm));
	s->looked = 0;
	sweep_pin_task(true);
	if (mmget_not_zero(mm)) {
		more = sweep_step_used(s, mm, p);
		mmput_async(mm);
	} else {
		unmap_places_clear(p);
	}
	sweep_pin_task(false);
	return more;
}

/**
 * unmap_kept_sweep - free the tables of a record that are still empty
 * @record: taken by the caller; places not examined, or skipped for @age or because their
 *	locks were not free, are left in it
 * @age: skip tables that were seen empty less than this many ticks ago
 * @by: for the trace point
 *
 * The mmap lock is tried for, and released when a reschedule is due or another task waits
 * for it.  unmap_may_lock() is true.
 *
 * Return: how many tables were freed.
 */
unsigned int unmap_kept_sweep(struct kept *record, unsigned long age, enum table_by by)
{
	struct sweep s __uninitialized;
	struct places *p = &record->places;

	sweep_begin(&s, by);
	s.lent = true;
	s.age = age;
	while (places_left(p) && sweep_step(&s, record->mm, p))
		cond_resched();
	unmap_places_copy(p, &s.spared);
	return s.freed;
}
