/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Linux 6.12 seen as the newest kernel.  The code is written for the newest;
 * each shim says what it replaces and when it can go.
 */
#ifndef __MM_UNMAP_COMPAT_H
#define __MM_UNMAP_COMPAT_H

#include <linux/unmap.h>

/*
 * In 7.3 set_tlb_ubc_flush_pending() takes a range.  x86 notes the whole
 * mm whatever the address, so that one note serves a run; elsewhere (arm64)
 * the address is flushed, and every page needs its own.  Drop when 6.12 goes.
 */
static inline void compat_note_flush(struct mm_struct *mm, pte_t pte,
				     unsigned long start, unsigned long end)
{
	do {
		set_tlb_ubc_flush_pending(mm, pte, start);
		start += PAGE_SIZE;
	} while (!IS_ENABLED(CONFIG_X86) && start < end);
}

#endif /* __MM_UNMAP_COMPAT_H */
