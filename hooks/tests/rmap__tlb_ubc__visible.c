// SPDX-License-Identifier: GPL-2.0-only
#ifdef CONFIG_DEFERS
static void set_tlb_ubc_flush_pending(struct mm_struct *mm, unsigned long addr)
{
	note(mm, addr);
}

static bool should_defer_flush(struct mm_struct *mm, int flags)
{
	return flags & BATCH;
}
#else
static void set_tlb_ubc_flush_pending(struct mm_struct *mm, unsigned long addr)
{
}

static bool should_defer_flush(struct mm_struct *mm, int flags)
{
	return false;
}
#endif

static bool stays_static(struct mm_struct *mm, int flags)
{
	if (should_defer_flush(mm, flags))
		set_tlb_ubc_flush_pending(mm, 0);
	return true;
}
