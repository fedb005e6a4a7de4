/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The interface of mm/unmap/ to the rest of the kernel.
 *
 * The stock entry points are kept under the prefix stock_: they serve while the switch is
 * off, and for kinds of folios that mm/unmap/ does not handle.  Without CONFIG_UNMAP, macros
 * here give them their own names back, so that nothing changes.
 */
#ifndef _LINUX_UNMAP_H
#define _LINUX_UNMAP_H

#include <linux/jump_label.h>
#include <linux/mm.h>
#include <linux/mm_types.h>
#include <linux/rmap.h>
#include <linux/sched/signal.h>
#include <linux/unmap_compat.h>
#include <linux/unmap_mark.h>

/*
 * The switch, see mm/unmap/control.c.  Each bit of /sys/kernel/mm/unmap/enabled has a
 * static key, so a bit that is off costs a no-op.
 */
enum unmap_bit {
	UNMAP_BIT_EVICT,
	UNMAP_BIT_DISCARD,
	UNMAP_BIT_RELOCATE,
	UNMAP_BIT_TABLES,
	UNMAP_BIT_DROP,
	NR_UNMAP_BITS,
};

struct folio_batch;
struct mem_cgroup;
struct mmu_gather;
struct zap_details;

unsigned long unmap_zap_pmd_range(struct mmu_gather *tlb,
				  struct vm_area_struct *vma, pud_t *pud,
				  unsigned long addr, unsigned long end,
				  struct zap_details *details);

#ifdef CONFIG_UNMAP
#ifdef CONFIG_UNMAP_DEFAULT_ON
DECLARE_STATIC_KEY_TRUE(unmap_keys[NR_UNMAP_BITS]);
#define unmap_enabled(bit)	static_branch_likely(&unmap_keys[bit])
#else
DECLARE_STATIC_KEY_FALSE(unmap_keys[NR_UNMAP_BITS]);
#define unmap_enabled(bit)	static_branch_unlikely(&unmap_keys[bit])
#endif

void stock_try_to_unmap(struct folio *folio, enum ttu_flags flags);
int stock_folio_referenced(struct folio *folio, int is_locked,
			   struct mem_cgroup *memcg, unsigned long *vm_flags);
void stock_clear_shadow_from_swap_cache(int type, unsigned long begin,
					unsigned long end);
void stock_folios_put_refs(struct folio_batch *folios, unsigned int *refs);
#ifdef CONFIG_UNMAP_RELOCATE
void stock_try_to_migrate(struct folio *folio, enum ttu_flags flags);
void stock_remove_migration_ptes(struct folio *src, struct folio *dst, compat_back_flags flags);
bool __unmap_split_back(struct folio *folio, unsigned long nr, compat_back_flags flags);
#endif

/*
 * Flags in zap_details by which a caller of zap says which lock it holds.  Empty page tables
 * are freed only if one of them is set: other callers may hold no lock that keeps
 * free_pgtables() away.
 *
 * UNMAP_ZAP_MADVISE - MADV_DONTNEED: the mmap lock; since 6.18 perhaps only the VMA's lock
 * UNMAP_ZAP_RMAP_LOCKED - the rmap lock of the file
 */
#define UNMAP_ZAP_MADVISE	((__force zap_flags_t)BIT(30))
#define UNMAP_ZAP_RMAP_LOCKED	((__force zap_flags_t)BIT(31))

/* For MADV_DONTNEED of 6.12: zaps everything, as null details do. */
extern struct zap_details unmap_zap_dontneed;
#define UNMAP_ZAP_DONTNEED	(&unmap_zap_dontneed)
#else
#define unmap_enabled(bit)	false
#define stock_try_to_unmap	try_to_unmap
#define stock_folio_referenced	folio_referenced
#define UNMAP_ZAP_DONTNEED	NULL
#define UNMAP_ZAP_MADVISE	0
#define UNMAP_ZAP_RMAP_LOCKED	0
#define stock_clear_shadow_from_swap_cache	clear_shadow_from_swap_cache
#define stock_folios_put_refs	folios_put_refs
#endif /* CONFIG_UNMAP */

#ifndef CONFIG_UNMAP_RELOCATE
#define stock_try_to_migrate	try_to_migrate
#define stock_remove_migration_ptes	remove_migration_ptes
#define unmap_split_back(folio, nr, flags)	false
#else
/*
 * Whether mm/unmap/ has made present what migration entries refer to, of all @nr pages that an
 * anonymous folio had before it was split: @folio is its first part, or all of it.
 */
static inline bool unmap_split_back(struct folio *folio, unsigned long nr, compat_back_flags flags)
{
	return unmap_enabled(UNMAP_BIT_RELOCATE) && __unmap_split_back(folio, nr, flags);
}
#endif

#include <linux/unmap_migration.h>

#ifdef CONFIG_UNMAP_AHEAD
void unmap_reclaim_folio(struct folio *folio, enum ttu_flags flags, struct list_head *rest,
			 bool ignore_references, gfp_t gfp);
void unmap_flush_for_write(struct folio *folio, struct list_head *rest, bool may_unmap,
			   bool ignore_references, gfp_t gfp);
#else
#define unmap_reclaim_folio(folio, flags, rest, ignore_references, gfp)	\
	try_to_unmap(folio, flags)
#define unmap_flush_for_write(folio, rest, may_unmap, ignore_references, gfp)	\
	try_to_unmap_flush_dirty()
#endif

#ifdef CONFIG_UNMAP_DROP
void unmap_table_was_used(pmd_t *pmd);
#else
static inline void unmap_table_was_used(pmd_t *pmd)
{
}
#endif

/* For tests: mm/unmap/tests/disturb.c. */
#ifdef CONFIG_UNMAP_DISTURB
bool unmap_table_may_go(void);
bool unmap_map_fails(void);
#else
#define unmap_table_may_go()	IS_ENABLED(CONFIG_UNMAP_TABLES)
#define unmap_map_fails()	false
#endif

/* Whether a whole page table's range lies between @addr and @end. */
static inline bool unmap_holds_table(unsigned long addr, unsigned long end)
{
	return ALIGN(addr, PMD_SIZE) + PMD_SIZE <= end;
}

/*
 * MADV_DONTNEED of whole page tables is left to stock while mm/unmap/ frees none: then stock
 * frees those that it empties entirely.
 */
static inline bool unmap_leaves_to_stock(unsigned long addr, unsigned long end,
					 const struct zap_details *details)
{
	return unlikely(unmap_zap_reclaims(details)) &&
	       !(IS_ENABLED(CONFIG_UNMAP_TABLES) && unmap_enabled(UNMAP_BIT_TABLES)) &&
	       unmap_holds_table(addr, end);
}

/*
 * Whether mm/unmap/ discards a range below one PUD, and not stock.  If stock does, this removes
 * the marks of PMDs whose page table stock would free now, had the table stayed.  The caller
 * holds the locks of zap; PMD locks are taken and dropped.
 */
static inline bool unmap_discards_range(struct mm_struct *mm, pud_t *pud, unsigned long addr,
					unsigned long end, const struct zap_details *details)
{
	if (unmap_enabled(UNMAP_BIT_DISCARD) && !unmap_leaves_to_stock(addr, end, details))
		return true;
	if (unlikely(unmap_zap_reclaims(details)) && unlikely(unmap_mm_marked(mm)))
		__unmap_pmds_forget(mm, pud, addr, end);
	return false;
}

/*
 * What fills user memory for userfaultfd returns this error if its page table was freed
 * meanwhile.  Nothing else there does.
 */
#define UNMAP_FILL_AGAIN	(-ERESTARTNOINTR)

/* Whether to begin again, because @err is that error; otherwise user space never gets it. */
#ifdef CONFIG_UNMAP_TABLES
static inline bool unmap_fill_again(ssize_t *err)
{
	if (likely(*err != UNMAP_FILL_AGAIN))
		return false;
	*err = -EAGAIN;
	return !fatal_signal_pending(current);
}
#else
#define unmap_fill_again(err)	false
#endif

/*
 * Empty page tables are freed while stock code runs.  With these functions stock code
 * notices that a table is gone, or has empty tables freed.  See mm/unmap/tables/table_readers.c
 * and tables_wait.c.
 */
#ifdef CONFIG_UNMAP_TABLES
pte_t *unmap_alloc_map_lock(struct mm_struct *mm, pmd_t *pmd,
			    unsigned long addr, spinlock_t **ptlp);
bool unmap_table_gone(struct mm_struct *mm, unsigned long addr, pte_t *pte);
bool unmap_table_missed(pmd_t *pmd);
bool unmap_is_table(pmd_t *pmd);
/* Returns the page-table lock, or @pml if the PMD holds no table. */
spinlock_t *unmap_lockptr(struct mm_struct *mm, pmd_t *pmd, spinlock_t *pml);

void unmap_sweep_range(struct mm_struct *mm, unsigned long start,
		       unsigned long end);
void unmap_sweep_vma_range(struct vm_area_struct *vma, unsigned long start,
			   unsigned long end);
void unmap_swap_freed(struct mm_struct *mm, pte_t *pte, unsigned long addr);
void unmap_shrink_slab(gfp_t gfp, int nid, struct mem_cgroup *memcg, int priority);

void __unmap_table_leave(struct ptdesc *table);

/*
 * A page table is no longer in its PMD, or is about to be linked through its descriptor: it must
 * not wait in a list then.  Nor may it keep our word: stock takes that for the count of a shared
 * page of PMDs, and sets it to 0 in none but those.  Also while the switch is off: it may have
 * been on.
 */
static inline void unmap_table_leave(struct mm_struct *mm, pgtable_t token)
{
	struct ptdesc *table = page_ptdesc(token);

	if (unlikely(table->__page_mapping == (unsigned long)mm))
		__unmap_table_leave(table);
	WRITE_ONCE(table->pt_index, 0);
}

void __unmap_table_moved(struct ptdesc *table, unsigned long addr);

/* mremap() has moved a whole page table of @mm to @addr. */
static inline void unmap_table_moved(struct mm_struct *mm, pgtable_t token, unsigned long addr)
{
	struct ptdesc *table = page_ptdesc(token);

	if (unlikely(table->__page_mapping == (unsigned long)mm))
		__unmap_table_moved(table, addr);
}

/*
 * pte_offset_map_lock() for page faults, which allocates the table if it is gone.  If there
 * is a table it costs one more branch.
 */
static inline pte_t *unmap_fault_map_lock(struct mm_struct *mm, pmd_t *pmd,
					  unsigned long addr, spinlock_t **ptlp)
{
	pte_t *pte = pte_offset_map_lock(mm, pmd, addr, ptlp);

	if (likely(pte))
		return pte;
	return unmap_alloc_map_lock(mm, pmd, addr, ptlp);
}

/*
 * The PMD is read once.  Of two reads, the second could find the PMD none after the table was
 * freed, and pmd_bad() takes a none PMD for bad.
 */
static inline bool unmap_pmd_bad(pmd_t *pmd)
{
	pmd_t pmdval = pmdp_get_lockless(pmd);

	return !pmd_none(pmdval) && pmd_bad(pmdval);
}
#else
#define unmap_fault_map_lock	pte_offset_map_lock
#define unmap_alloc_map_lock	pte_alloc_map_lock

static inline bool unmap_pmd_bad(pmd_t *pmd)
{
	return !pmd_none(*pmd) && pmd_bad(*pmd);
}

static inline bool unmap_table_gone(struct mm_struct *mm, unsigned long addr,
				    pte_t *pte)
{
	return false;
}

static inline bool unmap_table_missed(pmd_t *pmd)
{
	return false;
}

static inline bool unmap_is_table(pmd_t *pmd)
{
	return true;
}

static inline spinlock_t *unmap_lockptr(struct mm_struct *mm, pmd_t *pmd,
					spinlock_t *pml)
{
	return pte_lockptr(mm, pmd);
}

static inline void unmap_sweep_range(struct mm_struct *mm, unsigned long start,
				     unsigned long end)
{
}

static inline void unmap_sweep_vma_range(struct vm_area_struct *vma,
					 unsigned long start, unsigned long end)
{
}

static inline void unmap_swap_freed(struct mm_struct *mm, pte_t *pte, unsigned long addr)
{
}

static inline void unmap_shrink_slab(gfp_t gfp, int nid, struct mem_cgroup *memcg, int priority)
{
}

static inline void unmap_table_leave(struct mm_struct *mm, pgtable_t token)
{
}

static inline void unmap_table_moved(struct mm_struct *mm, pgtable_t token, unsigned long addr)
{
}
#endif /* CONFIG_UNMAP_TABLES */

/* For arm64's hugetlb: see mm/unmap/tables/table_stays.c. */
#ifdef CONFIG_UNMAP_TABLES_STAY
pte_t *unmap_huge_pte_alloc(struct mm_struct *mm, pmd_t *pmd, unsigned long addr);
pte_t *unmap_huge_pte_offset(pmd_t *pmd, unsigned long addr);
#else
#define unmap_huge_pte_alloc	pte_alloc_huge
#define unmap_huge_pte_offset	pte_offset_huge
#endif

/* Defined in mm/memory.c, where it is static in the stock kernel; @page may be null. */
#ifdef CONFIG_UNMAP_STOCK_BAD_PAGE_MAP
void print_bad_page_map(struct vm_area_struct *vma, unsigned long addr,
			unsigned long long entry, struct page *page,
			enum pgtable_level level);
#else
void print_bad_pte(struct vm_area_struct *vma, unsigned long addr, pte_t pte,
		   struct page *page);
#endif

#endif /* _LINUX_UNMAP_H */
