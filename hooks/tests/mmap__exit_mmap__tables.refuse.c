// SPDX-License-Identifier: GPL-2.0-only
/* The function has another name. */
void leave_mmap(struct mm_struct *mm)
{
	mmu_notifier_release(mm);
}
