// SPDX-License-Identifier: GPL-2.0-only
/* There is one pair of definitions instead of two. */
static void set_tlb_ubc_flush_pending(struct mm_struct *mm, unsigned long addr)
{
}

static bool should_defer_flush(struct mm_struct *mm, int flags)
{
	return false;
}
