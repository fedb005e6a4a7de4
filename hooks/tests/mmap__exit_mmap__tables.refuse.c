// SPDX-License-Identifier: GPL-2.0-only
/* Another name: the hook has to be looked at. */
void leave_mmap(struct mm_struct *mm)
{
	mmu_notifier_release(mm);
}
