/* SPDX-License-Identifier: GPL-2.0-only */
/* What the suites of page tables share: random choices; page tables of an mm. */
#ifndef __MM_UNMAP_TESTS_TABLE_KUNIT_H
#define __MM_UNMAP_TESTS_TABLE_KUNIT_H

#include <kunit/test.h>
#include <linux/mm.h>
#include <linux/pgtable.h>
#include <linux/prandom.h>
#include <linux/random.h>

#include <asm/pgalloc.h>
#include <asm/tlb.h>

/* Of the table under test, where one is allocated for init_mm. */
#define TABLE_ADDR	(16UL << PMD_SHIFT)

/* The log of a test that fails has the seed. */
static inline void random_begin(struct kunit *test, struct rnd_state *rnd)
{
	u32 seed = get_random_u32();

	kunit_info(test, "seed %u\n", seed);
	prandom_seed_state(rnd, seed);
}

static inline unsigned int random_below(struct rnd_state *rnd, unsigned int end)
{
	return prandom_u32_state(rnd) % end;
}

/* Null where the page tables above it cannot be allocated. */
static inline pud_t *alloc_pud(struct mm_struct *mm, unsigned long addr)
{
	p4d_t *p4d = p4d_alloc(mm, pgd_offset(mm, addr), addr);

	return p4d ? pud_alloc(mm, p4d, addr) : NULL;
}

/* The page tables that an mmu_gather has gathered. */
static inline void *gathered_tables(const struct mmu_gather *tlb)
{
#ifdef CONFIG_UNMAP_GATHER_TABLES
	return tlb->batch;
#else
	return NULL;
#endif
}

/* All below the PUD of @addr, which is aligned to it. */
static inline void free_tables(struct mm_struct *mm, unsigned long addr)
{
	struct mmu_gather tlb;

	tlb_gather_mmu(&tlb, mm);
	free_pgd_range(&tlb, addr, addr + PUD_SIZE, 0, 0);
	tlb_finish_mmu(&tlb);
}

#endif /* __MM_UNMAP_TESTS_TABLE_KUNIT_H */
