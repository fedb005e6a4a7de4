/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * migrate_pages_batch() hands single pages that one page table maps over to mm/unmap/, which unmaps
 * them together, and maps them together again: see mm/unmap/relocate/relocate_batch.c
 * and relocate_batch_back.c.
 */
#ifndef _LINUX_UNMAP_MIGRATION_H
#define _LINUX_UNMAP_MIGRATION_H

#include <linux/list.h>
#include <linux/migrate_mode.h>
#include <linux/mm_types.h>
#include <linux/rmap.h>

/**
 * struct unmap_migration - what one migrate_pages_batch() knows of its folios
 * @from: its list of folios to be unmapped
 * @unmapped: its list of those that are unmapped, and are to be copied
 * @next: the first of the folios that are ahead: on @from unmapped, on @unmapped copied and mapped
 * @nr: how many are ahead, one behind the other on the list
 * @back: a folio whose entries lead to its copy already: the loop is busy with it
 * @left: not those in locked memory
 *
 * On the stack of migrate_pages_batch(): those nest, where memory is reclaimed for a copy.
 */
struct unmap_migration {
	struct list_head *from;
	struct list_head *unmapped;
	struct folio *next;
	unsigned int nr;
	struct folio *back;
	bool left;
};

/* Defined in mm/migrate.c, where it is static in the stock kernel. */
int move_to_new_folio(struct folio *dst, struct folio *src, enum migrate_mode mode);

#ifdef CONFIG_UNMAP_RELOCATE
struct anon_vma *__unmap_migration_take(struct unmap_migration *m, struct folio *folio);
bool __unmap_migration_unmap(struct unmap_migration *m, struct folio *folio, enum ttu_flags flags);
void __unmap_migration_release(struct unmap_migration *m);
int __unmap_migration_move(struct unmap_migration *m, struct folio *dst, struct folio *src,
			   struct list_head *dst_next, struct anon_vma *anon_vma,
			   enum migrate_mode mode);
bool __unmap_migration_moved(struct unmap_migration *m, struct folio *src);
#endif

static inline struct unmap_migration unmap_migration_of(struct list_head *from,
							struct list_head *unmapped)
{
	return (struct unmap_migration){ .from = from, .unmapped = unmapped };
}

/*
 * Whether @next, which follows @folio on a list, may be mapped by the same page table.  @folio is
 * locked, the other one is not: this is a hint, which costs little where the list is in another
 * order.
 */
static inline bool unmap_migration_hinted(const struct folio *folio, const struct folio *next)
{
	return READ_ONCE(next->index) - folio->index + PTRS_PER_PTE < 2 * PTRS_PER_PTE &&
	       READ_ONCE(next->mapping) == folio->mapping;
}

/*
 * The folios that are ahead are locked, and so have to be asked for also if the switch was flipped
 * meanwhile.
 *
 * Returns the folio's anon_vma, referenced, if it is ahead: then it is locked and unmapped, and the
 * caller must map it again.  Otherwise NULL.
 */
static inline struct anon_vma *unmap_migration_take(struct unmap_migration *m, struct folio *folio)
{
#ifdef CONFIG_UNMAP_RELOCATE
	if (unlikely(m->nr))
		return __unmap_migration_take(m, folio);
#endif
	return NULL;
}

/* try_to_migrate(), perhaps also of folios that come next: those are ahead then. */
static inline void unmap_migration_unmap(struct unmap_migration *m, struct folio *folio,
					 enum ttu_flags flags)
{
#ifdef CONFIG_UNMAP_RELOCATE
	if (unmap_enabled(UNMAP_BIT_RELOCATE) && !list_is_last(&folio->lru, m->from) &&
	    unmap_migration_hinted(folio, list_next_entry(folio, lru)) &&
	    __unmap_migration_unmap(m, folio, flags))
		return;
#endif
	try_to_migrate(folio, flags);
}

/* The loop ends: map the folios that are ahead again, and unlock them. */
static inline void unmap_migration_release(struct unmap_migration *m)
{
#ifdef CONFIG_UNMAP_RELOCATE
	if (unlikely(m->nr))
		__unmap_migration_release(m);
#endif
}

/*
 * move_to_new_folio(), perhaps also of folios that come next: those are ahead then, and entries of
 * all are back.  @dst_prev: what is before the new folio's place on its list, which it has left.
 */
static inline int unmap_migration_move(struct unmap_migration *m, struct folio *dst,
				       struct folio *src, struct list_head *dst_prev,
				       struct anon_vma *anon_vma, enum migrate_mode mode)
{
#ifdef CONFIG_UNMAP_RELOCATE
	if (unlikely(m->nr) && __unmap_migration_moved(m, src))
		return 0;
	if (unmap_enabled(UNMAP_BIT_RELOCATE) && anon_vma &&
	    !list_is_last(&src->lru, m->unmapped) &&
	    unmap_migration_hinted(src, list_next_entry(src, lru)))
		return __unmap_migration_move(m, dst, src, dst_prev->next, anon_vma, mode);
#endif
	return move_to_new_folio(dst, src, mode);
}

/* remove_migration_ptes(), unless all entries are back. */
static inline void unmap_migration_back(struct unmap_migration *m, struct folio *src,
					struct folio *dst)
{
	if (m->back != src || unlikely(m->left))
		remove_migration_ptes(src, dst, 0);
}

#endif /* _LINUX_UNMAP_MIGRATION_H */
