// SPDX-License-Identifier: GPL-2.0-only
/*
 * Empty page tables that are not given back at once: by policy, until memory is
 * short; or because reclaim, which emptied them, has deferred its TLB flush.
 *
 * There is one record for each mm that has such tables; it says where they are,
 * not which they are: nobody tells us when one is filled again, so they are looked
 * at when the record is swept.
 *
 * A record goes when its places are taken for a sweep, or with the mm's last user
 * (unmap_tables_exit()), so that one found under its bucket's lock has an mm.  Buckets'
 * locks nest in all others.
 */
#include <linux/bitmap.h>
#include <linux/fs.h>
#include <linux/hash.h>
#include <linux/init.h>
#include <linux/jiffies.h>
#include <linux/list.h>
#include <linux/memcontrol.h>
#include <linux/mmap_lock.h>
#include <linux/oom.h>
#include <linux/pagewalk.h>
#include <linux/sched/mm.h>
#include <linux/shrinker.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/swap.h>
#include <linux/sysfs.h>

#include "internal.h"
#include "table.h"

#define BUCKET_BITS	6
#define PLACES		14
/* A table that has not been empty for long is about to be filled again. */
#define KEEP_AGE	max(HZ / 50, 1)

enum tables_policy {
	TABLES_EAGER,		/* given back at once */
	TABLES_HUGE,		/* the same, and huge pages may come back (law 11) */
	TABLES_PRESSURE,	/* kept until memory is short */
	NR_TABLES_POLICIES,
};

static const char * const policy_names[NR_TABLES_POLICIES] = {
	[TABLES_EAGER]		= "eager",
	[TABLES_HUGE]		= "huge",
	[TABLES_PRESSURE]	= "pressure",
};

static enum tables_policy policy = TABLES_EAGER;

/**
 * struct places - where empty tables may be
 * @nr: how many were seen; 0: nowhere
 * @since: when the last of them was, in jiffies
 * @nr_places: how many of @place are in use
 * @place: single tables, an address of each
 * @start: where the others are: from here
 * @end: to here; 0: there are no others
 */
struct places {
	unsigned int nr;
	unsigned long since;
	unsigned int nr_places;
	unsigned long place[PLACES];
	unsigned long start, end;
};

struct kept_mm {
	struct hlist_node node;
	struct mm_struct *mm;
	struct places places;
};

struct bucket {
	spinlock_t lock;	/* for the list, and all records in it */
	struct hlist_head records;
};

static struct bucket buckets[1 << BUCKET_BITS] = {
	[0 ... (1 << BUCKET_BITS) - 1] = {
		.lock = __SPIN_LOCK_UNLOCKED(buckets.lock),
	},
};

/* Tables emptied by reclaim wait for its flush: in which buckets. */
static DECLARE_BITMAP(evicted, 1 << BUCKET_BITS);
static atomic_t nr_records = ATOMIC_INIT(0);
static struct shrinker *shrinker;

static struct bucket *bucket_of(const struct mm_struct *mm)
{
	return &buckets[hash_ptr(mm, BUCKET_BITS)];
}

static struct kept_mm *find_record(struct bucket *bucket,
				   const struct mm_struct *mm)
{
	struct kept_mm *record;

	lockdep_assert_held(&bucket->lock);
	hlist_for_each_entry(record, &bucket->records, node)
		if (record->mm == mm)
			return record;
	return NULL;
}

/* Page-table locks may be held, and reclaim's reserves are not for us. */
static struct kept_mm *new_record(struct bucket *bucket, struct mm_struct *mm)
{
	struct kept_mm *record;

	record = kzalloc(sizeof(*record), GFP_NOWAIT | __GFP_NOWARN |
					  __GFP_NOMEMALLOC);
	if (!record)
		return NULL;
	record->mm = mm;
	hlist_add_head(&record->node, &bucket->records);
	atomic_inc(&nr_records);
	return record;
}

/* To be freed by the caller. */
static void remove_record(struct bucket *bucket, struct kept_mm *record)
{
	lockdep_assert_held(&bucket->lock);
	hlist_del(&record->node);
	atomic_dec(&nr_records);
}

static void add_place(struct places *p, unsigned long start, unsigned long end,
		      unsigned int nr)
{
	if (p->nr + nr > p->nr)
		p->nr += nr;
	p->since = jiffies;
	if (nr == 1 && p->nr_places < PLACES) {
		p->place[p->nr_places++] = start;
		return;
	}
	p->start = p->end ? min(p->start, start) : start;
	p->end = max(p->end, end);
}

/* Reclaim of the mm's memcg, which may have changed, is to ask us. */
static void tell_shrinker(struct mm_struct *mm)
{
	struct mem_cgroup *memcg = shrinker ? get_mem_cgroup_from_mm(mm) : NULL;
	int nid;

	if (!memcg)
		return;
	for_each_online_node(nid)
		set_shrinker_bit(memcg, nid, compat_shrinker_id(shrinker));
	mem_cgroup_put(memcg);
}

/* Without memory for it they are forgotten, and stay until their VMAs go. */
static void write_down(struct mm_struct *mm, unsigned long start,
		       unsigned long end, unsigned int nr)
{
	struct bucket *bucket = bucket_of(mm);
	struct kept_mm *record;

	spin_lock(&bucket->lock);
	record = find_record(bucket, mm);
	/* Without users it has lost its record, or is about to. */
	if (!record && atomic_read(&mm->mm_users))
		record = new_record(bucket, mm);
	if (record) {
		add_place(&record->places, start, end, nr);
		unmap_count(UNMAP_STAT_TABLES_KEPT, nr);
	}
	spin_unlock(&bucket->lock);
}

/**
 * unmap_tables_keep - remember where empty tables are, until memory is short
 * @mm: theirs
 * @start: the first address of the first
 * @end: the end of what the last one translates
 * @nr: how many there are between; one: it is that table alone
 *
 * Any lock may be held.
 */
void unmap_tables_keep(struct mm_struct *mm, unsigned long start,
		       unsigned long end, unsigned int nr)
{
	write_down(mm, start, end, nr);
	tell_shrinker(mm);
}

/**
 * unmap_tables_evicted - reclaim, or MADV_FREE, has emptied a table
 * @mm: its mm
 * @addr: an address it translates
 *
 * It can go after reclaim's deferred flush: see unmap_flush_and_sweep().  Page-table lock
 * held on entry and return.
 */
void unmap_tables_evicted(struct mm_struct *mm, unsigned long addr)
{
	unsigned long start = addr & PMD_MASK;

	unmap_tables_keep(mm, start, start + PMD_SIZE, 1);
	if (unmap_tables_eager())
		set_bit(bucket_of(mm) - buckets, evicted);
}

/**
 * unmap_tables_swap_freed - swap entries were freed with their memory
 * @mm: theirs
 * @pte: in their table; null: that has gone meanwhile
 * @addr: an address it translates
 *
 * For MADV_FREE, which clears them itself: the table can go with all others at its end,
 * see unmap_tables_sweep_emptied().  Page-table lock held on entry and return, if there
 * is a table.
 */
void unmap_tables_swap_freed(struct mm_struct *mm, pte_t *pte, unsigned long addr)
{
	if (pte && unmap_tables_enabled() && unmap_table_emptied(unmap_table_of(pte)))
		unmap_tables_evicted(mm, addr);
}

/**
 * unmap_tables_exit - nobody uses an mm any more
 * @mm: about to be torn down; it has no users
 */
void unmap_tables_exit(struct mm_struct *mm)
{
	struct bucket *bucket = bucket_of(mm);
	struct kept_mm *record;

	/* Who adds one meanwhile has seen a user, or sees none under the lock. */
	spin_lock(&bucket->lock);
	record = find_record(bucket, mm);
	if (record)
		remove_record(bucket, record);
	spin_unlock(&bucket->lock);
	kfree(record);
}

/**
 * struct sweep - one pass over parts of an mm
 * @batch: tables that look empty
 * @policy: do as the policy says; otherwise they are given back now
 * @age: spare those that have not been empty for so many ticks
 * @freed: how many were given back
 * @spared: how many looked empty and were not given back
 */
struct sweep {
	struct table_batch batch;
	bool policy;
	unsigned long age;
	unsigned int freed, spared;
};

static void sweep_batch(struct sweep *s)
{
	unsigned int nr = hweight_long(s->batch.noted), freed;

	if (!nr)
		return;
	if (s->policy) {
		unmap_tables_finish(&s->batch);
		return;
	}
	freed = unmap_tables_free(&s->batch, s->age);
	s->freed += freed;
	s->spared += nr - freed;
}

/* One look, without a lock: it is only to find out whether to lock at all. */
static bool looks_empty(pmd_t *pmd, unsigned long addr)
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
	if (!looks_empty(pmd, addr))
		return;
	if (!unmap_tables_fit(&s->batch, addr))
		sweep_batch(s);
	s->batch.vma = vma;
	unmap_tables_note(&s->batch, pmd, addr);
}

static int sweep_pmd(pmd_t *pmd, unsigned long addr, unsigned long next,
		     struct mm_walk *walk)
{
	if (!(next & ~TABLE_BATCH_MASK))
		cond_resched();
	sweep_table(walk->private, walk->vma, pmd, addr);
	return 0;
}

/* The walk would split what is huge. */
static int sweep_pud(pud_t *pud, unsigned long addr, unsigned long next,
		     struct mm_walk *walk)
{
	if (pud_leaf(*pud) || pud_devmap(*pud))
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
	.test_walk = sweep_vma,
	.walk_lock = PGWALK_RDLOCK,
};

/* The mmap lock is held, from the first part of an mm to the last. */
static void sweep_part(struct sweep *s, struct mm_struct *mm, unsigned long start,
		       unsigned long end)
{
	walk_page_range(mm, start, end, &sweep_ops, s);
}

/* mm_find_pmd() does not expect what is larger than a PMD. */
static bool may_be_huge(const struct vm_area_struct *vma)
{
	return vma->vm_file && (vma_is_dax(vma) || vma->vm_flags & VM_PFNMAP);
}

/* A single table; one without a VMA may be free_pgtables()'s already. */
static void sweep_place(struct sweep *s, struct mm_struct *mm, unsigned long addr)
{
	struct vm_area_struct *vma;
	pmd_t *pmd;

	vma = find_vma_intersection(mm, addr, addr + PMD_SIZE);
	if (!vma || is_vm_hugetlb_page(vma))
		return;
	if (may_be_huge(vma)) {
		sweep_part(s, mm, addr, addr + PMD_SIZE);
		return;
	}
	pmd = mm_find_pmd(mm, addr);
	if (pmd)
		sweep_table(s, vma, pmd, addr);
}

/**
 * unmap_tables_sweep - give back the empty tables of a range
 * @mm: its mmap lock is held, and on return
 * @start: where the range begins; tables that reach into it are looked at
 * @end: its end
 *
 * For stock code that clears entries itself.  The policy may be to keep them.
 */
void unmap_tables_sweep(struct mm_struct *mm, unsigned long start,
			unsigned long end)
{
	struct sweep s = { .policy = true };

	if (!unmap_tables_enabled())
		return;
	sweep_part(&s, mm, start, end);
	sweep_batch(&s);
}

/**
 * unmap_tables_left - the same, where the mmap lock is not held
 * @mm: has users
 * @start: where the range begins
 * @end: its end
 */
void unmap_tables_left(struct mm_struct *mm, unsigned long start,
		       unsigned long end)
{
	if (!unmap_tables_enabled() || !mmap_read_trylock(mm))
		return;
	unmap_tables_sweep(mm, start, end);
	mmap_read_unlock(mm);
}

/**
 * struct search - which records to sweep
 * @memcg: of their mms; null: any
 * @age: spare tables that have not been empty for so many ticks
 * @skip: so many of the bucket's first records were looked at, and stay
 */
struct search {
	const struct mem_cgroup *memcg;
	unsigned long age;
	unsigned int skip;
};

/* It is the bucket's first record now, and must not be taken again at once. */
static void give_back_places(struct search *search, struct mm_struct *mm,
			     const struct places *p)
{
	unsigned int i;

	for (i = 0; i < p->nr_places; i++)
		unmap_tables_keep(mm, p->place[i], p->place[i] + PMD_SIZE, 1);
	if (p->end)
		unmap_tables_keep(mm, p->start, p->end, p->nr - p->nr_places);
	search->skip++;
}

static unsigned int sweep_places(struct search *search, struct mm_struct *mm,
				 const struct places *p)
{
	struct sweep s = { .age = search->age };
	unsigned int i;

	for (i = 0; i < p->nr_places; i++)
		sweep_place(&s, mm, p->place[i]);
	if (p->end)
		sweep_part(&s, mm, p->start, p->end);
	sweep_batch(&s);
	if (s.age && s.spared)
		give_back_places(search, mm, p);
	return s.freed;
}

/* An mm whose fork() failed halfway has VMAs that are not its own. */
static unsigned int sweep_stable(struct search *search, struct mm_struct *mm,
				 const struct places *p)
{
	return check_stable_address_space(mm) ? 0 : sweep_places(search, mm, p);
}

/* Who holds the mmap lock for long is asked again another time. */
static unsigned int sweep_mm(struct search *search, struct mm_struct *mm,
			     const struct places *p)
{
	unsigned int freed = 0;

	if (mmap_read_trylock(mm)) {
		freed = sweep_stable(search, mm, p);
		mmap_read_unlock(mm);
	} else {
		give_back_places(search, mm, p);
	}
	mmput_async(mm);
	return freed;
}

static bool in_memcg(struct mm_struct *mm, const struct mem_cgroup *memcg)
{
	struct mem_cgroup *own;

	if (!memcg)
		return true;
	own = get_mem_cgroup_from_mm(mm);
	mem_cgroup_put(own);
	return own == memcg;
}

static bool old_enough(const struct places *p)
{
	return p->nr && time_after_eq(jiffies, p->since + KEEP_AGE);
}

/*
 * Reclaim that has just emptied a table does not look through all of an mm for it:
 * what is far apart is left to the shrinker.
 */
static bool worth_a_sweep(const struct places *p, unsigned long age)
{
	return age ? old_enough(p) :
		     (p->end - p->start) / PMD_SIZE <= (unsigned long)p->nr * TABLE_BATCH;
}

/* A user of its mm, without whom it stays; then the record is the caller's. */
static bool take(struct bucket *bucket, struct kept_mm *record,
		 const struct search *search)
{
	if (!worth_a_sweep(&record->places, search->age) ||
	    !in_memcg(record->mm, search->memcg) || !mmget_not_zero(record->mm))
		return false;
	remove_record(bucket, record);
	return true;
}

static struct kept_mm *take_next(struct bucket *bucket, struct search *search)
{
	struct kept_mm *record;
	unsigned int i = 0;

	spin_lock(&bucket->lock);
	hlist_for_each_entry(record, &bucket->records, node) {
		if (i++ < search->skip)
			continue;
		if (take(bucket, record, search))
			break;
		search->skip = i;
	}
	spin_unlock(&bucket->lock);
	return record;
}

/* Records that come or go meanwhile may be missed, or met twice. */
static unsigned int sweep_bucket(struct bucket *bucket, struct search search,
				 unsigned int want)
{
	struct kept_mm *record;
	unsigned int freed = 0;

	while (freed < want) {
		record = take_next(bucket, &search);
		if (!record)
			break;
		freed += sweep_mm(&search, record->mm, &record->places);
		kfree(record);
		cond_resched();
	}
	return freed;
}

static unsigned int sweep_all(struct search search, unsigned int want)
{
	unsigned int i, freed = 0;

	for (i = 0; i < ARRAY_SIZE(buckets) && freed < want; i++)
		if (!hlist_empty(&buckets[i].records))
			freed += sweep_bucket(&buckets[i], search, want - freed);
	return freed;
}

/**
 * unmap_tables_sweep_emptied - give back tables that were found to be empty
 *
 * Those that unmap_tables_evicted() was told of, of any mm; where the mmap lock cannot be
 * had for reading, they stay for later.  Neither folios nor rmap are locked.
 */
void unmap_tables_sweep_emptied(void)
{
	struct search search = {};
	unsigned int i;

	if (!unmap_tables_enabled())
		return;
	for_each_set_bit(i, evicted, ARRAY_SIZE(buckets))
		if (test_and_clear_bit(i, evicted))
			sweep_bucket(&buckets[i], search, UINT_MAX);
}

/**
 * unmap_flush_and_sweep - flush what try_to_unmap() has deferred
 *
 * Then tables which it left empty are given back.  For reclaim, in place of
 * try_to_unmap_flush(), where neither folios nor rmap are locked.
 */
void unmap_flush_and_sweep(void)
{
	try_to_unmap_flush();
	unmap_tables_sweep_emptied();
}

/* How many tables are old enough; @any: whether there are others. */
static unsigned long count_bucket(struct bucket *bucket,
				  const struct mem_cgroup *memcg, bool *any)
{
	struct kept_mm *record;
	unsigned long nr = 0;

	if (hlist_empty(&bucket->records))
		return 0;
	spin_lock(&bucket->lock);
	hlist_for_each_entry(record, &bucket->records, node) {
		if (!in_memcg(record->mm, memcg))
			continue;
		*any = true;
		if (old_enough(&record->places))
			nr += record->places.nr;
	}
	spin_unlock(&bucket->lock);
	return nr;
}

/* Half of them is asked for, rounded down: a single one must not count as one. */
static unsigned long count_tables(struct shrinker *s, struct shrink_control *sc)
{
	unsigned long nr = 0;
	bool any = false;
	int i;

	if (!unmap_tables_enabled() || !atomic_read(&nr_records))
		return SHRINK_EMPTY;
	for (i = 0; i < ARRAY_SIZE(buckets); i++)
		nr += count_bucket(&buckets[i], sc->memcg, &any);
	return any ? nr + (nr == 1) : SHRINK_EMPTY;
}

/* An mm once begun is done: walking it costs the same for one table as for all. */
static unsigned long scan_tables(struct shrinker *s, struct shrink_control *sc)
{
	struct search search = { .memcg = sc->memcg, .age = KEEP_AGE };
	unsigned int freed = sweep_all(search, sc->nr_to_scan);

	mm_account_reclaimed_pages(freed);
	if (!freed)
		return SHRINK_STOP;
	sc->nr_scanned = freed;
	return freed;
}

static int __init unmap_tables_init(void)
{
	shrinker = shrinker_alloc(SHRINKER_MEMCG_AWARE | SHRINKER_NONSLAB,
				  "unmap-tables");
	if (!shrinker)
		return -ENOMEM;
	shrinker->count_objects = count_tables;
	shrinker->scan_objects = scan_tables;
	/* Nothing has to be read or written to make them again. */
	shrinker->seeks = 0;
	shrinker->batch = 1;
	shrinker_register(shrinker);
	return 0;
}
core_initcall(unmap_tables_init);

/* Whether empty tables are given back at once. */
bool unmap_tables_eager(void)
{
	return READ_ONCE(policy) != TABLES_PRESSURE;
}

/* Law 11: whether they leave a mark. */
bool unmap_tables_mark(void)
{
	return READ_ONCE(policy) != TABLES_HUGE;
}

/* All policies, the one in force in brackets.  Returns the length of the text. */
ssize_t unmap_tables_policy_show(char *buf)
{
	ssize_t len = 0;
	int i;

	for (i = 0; i < NR_TABLES_POLICIES; i++)
		len += sysfs_emit_at(buf, len, i == READ_ONCE(policy) ?
				     "[%s] " : "%s ", policy_names[i]);
	len += sysfs_emit_at(buf, len - 1, "\n");
	return len - 1;
}

/* Returns -EINVAL unless the text is the name of a policy. */
int unmap_tables_policy_store(const char *text)
{
	int i = sysfs_match_string(policy_names, text);

	if (i < 0)
		return -EINVAL;
	WRITE_ONCE(policy, i);
	return 0;
}
